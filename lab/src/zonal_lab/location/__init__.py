"""The evaluation of location-aware Zenoh: techniques by scenario, transport and processor share."""
