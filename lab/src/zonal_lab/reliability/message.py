"""What a message begins with: its number, and which sample it belongs to."""

from __future__ import annotations

import struct

HEAD = struct.Struct(">HH")
END, PROBE = 0xFFFE, 0xFFFF
"""Numbers that no message has: what ends a sample, and what only asks whether a route stands."""
