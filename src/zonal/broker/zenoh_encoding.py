"""MQTT's content type and payload format as Zenoh's encoding, and back."""

from __future__ import annotations

from zonal.broker.message import Message, is_text
from zonal.session import LONGEST_ENCODING

BYTES, TEXT = "zenoh/bytes", "zenoh/string"
"""What Zenoh calls a payload that nobody has described, and one that is plain text."""


def encoding_of(message: Message) -> str | None:
    """The Zenoh encoding of an MQTT message; None for Zenoh's default.

    A content type that is too long for Zenoh still reaches the clients of other brokers: it is in
    the envelope as well.
    """
    name = message.content_type
    if not name:
        return TEXT if message.payload_format else None
    return name if len(name.encode()) <= LONGEST_ENCODING else None


def describe(message: Message, encoding: str) -> None:
    """Sets the content type and format of a message that came from a Zenoh client."""
    if encoding == TEXT:
        message.payload_format = int(is_text(message.payload))
    elif encoding != BYTES:
        message.content_type = encoding
