"""What the operator of a web server decides: addresses, limits, who may write, the map's view."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zonal.errors import WebError
from zonal.runtime import is_loopback

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024 * 1024
DEFAULT_PORT = 8000
"""The port of Zenoh's own REST plug-in."""


@dataclass(frozen=True, slots=True)
class WebLimits:
    """How much of the server one client may take; beyond it a request is refused."""

    body_bytes: int = MIB
    vertices: int = 2_000
    """Of one area or geofence."""
    wkt_characters: int = 65_536
    query_seconds: float = 30.0
    """The longest time that a query may wait for replies."""
    replies: int = 100_000
    """Of one query; the rest is left out, and a header says so."""
    streams: int = 2_000
    """Event streams that may be open at the same time."""
    feeds: int = 256
    """Different selections (key, area, encoding) that the streams may have."""
    stream_events: int = 1_024
    """Events that may wait for one reader; then the oldest are dropped, and counted."""
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
    tokens: frozenset[str] = frozenset()
    """Who has one of these may write; without any, everyone on this machine may."""
    read_only: bool = False
    cors_origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """Further names under which this server is reached."""
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
        if any(not token or token != token.strip() for token in self.tokens):
            raise WebError("a token is a text without blanks around it")

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)
