"""A link that loses datagrams when told to, between a client and a UDP endpoint on this machine."""

from __future__ import annotations

import random
import select
import socket
import threading
from typing import Self


class LossyLink:
    """Passes datagrams on, both ways; loses a share of them, or all."""

    def __init__(self, endpoint: str, seed: int = 1) -> None:
        self.loss = 0.0
        self.lost = 0
        self.lost_bytes = 0
        host, _, port = endpoint.removeprefix("udp/").rpartition(":")
        self._far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._far.connect((host, int(port)))
        self._near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._near.bind(("127.0.0.1", 0))
        for each in (self._far, self._near):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._client: tuple[str, int] | None = None
        self._random = random.Random(seed)
        self._end, self._ended = socket.socketpair()
        self._thread = threading.Thread(target=self._relay, name="lossy link")
        self._thread.start()

    @property
    def endpoint(self) -> str:
        """Where the client connects to."""
        return f"udp/127.0.0.1:{self._near.getsockname()[1]}"

    def _relay(self) -> None:
        while True:
            ready, _, _ = select.select([self._near, self._far, self._ended], [], [])
            if self._ended in ready:
                return
            for each in ready:
                try:
                    data, sender = each.recvfrom(65_536)
                except ConnectionError:  # the other end has gone
                    continue
                if self._random.random() < self.loss:
                    self.lost += 1
                    self.lost_bytes += len(data)
                elif each is self._near:
                    self._client = sender
                    self._far.send(data)
                elif self._client is not None:
                    self._near.sendto(data, self._client)

    def close(self) -> None:
        """End."""
        self._end.close()
        self._thread.join()
        for each in (self._near, self._far, self._ended):
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
