"""REST, live events and a map, on a location-aware session.

```python
with zonal.open() as session, WebServer(session, WebOptions(port=8000)) as server:
    print(server.url)
```
"""

from zonal.web.application import Application
from zonal.web.meter import Meter
from zonal.web.options import MapView, WebLimits, WebOptions
from zonal.web.problem import Problem
from zonal.web.server import WebServer

__all__ = ["Application", "MapView", "Meter", "Problem", "WebLimits", "WebOptions", "WebServer"]
