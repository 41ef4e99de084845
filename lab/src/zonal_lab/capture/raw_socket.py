"""A raw socket on a card: what TCP carried away from here, frame by frame."""

from __future__ import annotations

import socket
import struct
import threading
import time
from typing import NamedTuple

_ETHERNET = 14
_IPV4, _TCP = 0x0800, 6
_ALL_PROTOCOLS = 3
_OUTGOING = 4
_QUIET_S = 0.3


class Frame(NamedTuple):
    """A frame with a TCP payload that left the card: its bytes, and the payload's alone."""

    frame_bytes: int
    payload_bytes: int


def tcp_payload(frame: bytes) -> int:
    """Bytes of TCP payload in an Ethernet frame; 0 for everything that is not TCP over IPv4."""
    if len(frame) < _ETHERNET + 40 or struct.unpack_from("!H", frame, 12)[0] != _IPV4:
        return 0
    header = (frame[_ETHERNET] & 0x0F) * 4
    if frame[_ETHERNET + 9] != _TCP:
        return 0
    total = struct.unpack_from("!H", frame, _ETHERNET + 2)[0]
    offset = (frame[_ETHERNET + header + 12] >> 4) * 4
    return int(total - header - offset)


class Capture:
    """Takes note of frames in a thread of its own, until `stop`."""

    def __init__(self, device: str) -> None:
        self._socket = socket.socket(
            socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS)
        )
        self._socket.bind((device, 0))
        self._socket.settimeout(0.05)
        self._frames: list[Frame] = []
        self._last = time.monotonic()
        self._over = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._over:
            try:
                frame, address = self._socket.recvfrom(65_536)
            except TimeoutError:
                continue
            payload = tcp_payload(frame) if address[2] == _OUTGOING else 0
            if payload:
                self._last = time.monotonic()
                self._frames.append(Frame(len(frame), payload))

    def stop(self) -> list[Frame]:
        """All frames, once the card has been quiet for a moment."""
        deadline = time.monotonic() + 5
        while time.monotonic() < min(deadline, self._last + _QUIET_S):
            time.sleep(0.02)
        self._over = True
        self._thread.join()
        self._socket.close()
        return self._frames
