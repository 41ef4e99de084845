"""What a topic may look like: Zenoh's rules for key expressions, told in words of use."""

from __future__ import annotations

import re

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
    for chunk, following in zip(chunks, chunks[1:], strict=False):
        if chunk == "**" and following in {"*", "**"}:
            right = "**" if following == "**" else "*/**"
            raise TopicError(
                f"topic {shown(topic)}: '**/{following}' means the same as {right!r}, which is how "
                "it has to be written"
            )


def _what_is_wrong(chunk: str) -> str:
    """Why this cannot stand between two slashes, and what is right; empty: it can."""
    if not chunk:
        return "it has an empty chunk; a topic neither begins nor ends with '/', nor has '//'"
    if chunk == "+":
        return "'+' is MQTT's; write '*' for one chunk"
    if chunk == "#":
        return "'#' is MQTT's; write '**' for any number of chunks"
    if chunk.startswith("@"):
        return (
            f"it contains the verbatim chunk {shown(chunk)}; such chunks are kept for location "
            "keys (use session.zenoh for plain Zenoh keys)"
        )
    if "#" in chunk or "?" in chunk:
        return f"'#' and '?' cannot be part of a chunk, as in {shown(chunk)}"
    if chunk in {"*", "**"}:
        return ""
    if chunk == "$*":
        return "a chunk '$*' is written '*'"
    rest = chunk.replace("$*", "")
    if "*" in rest:
        return (
            f"'*' stands alone between slashes, and inside of a chunk it is written '$*' "
            f"({shown(chunk.replace('$*', '*').replace('*', '$*'))})"
        )
    if "$" in rest:
        return f"'$' is only used before '*', not as in {shown(chunk)}"
    return "'$*' is not repeated" if "$*$*" in chunk else ""


def shown(text: str) -> str:
    """A text in an error message, shortened."""
    return repr(text if len(text) <= 80 else f"{text[:80]}…")
