"""Discovery: how long until a location-aware subscriber hears its first message."""
