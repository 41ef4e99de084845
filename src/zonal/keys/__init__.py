"""Location keys: a place as ordinary key-expression chunks that stock Zenoh routers filter by.

`<topic>/@<encoding>/<chunks>`: topic first, location last, behind a verbatim chunk, which Zenoh's
wildcards never match. So plain and location-aware traffic live side by side.
"""

from zonal.keys.bloom import BloomDomain, BloomEncoding
from zonal.keys.encoding import DEFAULT_MAX_EXPRESSIONS, Encoding, Place, Role, refine
from zonal.keys.location_key import (
    FENCE_CHUNK,
    LONGEST_TOPIC,
    LocationKey,
    check_topic,
    encode_area,
    encode_place,
    fence_expressions,
    join,
    match,
    middle_of_expression,
    split,
)
from zonal.keys.registry import (
    encoding_named,
    encoding_of_expression,
    encodings,
    register_encoding,
)

__all__ = [
    "DEFAULT_MAX_EXPRESSIONS",
    "FENCE_CHUNK",
    "LONGEST_TOPIC",
    "BloomDomain",
    "BloomEncoding",
    "Encoding",
    "LocationKey",
    "Place",
    "Role",
    "check_topic",
    "encode_area",
    "encode_place",
    "encoding_named",
    "encoding_of_expression",
    "encodings",
    "fence_expressions",
    "join",
    "match",
    "middle_of_expression",
    "refine",
    "register_encoding",
    "split",
]
