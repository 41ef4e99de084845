"""Location keys: a place as ordinary key-expression chunks that stock Zenoh routers filter by.

`<topic>/@<encoding>/<chunks>`: topic first, location last, behind a verbatim chunk, which Zenoh's
wildcards never match. So plain and location-aware traffic live side by side. Keys are built and
read here alone (`grammar`, `fence`, `question`, `announcement`, `compact_point`).
"""

from zonal.keys.announcement import (
    AnnouncedArea,
    announced_expression,
    announcement_key,
    announcements_key,
    keys_to_announce,
    read_announced,
)
from zonal.keys.bloom import BloomDomain, BloomEncoding, filters_match
from zonal.keys.compact_point import (
    NO_POINT,
    POINT_SIZES,
    checked_cell,
    pack_point,
    unpack_point,
)
from zonal.keys.encoding import (
    DEFAULT_MAX_EXPRESSIONS,
    Encoding,
    Place,
    Role,
    RoleExpression,
    blurred,
    refine,
)
from zonal.keys.fence import EVERY_FENCE, FENCE_CELLS, fence_expressions, fences_at
from zonal.keys.grammar import (
    LONGEST_TOPIC,
    MAX_TOPIC_CHUNKS,
    KeyParts,
    area_keys,
    cell_keys,
    check_topic,
    encoding_key,
    every_place,
    exact_key,
    following_keys,
    is_exact,
    is_plain,
    join,
    location_of,
    message_keys,
    place_key,
    presence_keys,
    read_key,
    topic_of,
)
from zonal.keys.location_key import LocationKey, encode_area, encode_place, match
from zonal.keys.mgrs_grid import area_of_reference
from zonal.keys.question import query_keys, queryable_keys
from zonal.keys.registry import (
    encoding_named,
    encoding_of_expression,
    encodings,
    register_encoding,
)

__all__ = [
    "DEFAULT_MAX_EXPRESSIONS",
    "EVERY_FENCE",
    "FENCE_CELLS",
    "LONGEST_TOPIC",
    "MAX_TOPIC_CHUNKS",
    "NO_POINT",
    "POINT_SIZES",
    "AnnouncedArea",
    "BloomDomain",
    "BloomEncoding",
    "Encoding",
    "KeyParts",
    "LocationKey",
    "Place",
    "Role",
    "RoleExpression",
    "announced_expression",
    "announcement_key",
    "announcements_key",
    "area_keys",
    "area_of_reference",
    "blurred",
    "cell_keys",
    "check_topic",
    "checked_cell",
    "encode_area",
    "encode_place",
    "encoding_key",
    "encoding_named",
    "encoding_of_expression",
    "encodings",
    "every_place",
    "exact_key",
    "fence_expressions",
    "fences_at",
    "filters_match",
    "following_keys",
    "is_exact",
    "is_plain",
    "join",
    "keys_to_announce",
    "location_of",
    "match",
    "message_keys",
    "pack_point",
    "place_key",
    "presence_keys",
    "query_keys",
    "queryable_keys",
    "read_announced",
    "read_key",
    "refine",
    "register_encoding",
    "topic_of",
    "unpack_point",
]
