"""The errors that Zonal raises.

```
ZonalError
├── GeometryError (ValueError)        a point, area, cover or grid that cannot be
├── LocationKeyError (ValueError)     a location key that cannot be read or made
├── TopicError (ValueError)           a topic that cannot carry a location key
├── PositionError (RuntimeError)      a position is needed and none is known
├── EncodingError (LookupError)       an encoding that nobody registered
├── ContentEncodingError (ValueError) a content encoding that Zenoh cannot carry
├── PayloadError (ValueError)         a payload that cannot be sent, or is not what it is read as
├── ConfigurationError (ValueError)   a configuration, file or endpoint that cannot be used
├── NetworkError (OSError)            Zenoh cannot reach, listen or do what it was asked for
├── SubscriptionError (LookupError)   a subscription that is not in an index, or is already
├── FenceError (ValueError)           zones, or events at their border, that cannot be
├── StoreError (RuntimeError)         a store of newest values that cannot be opened or written
├── TrustError (RuntimeError)         keys, secrets or tokens that cannot be made or used here
│   ├── AttestationError (ValueError) a position that nobody trusted vouches for
│   └── SealError (ValueError)        sealed bytes that this key does not open
├── AttachmentError (ValueError)      a geo-context on the wire that cannot be read
├── ClosedError (RuntimeError)        a session, subscriber or publisher used after close
├── MqttError (ValueError)            bytes from an MQTT client that break the protocol's rules
├── CredentialsError (ValueError)     a password file that cannot be read or written
├── RulesError (ValueError)           rules that cannot be read, or mean nothing: file, line and key
├── BrokerError (RuntimeError)        a broker that cannot start or keep its store
│   └── StoreInUseError               a store that another broker has open
├── MeshError (RuntimeError)          a mesh that cannot be built, started or reached
│   └── PacketError (ValueError)      bytes that are no mesh packet, or a packet that fits no bytes
├── PipelineError                     the pipeline's own
│   ├── LogError (OSError)            a log that is not there, is taken, or cannot be written
│   ├── LakeError (OSError)           a table of the lake that cannot be read or changed
│   ├── DeclarationError (ValueError) a schema, zone file, option or time range that is wrong
│   └── SparkError (RuntimeError)     Spark cannot start here: no Java, or no PySpark
├── FeedError (ValueError)            a feed that cannot be reached or read
├── CommandError (LookupError)        a command that is not installed, or cannot be loaded
└── WebError (ValueError)             a web server that cannot be set up so, or a bad request
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


class ContentEncodingError(ZonalError, ValueError):
    """The name of a payload's encoding that Zenoh cannot carry."""


class PayloadError(ZonalError, ValueError):
    """A payload that is none of bytes, text and JSON, or that is not what it is read as."""


class ConfigurationError(ZonalError, ValueError):
    """A configuration, ours or Zenoh's, or an endpoint that cannot be used: says where and why."""


class NetworkError(ZonalError, OSError):
    """An endpoint that cannot be reached or listened to, or something that Zenoh refused to do."""


class EncodingError(ZonalError, LookupError):
    """An encoding (or a Bloom grid) that nobody registered under this name."""


class SubscriptionError(ZonalError, LookupError):
    """A subscription that is not in the index, or that is already."""


class FenceError(ZonalError, ValueError):
    """Zones that cannot be watched, or events at their border that there are not."""


class StoreError(ZonalError, RuntimeError):
    """A store of newest values that cannot be opened or written, or is asked for nonsense."""


class AttachmentError(ZonalError, ValueError):
    """A geo-context in a message's attachment that cannot be read."""


class TrustError(ZonalError, RuntimeError):
    """Keys, secrets or tokens that cannot be read, made or used here."""


class AttestationError(TrustError, ValueError):
    """A position that is vouched for by nobody known, for somebody else, elsewhere, or too old."""


class SealError(TrustError, ValueError):
    """Sealed bytes that the keys at hand do not open, or that were changed."""


class PositionError(ZonalError, RuntimeError):
    """A position is needed, and there is none, or only one that is too old."""


class ClosedError(ZonalError, RuntimeError):
    """A session, publisher, subscriber or queryable was used after it was closed."""


class MqttError(ZonalError, ValueError):
    """An MQTT client broke the protocol: carries the reason code that it is told on closing."""

    def __init__(self, reason_code: int, message: str) -> None:
        super().__init__(message)
        self.reason_code = reason_code


class CredentialsError(ZonalError, ValueError):
    """A password file that cannot be read or written: says which line, and why."""


class RulesError(ZonalError, ValueError):
    """Rules that cannot be read, or that mean nothing: says the file, the line and the key."""


class BrokerError(ZonalError, RuntimeError):
    """A broker that cannot start as configured, or whose store cannot be used."""


class StoreInUseError(BrokerError):
    """A data directory whose store another broker has open."""


class MeshError(ZonalError, RuntimeError):
    """A mesh that cannot be built, started or reached."""


class PacketError(MeshError, ValueError):
    """Bytes that are no mesh packet, or a packet whose fields do not fit."""


class PipelineError(ZonalError):
    """What goes wrong between the network, the log and the lake."""


class LogError(PipelineError, OSError):
    """A log that is not there, whose recorder's name is taken, or that cannot be written."""


class LakeError(PipelineError, OSError):
    """A table of the lake that is not there or cannot be read."""


class DeclarationError(PipelineError, ValueError):
    """A payload schema, zone file, option or time range that is wrong; the message says where."""


class SparkError(PipelineError, RuntimeError):
    """Spark cannot start here (the message says how to mend that), or failed in a batch."""


class FeedError(ZonalError, ValueError):
    """A feed of real data that cannot be reached, or whose data is not what it should be."""


class CommandError(ZonalError, LookupError):
    """A command of the command line that is not installed here, or cannot be loaded."""


class WebError(ZonalError, ValueError):
    """A web server that cannot be set up so, or a request that cannot be served."""
