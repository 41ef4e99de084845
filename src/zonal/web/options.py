"""What the operator of a web server decides: addresses, limits, who may write, the map's view."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zonal.errors import WebError
from zonal.runtime import is_loopback

if TYPE_CHECKING:
    from pathlib import Path

    from zonal.trust import Rules
    from zonal.web.grants import WebGrant

MIB = 1024 * 1024
DEFAULT_PORT = 8000
"""The port of Zenoh's own REST plug-in."""


@dataclass(frozen=True, slots=True)
class WebLimits:
    """How much of the server one client may take; beyond it a request is refused."""

    body_bytes: int = MIB
    head_bytes: int = 98_304
    """Of a request's address and headers: room for the longest shape."""
    headers: int = 100
    head_seconds: float = 10.0
    """From a connection, or the first byte of a request, to the end of its headers."""
    body_seconds: float = 30.0
    key_bytes: int = 4_096
    selector_characters: int = 4_096
    """Of what is handed on to whoever answers a query."""
    vertices: int = 2_000
    """Of one area or geofence."""
    wkt_characters: int = 65_536
    query_seconds: float = 30.0
    """The longest time that a query may wait for replies."""
    replies: int = 100_000
    """Of one query; the rest is left out, and a header says so."""
    connections: int = 4_096
    """That may be open at the same time, of all addresses; fewer where files are fewer."""
    connections_per_address: int = 256
    requests_per_second: float = 1_000.0
    """Of one address, in the long run; 0: any number."""
    burst_of_requests: float = 2_000.0
    """That an address may send at once."""
    questions_per_address: int = 32
    """Queries, and things to compute for the map, that may be under way."""
    streams: int = 2_000
    """Event streams that may be open at the same time."""
    streams_per_address: int = 200
    feeds: int = 512
    """Different selections (key, area, encoding) that the streams may have."""
    selections_per_address: int = 32
    stream_events: int = 1_024
    """Events that may wait for one reader; then the oldest are dropped, and counted."""
    stream_bytes: int = MIB
    """The same in bytes; a longer event waits alone."""
    stalled_seconds: float = 30.0
    """A reader that takes nothing for so long is disconnected."""
    stream_seconds: float = 0.0
    """The longest life of an event stream; 0: as long as the reader likes."""
    topics_in_metrics: int = 500
    """Topics beyond these are counted together under `other`."""


@dataclass(frozen=True, slots=True)
class MapView:
    """What the page shows before anybody touches it."""

    title: str = "Zonal"
    topics: tuple[str, ...] = ("**",)
    """The keys that are shown live."""
    latitude: float = 20.0
    longitude: float = 0.0
    zoom: int = 2
    fits: bool = False
    """Whether it goes to what is there when somebody opens it, and where that is not said."""
    value: str = ""
    """The member of JSON payloads that colours the markers, such as `pm10`."""
    unit: str = ""
    scale: tuple[float, float] = (0.0, 100.0)
    """The values at the cool and the hot end of the colours."""
    events: str = ""
    """A key expression that includes the following four: browsers open few streams at a time."""
    alerts: str = ""
    """The key of alerts: messages with a geofence that everyone at the map sees."""
    notices: str = ""
    """The key under which the page publishes geofenced messages."""
    heard: str = ""
    """The key under which receivers tell that they heard a notice or alert."""
    layers: tuple[tuple[str, Path], ...] = ()
    """GeoJSON files by the name that they are shown under."""
    zones: str = ""
    """The key under which aggregates of zones are answered and published."""
    tiles: str = ""
    """Tiles at an address (`https://…/{z}/{x}/{y}.png`, or `.pbf` for vectors), or a PMTiles file;
    none: nothing leaves the machine."""
    attribution: str = ""
    history: bool = False
    """Whether someone answers queries about the past."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebOptions:
    """Where it listens, who may use it, and what it shows; by default for this machine alone."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    """0 takes a free one."""
    tokens: tuple[WebGrant, ...] = ()
    """What tokens grant; without any, everyone on this machine may do everything."""
    rules: Rules | None = None
    """What users may; tokens name them, and who has none is anonymous."""
    read_only: bool = False
    cors_origins: tuple[str, ...] = ()
    insecure: bool = False
    """Serve anybody who comes from beyond this machine, without tokens."""
    hosts: tuple[str, ...] = ()
    """Further names under which this server is reached."""
    proxies: tuple[str, ...] = ()
    """Addresses of proxies, whose word for an address (`X-Forwarded-For`) is taken."""
    certificate: Path | None = None
    key: Path | None = None
    limits: WebLimits = field(default_factory=WebLimits)
    view: MapView = field(default_factory=MapView)

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise WebError("TLS needs both a certificate and its key")
        for path in (self.certificate, self.key, *(path for _, path in self.view.layers)):
            if path is not None and not path.is_file():
                raise WebError(f"no such file: {path}")
        if not (self.is_local or self.tokens or self.rules or self.insecure):
            raise WebError(
                f"without tokens only this machine is served, not {self.host}; give a token file, "
                "or say that it is meant so (insecure)"
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)
