"""Where the installed map library has its files: Leaflet, from the package XStatic-Leaflet."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from zonal.errors import WebError

MODULE = "leaflet-src.esm.js"
_NEEDED = (MODULE, "leaflet.css")


def leaflet_folder() -> Path:
    """The folder with Leaflet's module and style sheet."""
    try:
        package = distribution("XStatic-Leaflet")
    except PackageNotFoundError as error:
        raise WebError(
            "the map needs Leaflet from the package XStatic-Leaflet; pip install 'zonal[web]'"
        ) from error
    folder = Path(str(package.locate_file("xstatic/pkg/leaflet/data")))
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise WebError(f"the installed XStatic-Leaflet {package.version} lacks {missing[0]}")
    return folder
