"""Where installed packages have the files that browsers get: MapLibre's and Swagger UI's."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from zonal.errors import WebError

MAPLIBRE = ("maplibre-gl.js", "maplibre-gl.css")
SWAGGER = ("swagger-ui-bundle.js", "swagger-ui.css")


def maplibre_folder() -> Path:
    """The folder with MapLibre GL's script and style sheet, from the package maplibre."""
    return _folder("maplibre", "maplibre/srcjs", MAPLIBRE, "the map")


def swagger_folder() -> Path:
    """The folder with Swagger UI's script and style sheet, from the package swagger-ui-bundle."""
    vendor = "swagger_ui_bundle/vendor/swagger-ui-*"
    return _folder("swagger-ui-bundle", vendor, SWAGGER, "the page of the interface")


def _folder(package: str, pattern: str, needed: tuple[str, ...], what: str) -> Path:
    try:
        found = distribution(package)
    except PackageNotFoundError as error:
        raise WebError(f"{what} needs the package {package}: pip install 'zonal[web]'") from error
    root, folders = Path(str(found.locate_file(""))), []
    folders = [folder for folder in root.glob(pattern) if (folder / needed[0]).is_file()]
    for name in needed:
        if not (folders and (folders[-1] / name).is_file()):
            raise WebError(f"the installed {package} {found.version} lacks {name}")
    return folders[-1]
