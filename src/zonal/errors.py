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
├── ClosedError (RuntimeError)      a session, subscriber or publisher used after close
├── TopologyError (ValueError)      an emulated network that cannot be built as described
├── TraceError (ValueError)         a packet-delivery trace that cannot be read
├── PlanError (ValueError)          an experiment plan that cannot be carried out
└── EmulationError (RuntimeError)   the machine cannot emulate, or a part of an emulation failed
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


class ClosedError(ZonalError, RuntimeError):
    """A session, publisher, subscriber or queryable was used after it was closed."""


class TopologyError(ZonalError, ValueError):
    """A topology file, or a network in it, that cannot be built as it is described."""


class TraceError(ZonalError, ValueError):
    """A packet-delivery trace that cannot be found or read."""


class PlanError(ZonalError, ValueError):
    """A plan of experiments that cannot be carried out, or results that cannot be read."""


class EmulationError(ZonalError, RuntimeError):
    """The machine lacks something that an emulation needs, or a part of an emulation failed."""
