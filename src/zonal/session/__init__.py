"""The location-aware Zenoh session."""
