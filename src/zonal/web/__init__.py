"""REST, live events and a map, on a location-aware session.

```python
with zonal.open() as session, WebServer(session, WebOptions(port=8000)) as server:
    print(server.url)
```

The modules, in the order of a request's way:

1. `server` listens (uvicorn, as `options` say); `doorway` lets connections in, by `visitors`, who
   are counted by address; `connections` speaks HTTP, within bounds.
2. `application` tells keys from pages. Pages are the map (`page`, `assets`), what it draws
   (`overlay`, `world`, `memory`) and the interface's description (`openapi`).
3. `rest` answers for keys: `exchange` is the request and its answer, `access` finds what its token
   grants (`tokens`, `grants`), `parameters` reads the query string in the words of `vocabulary`.
4. PUT and DELETE go to `publishing`, GET to `shared_queries`, event streams to `feed`, which has a
   `stream` for each reader.
5. `presentation` writes samples as JSON, `problem` what went wrong; `guest_book` logs who came and
   was refused, `metrics` counts what this server does, `meter` what others publish.

`demo` is a city to look at.
"""

from zonal.web.application import Application
from zonal.web.grants import WebGrant
from zonal.web.meter import Meter
from zonal.web.options import MapView, WebLimits, WebOptions
from zonal.web.server import WebServer
from zonal.web.tokens import add_token, grant_for, read_tokens

__all__ = [
    "Application",
    "MapView",
    "Meter",
    "WebGrant",
    "WebLimits",
    "WebOptions",
    "WebServer",
    "add_token",
    "grant_for",
    "read_tokens",
]
