"""The encodings by name; users can add their own."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from zonal.errors import EncodingError, LocationKeyError
from zonal.keys.bloom import BLOOM_CHUNK, WORLD, BloomEncoding, domain_of_option
from zonal.keys.encoding import Encoding
from zonal.keys.json_base64 import JsonEncoding
from zonal.keys.marks import ANNOUNCED_CHUNK, FENCE_CHUNK, ZENOH_CHUNK
from zonal.keys.mgrs_grid import MgrsEncoding
from zonal.keys.s2 import S2Encoding

if TYPE_CHECKING:
    from zonal.geo import Area

_ENCODINGS: dict[str, Encoding] = {}
MOST_DOMAINS = 16
_domains: OrderedDict[str, Encoding] = OrderedDict()
"""Bloom domains that were named by their numbers, by their names; the one used last is last."""
_lock = threading.Lock()
_RESERVED_CHUNKS = frozenset({FENCE_CHUNK, ANNOUNCED_CHUNK, ZENOH_CHUNK})


def register_encoding(encoding: Encoding) -> Encoding:
    """Make an encoding known in this process; publishers and subscribers need the same ones."""
    if not isinstance(encoding, Encoding):
        raise EncodingError(
            f"{encoding!r} does not follow the Encoding protocol; derive it from "
            "zonal.keys.Encoding"
        )
    chunk = encoding.prefix.partition("/")[0]
    if not chunk.startswith("@") or len(chunk) < 2 or chunk in _RESERVED_CHUNKS:
        raise EncodingError(
            f"prefix {encoding.prefix!r} must start with a verbatim chunk such as '@s2' "
            f"(and none of {', '.join(sorted(_RESERVED_CHUNKS))})"
        )
    known = _ENCODINGS.get(encoding.name)
    if known is not None and known != encoding:
        raise EncodingError(f"an encoding named {encoding.name!r} is already registered")
    with _lock:
        _domains.pop(encoding.name, None)
        _ENCODINGS[encoding.name] = encoding
    return encoding


def encoding_named(name: str) -> Encoding:
    """The encoding registered under this name.

    `bloom:<south>,<west>,<north>,<east>,<rows>x<columns>,<probability>` is a Bloom domain that
    need not be registered before. A process has the 16 of them that were used last among its
    `encodings`; one that made room is there again as soon as it is named. `register_encoding`
    keeps one.
    """
    known = _ENCODINGS.get(name) or _domain_named(name)
    if known is None:
        raise EncodingError(
            f"no encoding named {name!r}; known here: {', '.join(sorted(_ENCODINGS))} (add others "
            "with register_encoding, or name a Bloom domain by its numbers: "
            "bloom:45.3,9.0,45.6,9.3,20x20,0.25)"
        )
    return known


def _domain_named(name: str) -> Encoding | None:
    """The Bloom domain of these numbers, which is now the one used last."""
    with _lock:
        if name in _domains:
            _domains.move_to_end(name)
            return _domains[name]
    domain = domain_of_option(name)
    if domain is None:
        return None
    encoding: Encoding = BloomEncoding(domain)
    if encoding.name in _ENCODINGS:
        return _ENCODINGS[encoding.name]
    with _lock:
        encoding = _domains.setdefault(encoding.name, encoding)
        _domains.move_to_end(encoding.name)
        if len(_domains) > MOST_DOMAINS:
            _domains.popitem(last=False)
    return encoding


def encodings(area: Area | None = None) -> tuple[Encoding, ...]:
    """All registered encodings, or those that can write an area, in the order of registration.

    Behind them the Bloom domains that were named by their numbers (see `encoding_named`).
    """
    with _lock:
        kinds = (*_ENCODINGS.values(), *sorted(_domains.values(), key=lambda each: each.name))
    return tuple(kind for kind in kinds if area is None or _can_write(kind, area))


def _can_write(kind: Encoding, area: Area) -> bool:
    try:
        kind.check_area(area)
    except LocationKeyError:
        return False
    return True


def encoding_of_expression(expression: str) -> Encoding:
    """The encoding whose prefix an expression (`@s2/…`) carries."""
    for encoding in _ENCODINGS.values():
        prefix = encoding.prefix
        if expression == prefix or expression.startswith(f"{prefix}/"):
            return encoding
    chunk, _, rest = expression.partition("/")
    domain = _domain_named(f"bloom:{rest.partition('/')[0]}") if chunk == BLOOM_CHUNK else None
    if domain is not None:
        return domain
    raise LocationKeyError(
        f"{expression!r} is no location expression of a known encoding; it should start with one "
        f"of {', '.join(encoding.prefix for encoding in _ENCODINGS.values())}"
    )


for _encoding in (S2Encoding(), MgrsEncoding(), BloomEncoding(WORLD), JsonEncoding()):
    register_encoding(_encoding)
