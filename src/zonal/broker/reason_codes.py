"""MQTT reason codes, by the specification's names (MQTT 5, section 2.4), and what carries them."""

from __future__ import annotations

from zonal.errors import MqttError

SUCCESS = 0x00
NO_MATCHING_SUBSCRIBERS = 0x10
NO_SUBSCRIPTION_EXISTED = 0x11
UNSPECIFIED = 0x80
MALFORMED = 0x81
PROTOCOL_ERROR = 0x82
IMPLEMENTATION_SPECIFIC = 0x83
UNSUPPORTED_VERSION = 0x84
CLIENT_ID_NOT_VALID = 0x85
BAD_CREDENTIALS = 0x86
NOT_AUTHORIZED = 0x87
SERVER_BUSY = 0x89
SHUTTING_DOWN = 0x8B
BAD_AUTHENTICATION_METHOD = 0x8C
KEEP_ALIVE_TIMEOUT = 0x8D
SESSION_TAKEN_OVER = 0x8E
FILTER_INVALID = 0x8F
TOPIC_INVALID = 0x90
PACKET_ID_NOT_FOUND = 0x92
RECEIVE_MAXIMUM_EXCEEDED = 0x93
TOPIC_ALIAS_INVALID = 0x94
PACKET_TOO_LARGE = 0x95
QUOTA_EXCEEDED = 0x97
ADMINISTRATIVE_ACTION = 0x98
PAYLOAD_FORMAT_INVALID = 0x99
RETAIN_NOT_SUPPORTED = 0x9A
QOS_NOT_SUPPORTED = 0x9B
CONNECTION_RATE_EXCEEDED = 0x9F

FAILURE = 0x80
"""Codes from here on say that something did not happen."""


class Refused(Exception):  # noqa: N818 - nothing failed: what a client asked for is not done
    """A publication or subscription that is acknowledged with an error and has no effect."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def malformed(what: str) -> MqttError:
    """The error for bytes that are no MQTT packet."""
    return MqttError(MALFORMED, what)


def protocol_error(what: str) -> MqttError:
    """The error for a packet that may not be sent so, or not now."""
    return MqttError(PROTOCOL_ERROR, what)
