"""MQTT over WebSocket, without sockets: frames in, MQTT bytes out, and the other way round."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from websockets.exceptions import InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from zonal.runtime import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

UNACCEPTABLE_DATA = 1003
NORMAL = 1000


class WebSocket:
    """The server's side of one WebSocket with the subprotocol `mqtt`.

    Args:
        maximum_size: of a message, in bytes.
        allows: whether pages of an origin may connect; whoever is no browser names none.
    """

    __slots__ = ("_allows", "_frames", "finished")

    def __init__(self, maximum_size: int, allows: Callable[[str], bool]) -> None:
        self._frames = ServerProtocol(subprotocols=[Subprotocol("mqtt")], max_size=maximum_size)
        self._allows = allows
        self.finished = False

    def limit(self, maximum_size: int) -> None:
        """Sets the largest message; MQTT packets need not be aligned to them, so a bit is added."""
        self._frames.max_message_size = maximum_size + 64 * 1024

    def receive(self, data: bytes) -> Iterator[bytes]:
        """The MQTT bytes in what arrived."""
        self._frames.receive_data(data)
        for event in self._frames.events_received():
            if isinstance(event, Request):
                self._answer(event)
            elif isinstance(event, Frame):
                yield from self._payload(event)

    def _answer(self, request: Request) -> None:
        origin = request.headers.get("Origin")
        if origin is None or self._allows(origin):
            response = self._frames.accept(request)
        else:
            response = self._frames.reject(HTTPStatus.FORBIDDEN, "This origin is not allowed.\n")
        self._frames.send_response(response)
        if self._frames.state is not State.OPEN:
            self.finished = True

    def _payload(self, frame: Frame) -> Iterator[bytes]:
        if frame.opcode in {Opcode.BINARY, Opcode.CONT}:
            yield bytes(frame.data)
        elif frame.opcode is Opcode.TEXT:
            # MQTT-6.0.0-1: other than binary frames close the connection.
            self._frames.fail(UNACCEPTABLE_DATA, "MQTT is sent in binary frames")

    def send(self, data: bytes) -> None:
        """Puts MQTT bytes into one frame."""
        if self._frames.state is State.OPEN:
            self._frames.send_binary(data)

    def close(self) -> None:
        """Starts the closing handshake."""
        if self._frames.state is State.OPEN:
            try:
                self._frames.send_close(NORMAL)
            except InvalidState:
                self.finished = True

    def outgoing(self) -> bytes:
        """The bytes to write to the transport; an empty one asks for the end of the stream."""
        chunks = self._frames.data_to_send()
        if b"" in chunks:
            self.finished = True
        return b"".join(chunks)


def is_local(origin: str) -> bool:
    """Whether a page comes from this machine."""
    host = urlsplit(origin).hostname or ""
    return host == "localhost" or is_loopback(host)
