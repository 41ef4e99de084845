"""What a topic may look like: Zenoh's rules for key expressions, told in words of use."""

from __future__ import annotations

import re
from itertools import pairwise

from zonal.errors import TopicError

_SUSPICIOUS = re.compile(r"[#?$*]|//|^/|/\Z|(?:^|/)[@+]")
"""What a topic without any of these has is right; most topics have none."""


def check_chunks(topic: str) -> None:
    """Nothing for a key expression in canonical form without verbatim chunks; else `TopicError`."""
    if _SUSPICIOUS.search(topic) is None:
        return
    chunks = topic.split("/")
    for chunk in chunks:
        wrong = _what_is_wrong(chunk)
        if wrong:
            raise TopicError(f"topic {shown(topic)}: {wrong}")
    for chunk, following in pairwise(chunks):
        if chunk == "**" and following in {"*", "**"}:
            right = "**" if following == "**" else "*/**"
            raise TopicError(
                f"topic {shown(topic)}: '**/{following}' means the same as {right!r}, which is how "
                "it has to be written"
            )


_KEPT = "kept for location keys (use session.zenoh for plain Zenoh keys)"
_WRONG_CHUNKS = {
    "": "it has an empty chunk; a topic neither begins nor ends with '/', nor has '//'",
    "+": "'+' is MQTT's; write '*' for one chunk",
    "#": "'#' is MQTT's; write '**' for any number of chunks",
    "$*": "a chunk '$*' is written '*'",
}


def _what_is_wrong(chunk: str) -> str | None:
    """Why this cannot stand between two slashes, and what is right; None: it can."""
    rest = "" if chunk in {"*", "**"} else chunk.replace("$*", "")
    starred = chunk.replace("$*", "*").replace("*", "$*")
    reasons = (
        (chunk in _WRONG_CHUNKS, _WRONG_CHUNKS.get(chunk)),
        (chunk.startswith("@"), f"the verbatim chunk {shown(chunk)} is {_KEPT}"),
        ("#" in rest or "?" in rest, f"'#' and '?' cannot be part of a chunk: {shown(chunk)}"),
        ("*" in rest, f"'*' stands alone, or is written '$*' in a chunk: {shown(starred)}"),
        ("$" in rest, f"'$' is only used before '*', not as in {shown(chunk)}"),
        ("$*$*" in chunk, "'$*' is not repeated"),
    )
    return next((reason for is_so, reason in reasons if is_so), None)


def shown(text: str) -> str:
    """A text in an error message, shortened."""
    return repr(text if len(text) <= 80 else f"{text[:80]}…")
