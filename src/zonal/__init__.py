"""Location-aware publish/subscribe, query and history on stock Eclipse Zenoh."""

from zonal.errors import ZonalError

__version__ = "0.1.0"

__all__ = ["ZonalError", "__version__"]
