"""The errors that Zonal raises.

```
ZonalError
├── GeometryError (ValueError)      a point, area, cover or grid that cannot be
├── LocationKeyError (ValueError)   a location key that cannot be read or made
├── TopicError (ValueError)         a topic that cannot carry a location key
├── PositionError (RuntimeError)    a position is needed and none is known
├── EncodingError (LookupError)     an encoding that nobody registered
├── SubscriptionError (LookupError) a subscription that is not in an index, or is already
├── AttachmentError (ValueError)    a geo-context on the wire that cannot be read
├── WebError (ValueError)           a web server that cannot be set up so, or a bad request
└── ClosedError (RuntimeError)      a session, subscriber or publisher used after close
```
"""

from __future__ import annotations


class ZonalError(Exception):
    """The base of every error that Zonal raises on its own account."""


class GeometryError(ZonalError, ValueError):
    """A point, area, cover or grid that cannot be: the message says what would be right."""


class LocationKeyError(ZonalError, ValueError):
    """A location key that cannot be made, read or matched."""


class TopicError(ZonalError, ValueError):
    """A topic that is no key expression, or that cannot carry a location key."""


class EncodingError(ZonalError, LookupError):
    """An encoding (or a Bloom grid) that nobody registered under this name."""


class SubscriptionError(ZonalError, LookupError):
    """A subscription that is not in the index, or that is already."""


class AttachmentError(ZonalError, ValueError):
    """A geo-context in a message's attachment that cannot be read."""


class PositionError(ZonalError, RuntimeError):
    """A position is needed, and there is none, or only one that is too old."""


class WebError(ZonalError, ValueError):
    """A web server that cannot be set up so, or a request that cannot be served."""


class ClosedError(ZonalError, RuntimeError):
    """A session, publisher, subscriber or queryable was used after it was closed."""
