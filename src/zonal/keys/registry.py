"""The encodings by name; users can add their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.errors import EncodingError, LocationKeyError
from zonal.keys.bloom import WORLD, BloomEncoding, domain_of_option
from zonal.keys.encoding import Encoding
from zonal.keys.json_base64 import JsonEncoding
from zonal.keys.marks import ANNOUNCED_CHUNK, FENCE_CHUNK, ZENOH_CHUNK
from zonal.keys.mgrs_grid import MgrsEncoding
from zonal.keys.s2 import S2Encoding

if TYPE_CHECKING:
    from zonal.geo import Area

_ENCODINGS: dict[str, Encoding] = {}
_MAX_OPTIONS = 16
_options: dict[str, Encoding] = {}
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
    _ENCODINGS[encoding.name] = encoding
    return encoding


def encoding_named(name: str) -> Encoding:
    """The encoding registered under this name.

    `bloom:<south>,<west>,<north>,<east>,<rows>x<columns>,<probability>` is a Bloom domain that
    need not be registered before; a process takes at most 16 of them.
    """
    known = _ENCODINGS.get(name) or _options.get(name) or _encoding_of_option(name)
    if known is None:
        raise EncodingError(
            f"no encoding named {name!r}; known here: {', '.join(sorted(_ENCODINGS))} (add others "
            "with register_encoding, or name a Bloom domain by its numbers: "
            "bloom:45.3,9.0,45.6,9.3,20x20,0.25)"
        )
    return known


def _encoding_of_option(name: str) -> Encoding | None:
    domain = domain_of_option(name)
    if domain is None:
        return None
    if len(_options) >= _MAX_OPTIONS:
        raise EncodingError(f"{name!r}: {_MAX_OPTIONS} Bloom domains are named here already")
    _options[name] = register_encoding(BloomEncoding(domain))
    return _options[name]


def encodings(area: Area | None = None) -> tuple[Encoding, ...]:
    """All registered encodings, or those that can write an area, in the order of registration."""
    return tuple(kind for kind in _ENCODINGS.values() if area is None or _can_write(kind, area))


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
    raise LocationKeyError(
        f"{expression!r} is no location expression of a known encoding; it should start with one "
        f"of {', '.join(encoding.prefix for encoding in _ENCODINGS.values())}"
    )


for _encoding in (S2Encoding(), MgrsEncoding(), BloomEncoding(WORLD), JsonEncoding()):
    register_encoding(_encoding)
