"""The operator's map tiles: at an address of others, or in a PMTiles file that is served here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal.errors import WebError

if TYPE_CHECKING:
    from pmtiles.reader import Reader

TILES_PATH = "/-/tiles/{z}/{x}/{y}"
_VECTOR = (".pbf", ".mvt")
_MEDIA = {
    "MVT": "application/vnd.mapbox-vector-tile",
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "WEBP": "image/webp",
    "AVIF": "image/avif",
}


class MapTiles(NamedTuple):
    """What the page has to know of tiles."""

    kind: str
    """`raster` (pictures) or `vector`."""
    url: str
    """With `{z}`, `{x}`, `{y}`."""
    min_zoom: int = 0
    max_zoom: int = 19
    attribution: str = ""

    @property
    def origin(self) -> str:
        """Where browsers load them from; empty: from this server."""
        if self.url.startswith("/"):
            return ""
        scheme, _, rest = self.url.replace("{s}", "*").partition("://")
        return f"{scheme}://{rest.partition('/')[0]}"


class TileArchive:
    """A PMTiles file: many tiles in one, read where they are."""

    def __init__(self, path: Path, attribution: str = "") -> None:
        self._reader = _open(path)
        header = self._reader.header()
        self.media_type = _MEDIA.get(header["tile_type"].name, "")
        if not self.media_type:
            raise WebError(f"{path}: tiles of an unknown kind")
        compression = header["tile_compression"].name.lower()
        if compression not in {"none", "gzip"}:
            raise WebError(
                f"{path}: tiles are compressed with {compression}; known are none and gzip"
            )
        self.headers = {"content-encoding": "gzip"} if compression == "gzip" else {}
        said = attribution or str(self._reader.metadata().get("attribution", ""))
        kind = "vector" if self.media_type == _MEDIA["MVT"] else "raster"
        self.about = MapTiles(kind, TILES_PATH, header["min_zoom"], header["max_zoom"], said)

    def tile(self, zoom: int, x: int, y: int) -> bytes | None:
        """A tile as it is in the file; None where there is none."""
        if not (zoom <= self.about.max_zoom and x < 2**zoom and y < 2**zoom):
            return None
        found: bytes | None = self._reader.get(zoom, x, y)
        return found


def _open(path: Path) -> Reader:
    try:
        from pmtiles.reader import MmapSource, Reader
    except ModuleNotFoundError as error:
        raise WebError("PMTiles need the package pmtiles: pip install 'zonal[web]'") from error
    try:
        with path.open("rb") as file:
            reader: Reader = Reader(MmapSource(file))
        reader.header()
    except Exception as error:
        raise WebError(f"{path} is no PMTiles archive: {error or type(error).__name__}") from error
    return reader


def tiles_of(said: str, attribution: str) -> MapTiles | TileArchive | None:
    """What `--tiles` names: an address with `{z}/{x}/{y}` or a PMTiles file; nothing: None."""
    if not said:
        return None
    if said.startswith(("http://", "https://")):
        if not all(part in said for part in ("{z}", "{x}", "{y}")):
            raise WebError(f"tiles are at an address with {{z}}, {{x}} and {{y}}; not {said}")
        is_vector = said.partition("?")[0].endswith(_VECTOR)
        return MapTiles("vector" if is_vector else "raster", said, attribution=attribution)
    return TileArchive(Path(said), attribution)


def about(tiles: MapTiles | TileArchive | None) -> dict[str, Any] | None:
    """For the page."""
    described = tiles.about if isinstance(tiles, TileArchive) else tiles
    return None if described is None else described._asdict()
