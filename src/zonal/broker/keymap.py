"""MQTT topics as Zenoh keys, and back: ordinary topics are the same in both worlds.

Zenoh allows no empty chunk, no `*`, `$`, `?` or `#` in a key, and keeps chunks that begin with `@`.
Such levels are escaped with `%`, as in URLs: an empty level is a lone `%`.
"""

from __future__ import annotations

import re

from zonal.errors import AttachmentError
from zonal.keys import LONGEST_TOPIC

RESERVED = re.compile(r"[%*$?#]|^@")
ESCAPE = re.compile(r"%([0-9A-F]{2})")
EMPTY = "%"


def fits(key: str) -> bool:
    """Whether Zenoh takes a key of this length, with places behind it."""
    return len(key.encode()) <= LONGEST_TOPIC


def key_of_topic(topic: str) -> str:
    """The Zenoh key of an MQTT topic."""
    padded = f"/{topic}/"
    if not RESERVED.search(topic) and "//" not in padded and "/@" not in padded:
        return topic
    return "/".join(map(_escaped, topic.split("/")))


def topic_of_key(key: str) -> str:
    """The MQTT topic of a Zenoh key."""
    if "%" not in key:
        return key
    return "/".join(map(_plain, key.split("/")))


def key_of_filter(topic_filter: str) -> str:
    """The Zenoh key expression that matches at least what an MQTT filter matches."""
    return "/".join(map(_wild, topic_filter.split("/")))


def filter_of_key(key: str) -> str:
    """The MQTT filter of a key expression that `key_of_filter` made."""
    wild = {"*": "+", "**": "#"}
    return "/".join(wild.get(level) or _plain(level) for level in key.split("/"))


def _wild(level: str) -> str:
    if level == "+":
        return "*"
    return "**" if level == "#" else _escaped(level)


def _escaped(level: str) -> str:
    if not level:
        return EMPTY
    return RESERVED.sub(lambda found: f"%{ord(found[0]):02X}", level)


def _plain(level: str) -> str:
    if level == EMPTY:
        return ""
    return ESCAPE.sub(lambda found: chr(int(found[1], 16)), level)


def check_topic(topic: str, key: str) -> None:
    """Refuses a message of another broker's that names a topic which is not that of its key."""
    if topic.startswith("$") or key_of_topic(topic) != key:
        raise AttachmentError(f"a message under the key {key!r} names the topic {topic[:80]!r}")
