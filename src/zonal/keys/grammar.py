"""The grammar of keys: what messages are put under, what is declared for them, what a key says.

```
key        topic [ "/" location [ "/" exact ] ] [ "/" fence ]
location   an expression of an encoding: its prefix, which begins with "@", and chunks
exact      "=" and the exact place and session of a publisher that stays where it is
fence      "@to/" and the path of an S2 cell, or "**"
```

Topics have no verbatim chunks (`@…`), which Zenoh's wildcards never match: so located, fenced and
plain messages of a topic are three kinds that are declared separately. Everything here is pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.errors import LocationKeyError, TopicError
from zonal.geo import Point, as_area, as_point
from zonal.keys.compact_point import exact_chunk, read_exact_chunk
from zonal.keys.encoding import DEFAULT_MAX_EXPRESSIONS, Encoding, Place, Role, as_place
from zonal.keys.fence import FENCE_CELLS, fence_expressions
from zonal.keys.marks import EXACT_MARK, FENCE_CHUNK
from zonal.keys.topic import check_chunks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zonal.geo import Cell, GivenArea, GivenPoint
    from zonal.keys.encoding import GivenPlace

LONGEST_TOPIC = 60_000
"""Bytes: Zenoh writes the length of a key into two bytes, and panics if it does not fit; the rest
is for the location."""

MAX_TOPIC_CHUNKS = 128
"""Keys of thousands of chunks end a stock router; with location and fence ours have at most
1,024."""

MAX_PUTS = 64
"""How many keys a message is put under at the most."""

_VERBATIM = "/@"
_FENCE = f"/{FENCE_CHUNK}/"
_EXACT = f"/{EXACT_MARK}"
_FACES = 6
_PRESENCE_KEYS = 8  # each is a question of its own, and tokens are few


def check_topic(topic: str) -> str:
    """The topic itself, if it can carry a location key; otherwise an error that says why not."""
    if not isinstance(topic, str) or not topic:
        raise TopicError(f"a topic is a non-empty key expression, not {topic!r}")
    if len(topic) * 4 > LONGEST_TOPIC and (size := len(topic.encode())) > LONGEST_TOPIC:
        raise TopicError(f"a topic has at most {LONGEST_TOPIC:,} bytes, not {size:,}")
    if (chunks := topic.count("/") + 1) > MAX_TOPIC_CHUNKS:
        raise TopicError(f"a topic has at most {MAX_TOPIC_CHUNKS} chunks, not {chunks:,}")
    check_chunks(topic)
    return topic


def join(topic: str, *expressions: str) -> str:
    """The key of a topic with what stands behind it; empty expressions are left out."""
    return "/".join((topic, *filter(None, expressions)))


# Sending


def message_keys(
    topic: str,
    place: GivenPlace | None,
    fence: GivenArea | None,
    encoding: Encoding,
    announced: Iterable[str] = (),
    fence_cells: int = FENCE_CELLS,
) -> tuple[str, ...]:
    """What a message from a place to a fence is put under: once under each of these keys.

    Without a place it has no location, without a fence it is for everybody. Several keys are
    those of a fence of several cells or of a blurred place. In an encoding that announces areas
    a message with a place goes to the `announced` expressions whose area holds it; without any,
    nobody wants it and there are no keys.

    A fence has at most `fence_cells` cells: the fewer, the larger. There are at most `MAX_PUTS`
    keys: beyond, a fence gets fewer and larger cells, and announced
    areas one key that all of them intersect. A `LocationKeyError` where the blurred place alone
    has more.
    """
    if place is None:
        keys = [topic]
    else:
        place = place if type(place) is Point else as_place(place)
        keys = [f"{topic}/{expression}" for expression in _places(place, encoding, announced)]
    if fence is None or not keys:
        return tuple(keys)
    fences = fence_expressions(fence, min(fence_cells, MAX_PUTS // len(keys)))
    return tuple(f"{key}/{to}" for key in keys for to in fences)


def _places(place: Place, encoding: Encoding, announced: Iterable[str]) -> tuple[str, ...]:
    """The location expressions of a message from a place, at most `MAX_PUTS`."""
    if encoding.announces_areas:
        places = tuple(announced)
        return places if len(places) <= MAX_PUTS else (every_place(encoding),)
    places = encoding.place_expressions(place)
    if len(places) > MAX_PUTS:
        raise LocationKeyError(
            f"the blurred place {place} touches {len(places)} fields of {encoding.name}, and a "
            f"message is put at most {MAX_PUTS} times: blur it less (precision_m), or use s2 or "
            "a domain of larger fields"
        )
    return places


def every_place(encoding: Encoding) -> str:
    """The expression that all expressions of an encoding intersect."""
    return f"{encoding.prefix}/**"


def place_key(topic: str, place: GivenPlace | None, encoding: Encoding) -> str:
    """One key that says a place: that of a reply or of a liveliness token.

    A reply finds its way without matching, and a token's place is read from its key; so one of
    the keys of a blurred place will do.
    """
    if place is None:
        return topic
    return join(topic, encoding.place_expressions(as_place(place))[0])


def exact_key(topic: str, point: GivenPoint, origin: int, encoding: Encoding) -> str | None:
    """The key of a publisher that stays at a point; its messages need not say place and source.

    `origin` is the number of its session (64 bits). None where the encoding's keys do not say the
    place to some metres, so that the exact place would have to be long.
    """
    if encoding.announces_areas:
        return None
    point = as_point(point)
    expression = encoding.place_expressions(point)[0]
    if encoding.middle(expression) is None:
        return None
    return join(topic, expression, exact_chunk(point, origin, expression))


# Receiving


def area_keys(
    topic: str,
    area: GivenArea,
    encoding: Encoding,
    role: Role = Role.SUBSCRIBER,
    max_expressions: int = DEFAULT_MAX_EXPRESSIONS,
) -> tuple[str, ...]:
    """What is declared for the messages of a topic from an area, in one encoding, without fences.

    Those of an encoding that announces areas are announced as well (see `announcement_key`).
    """
    expressions = encoding.area_expressions(as_area(area), role, max_expressions)
    return tuple(join(topic, expression) for expression in expressions)


def following_keys(
    keys: Iterable[str],
    topic: str,
    last: GivenArea,
    area: GivenArea,
    encoding: Encoding,
    role: Role = Role.SUBSCRIBER,
    max_expressions: int = DEFAULT_MAX_EXPRESSIONS,
    *,
    closely: bool = True,
) -> tuple[str, ...]:
    """The same for an area that was `last` before, for which these keys were declared.

    See `Encoding.following_expressions`.
    """
    had = [key[len(topic) + 1 :] for key in keys]
    expressions = encoding.following_expressions(
        had, as_area(last), as_area(area), role, max_expressions, closely=closely
    )
    return tuple(join(topic, expression) for expression in expressions)


def cell_keys(
    topic: str, cells: Iterable[Cell], encoding: Encoding, fences: Iterable[str] = ("",)
) -> tuple[str, ...]:
    """What is declared for the messages from any of these S2 cells, in one encoding.

    Where the encoding's areas are no S2 cells, or where the cells are the whole globe, that is
    all of the topic in this encoding. With `fences` (`fences_at`, `EVERY_FENCE`) it is what is
    declared for fenced messages from there. Without cells there is nothing.
    """
    cells = tuple(cells)
    if not cells:
        return ()
    if encoding.cell_level is None or _is_globe(cells):
        locations = [every_place(encoding)]
    else:
        locations = list(dict.fromkeys(map(encoding.cell_expression, cells)))
    return tuple(join(topic, location, fence) for location in locations for fence in fences)


def encoding_key(topic: str, encoding: Encoding, fence: str = "") -> str:
    """What is declared for all messages of a topic in one encoding: without or with a fence.

    Messages of an encoding that announces areas go to what is announced, not here.
    """
    return join(topic, every_place(encoding), fence)


def presence_keys(
    topic: str, area: GivenArea | None, encodings: Iterable[Encoding]
) -> tuple[str, ...]:
    """What is declared, or asked, for liveliness tokens in an area (None: with or without a place).

    Places of an encoding that announces areas cannot be matched by routers: all of them are asked
    for.
    """
    keys = [topic] if area is None else []
    for encoding in encodings:
        if area is None or encoding.announces_areas:
            keys.append(encoding_key(topic, encoding))
        else:
            keys += area_keys(topic, area, encoding, max_expressions=_PRESENCE_KEYS)
    return tuple(keys)


def _is_globe(cells: tuple[Cell, ...]) -> bool:
    return len(cells) == _FACES and all(cell.level == 0 for cell in cells)


# Reading


class KeyParts(NamedTuple):
    """What a key says; parts that it does not have are empty."""

    topic: str
    location: str
    """The location expression, without the exact place: `@s2/1/10/13`."""
    exact: str
    """The chunk with the exact place and the source, its mark included; see `read_exact`."""
    fence: str
    """The path of the fence's cell and `**`."""

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but a topic."""
        return not self.location and not self.fence

    def read_exact(self) -> tuple[Point, int]:
        """The publisher's place and the number of its session; `LocationKeyError` if unreadable."""
        return read_exact_chunk(self.exact, self.location)


def read_key(key: str) -> KeyParts:
    """Take a key apart; it need not be valid, and its parts are not looked into."""
    topic, at, rest = key.partition(_VERBATIM)
    if not at:
        return KeyParts(key, "", "", "")
    location, _, fence = f"{_VERBATIM}{rest}".partition(_FENCE)
    before, slash, last = location.rpartition("/")
    if slash and before and last.startswith(EXACT_MARK):
        return KeyParts(topic, before[1:], last, fence)
    return KeyParts(topic, location[1:], "", fence)


# Single questions, asked for every message: quicker than `read_key`.


def topic_of(key: str) -> str:
    """The topic of a key."""
    return key.partition(_VERBATIM)[0]


def location_of(key: str) -> str:
    """The location expression of a key, with the chunk of an exact place where it has one."""
    _, at, rest = key.partition(_VERBATIM)
    return f"{at}{rest}".partition(_FENCE)[0][1:]


def is_plain(key: str) -> bool:
    """Whether a key is nothing but a topic."""
    return _VERBATIM not in key


def is_exact(key: str) -> bool:
    """Whether a key says the exact place and the source of its messages."""
    if _EXACT not in key:
        return False
    return key.rpartition("/")[2].startswith(EXACT_MARK) and _VERBATIM in key
