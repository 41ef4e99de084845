"""Location-aware publish/subscribe, query and history on stock Eclipse Zenoh.

```python
import zonal

with zonal.open(position=(45.4642, 9.19)) as session:
    session.put("city/airquality", {"pm10": 21})
```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zonal.border import FenceEvent
    from zonal.errors import (
        AttachmentError,
        AttestationError,
        ClosedError,
        ConfigurationError,
        ContentEncodingError,
        EncodingError,
        FenceError,
        GeometryError,
        LocationKeyError,
        NetworkError,
        PayloadError,
        PositionError,
        SealError,
        StoreError,
        TopicError,
        TrustError,
        ZonalError,
    )
    from zonal.geo import Area, Box, Circle, Everywhere, MultiPolygon, Point, Polygon
    from zonal.keys import BloomDomain, BloomEncoding, register_encoding
    from zonal.session import (
        Memory,
        Overflow,
        PastMessages,
        Recovery,
        Router,
        Sample,
        Security,
        Session,
        Subscriber,
        config,
        open,  # noqa: A004
    )
    from zonal.store import Store

__version__ = "0.2.0"

__all__ = [
    "Area",
    "AttachmentError",
    "AttestationError",
    "BloomDomain",
    "BloomEncoding",
    "Box",
    "Circle",
    "ClosedError",
    "ConfigurationError",
    "ContentEncodingError",
    "EncodingError",
    "Everywhere",
    "FenceError",
    "FenceEvent",
    "GeometryError",
    "LocationKeyError",
    "Memory",
    "MultiPolygon",
    "NetworkError",
    "Overflow",
    "PastMessages",
    "PayloadError",
    "Point",
    "Polygon",
    "PositionError",
    "Recovery",
    "Router",
    "Sample",
    "SealError",
    "Security",
    "Session",
    "Store",
    "StoreError",
    "Subscriber",
    "TopicError",
    "TrustError",
    "ZonalError",
    "__version__",
    "config",
    "open",
    "register_encoding",
]


_PACKAGES = ("errors", "geo", "keys", "border", "session", "store")
"""Where the names of the face are from."""


def __getattr__(name: str) -> object:
    """Load a name of the face, or a package, when it is first used.

    A process that needs one package, such as a program's `--help` or a node of the mesh, does not
    load all the others before it.
    """
    if name in _PACKAGES:
        return import_module(f"zonal.{name}")
    if name in __all__:
        for package in _PACKAGES:
            found = getattr(import_module(f"zonal.{package}"), name, None)
            if found is not None:
                globals()[name] = found
                return found
    raise AttributeError(f"module 'zonal' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The face, loaded or not."""
    return sorted({*globals(), *__all__, *_PACKAGES})
