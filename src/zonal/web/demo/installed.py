"""What of the demo is installed here."""

from __future__ import annotations

from importlib.util import find_spec


def missing(*packages: str) -> str | None:
    """What to install for a part that needs these packages; None if they are all there."""
    missed = [name for name in packages if find_spec(name) is None]
    if not missed:
        return None
    return f"{' and '.join(missed)} must be installed: pip install 'zonal[demo]'"


def mqtt_missing() -> str | None:
    """What the broker, or its clients, lack here; None if nothing."""
    return missing("mqtt5", "websockets", "aiomqtt")
