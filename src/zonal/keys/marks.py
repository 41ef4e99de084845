"""The chunks that the grammar keeps for itself: no topic and no encoding may use them."""

FENCE_CHUNK = "@to"
"""Before the cells of a message's producer geofence, or before those a receiver is in."""

ANNOUNCED_CHUNK = "@by"
"""Before the name of a device that announces the area in its location expression."""

ZENOH_CHUNK = "@adv"
"""Zenoh's own: caches and heartbeats of its advanced publishers."""

EXACT_MARK = "="
"""Begins the last chunk of a key that says the exact place and the session of its publisher."""
