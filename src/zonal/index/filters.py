"""Topic filters of both worlds, read into the steps by which the topic tree is walked.

MQTT filters follow the MQTT 5 specification, section 4.7 (and 4.8 for shared subscriptions);
Zenoh key expressions follow Zenoh's own rules, as `zenoh.KeyExpr` answers them.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from zonal.errors import TopicError

MAX_TOPIC_BYTES = 65_535  # MQTT 5, 1.5.4: the length of a string is two bytes
_LONGEST_KEPT = 256


class Syntax(Enum):
    """How a filter or a topic is to be read: `+` and `*` mean different things in each."""

    MQTT = "mqtt"
    ZENOH = "zenoh"


class Kind(Enum):
    """What one chunk of a filter matches."""

    LITERAL = "literal"  # itself
    PLUS = "+"  # MQTT: one level, whatever is in it
    HASH = "#"  # MQTT: the parent level and all below
    STAR = "*"  # Zenoh: one chunk, not verbatim
    STARS = "**"  # Zenoh: any number of chunks, none verbatim
    PATTERN = "$*"  # Zenoh: one chunk with free parts inside


class Step(NamedTuple):
    """One chunk of a filter."""

    kind: Kind
    text: str


class TopicFilter(NamedTuple):
    """A filter, ready for the tree; `share` is the group of an MQTT shared subscription."""

    steps: tuple[Step, ...]
    share: str | None = None

    @property
    def is_literal(self) -> bool:
        """Whether the filter names exactly one topic."""
        return all(step.kind is Kind.LITERAL for step in self.steps)

    @property
    def topic(self) -> str:
        """The filter as text, in canonical form, without the name of its group."""
        return "/".join(step.text for step in self.steps)


def read_filter(text: str, syntax: Syntax) -> TopicFilter:
    """Read a subscription's filter; raises TopicError with the rule that it breaks.

    Filters are read once and kept, unless they are so long that keeping them is dear.
    """
    read = _read_mqtt_filter if syntax is Syntax.MQTT else _read_key_expression
    return read(text) if len(text) <= _LONGEST_KEPT else read.__wrapped__(text)


@lru_cache(maxsize=1 << 14)
def _read_key_expression(text: str) -> TopicFilter:
    return TopicFilter(tuple(map(_zenoh_step, canonical_chunks(text))))


def read_topic(text: str, syntax: Syntax) -> tuple[str, ...]:
    """Read a message's topic into chunks; a Zenoh key may itself have wildcards."""
    if syntax is Syntax.MQTT:
        _check_mqtt_text(text, "topic")
        for wildcard in "+#":
            if wildcard in text:
                raise TopicError(
                    f"MQTT topic {text!r} contains {wildcard!r}: wildcards are for filters only"
                )
        return tuple(text.split("/"))
    return canonical_chunks(text)


def split_share(text: str) -> tuple[str | None, str]:
    """Split `$share/group/filter` into group and filter; the group is None for any other."""
    if text != "$share" and not text.startswith("$share/"):
        return None, text
    _, _, rest = text.partition("/")
    group, slash, topic_filter = rest.partition("/")
    if not group or not slash or not topic_filter or "+" in group or "#" in group:
        raise TopicError(
            f"shared subscription {text!r} must read $share/<group>/<filter>, "
            "with a group of at least one character and without '+' and '#'"
        )
    return group, topic_filter


@lru_cache(maxsize=1 << 14)
def _read_mqtt_filter(text: str) -> TopicFilter:
    _check_mqtt_text(text, "filter")
    share, topic_filter = split_share(text)
    levels = topic_filter.split("/")
    if "+" not in topic_filter and "#" not in topic_filter:
        return TopicFilter(tuple([Step(Kind.LITERAL, level) for level in levels]), share)
    steps = tuple(_mqtt_step(level, text) for level in levels)
    if any(step.kind is Kind.HASH for step in steps[:-1]):
        raise TopicError(f"MQTT filter {text!r}: '#' must be the last level")
    return TopicFilter(steps, share)


def _check_mqtt_text(text: str, what: str) -> None:
    if not text:
        raise TopicError(f"an MQTT {what} has at least one character, this one has none")
    if "\0" in text:
        raise TopicError(f"MQTT {what} {text!r} contains the null character")
    if len(text.encode()) > MAX_TOPIC_BYTES:
        raise TopicError(
            f"MQTT {what} of {len(text.encode())} bytes exceeds the limit of {MAX_TOPIC_BYTES}"
        )


def _mqtt_step(level: str, whole: str) -> Step:
    if level == "+":
        return Step(Kind.PLUS, level)
    if level == "#":
        return Step(Kind.HASH, level)
    if "+" in level or "#" in level:
        raise TopicError(f"MQTT filter {whole!r}: '+' and '#' must stand alone in their level")
    return Step(Kind.LITERAL, level)


def canonical_chunks(text: str) -> tuple[str, ...]:
    """The chunks of a Zenoh key expression in canonical form.

    Zenoh demands the canonical form (`a/**/**` is refused); here it is made, because there is
    only one reading of every other form.
    """
    chunks: list[str] = []
    for raw in text.split("/"):
        chunk = _canonical_chunk(raw, text)
        if chunk == "**" and chunks and chunks[-1] == "**":
            continue
        if chunk == "*" and chunks and chunks[-1] == "**":
            chunks.insert(len(chunks) - 1, chunk)
        else:
            chunks.append(chunk)
    return tuple(chunks)


def _canonical_chunk(chunk: str, whole: str) -> str:
    if not chunk:
        raise TopicError(
            f"key expression {whole!r} has an empty chunk: no leading, trailing or double '/'"
        )
    if "#" in chunk or "?" in chunk:
        raise TopicError(f"key expression {whole!r} contains '#' or '?', which Zenoh forbids")
    while "$*$*" in chunk:
        chunk = chunk.replace("$*$*", "$*")
    if chunk == "$*":
        return "*"
    if chunk in ("*", "**"):
        return chunk
    bare = chunk.replace("$*", "")
    if "$" in bare or "*" in bare:
        raise TopicError(
            f"key expression {whole!r}: '$' stands only in '$*', "
            "and '*' only alone, as '**' or in '$*'"
        )
    return chunk


def _zenoh_step(chunk: str) -> Step:
    if chunk == "*":
        return Step(Kind.STAR, chunk)
    if chunk == "**":
        return Step(Kind.STARS, chunk)
    if "$*" in chunk and not chunk.startswith("@"):
        return Step(Kind.PATTERN, chunk)
    return Step(Kind.LITERAL, chunk)  # a verbatim chunk is literal, even with `$*` in it
