"""Delta tables without Spark: where they are, how they are opened, what their commits note."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from zonal.errors import LakeError

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMMITS_BACK = (1, 10, 1000)
_UNFIT = frozenset("[]^|\\")
"""What delta-rs cannot have in a path: it ends with a panic, or writes somewhere else."""
STATISTICS_TICK = timedelta(milliseconds=1)
"""Delta cuts times off at the millisecond in its statistics: the latest may be as much later."""


def url_of(place: str | Path, *names: str) -> str:
    """A local path (made absolute) or a URL such as `s3://bucket/log`, with names below it."""
    text = str(place)
    if "://" in text:
        return "/".join((text.rstrip("/"), *names))
    root = str(Path(text).absolute())
    unfit = sorted(_UNFIT & set(root))
    if unfit:
        raise LakeError(
            f"a folder with {' and '.join(unfit)} in its name, {root}, cannot hold Delta tables: "
            "choose another name"
        )
    return "/".join((root, *names))


def is_local(url: str) -> bool:
    """Whether a table is in a folder of this machine."""
    return "://" not in url


def storage_options(url: str) -> dict[str, str] | None:
    """What delta-rs is told of an object store, beside the usual variables (`AWS_…`) it reads.

    A commit is a put that fails where the version is there already, so that no lock is needed.
    """
    return {"conditional_put": "etag"} if url.startswith(("s3://", "s3a://")) else None


def find_table(url: str, version: int | None = None) -> DeltaTable | None:
    """A table as it is now, or was at a version; None where there is none."""
    try:
        return DeltaTable(url, version=version, storage_options=storage_options(url))
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as error:
        at = "" if version is None else f" at version {version}"
        raise LakeError(f"{url} cannot be read{at}: {error}") from error


def newest_note(table: DeltaTable) -> Mapping[str, Any]:
    """What the newest of our commits said of itself (`userMetadata`); nothing where none did.

    Compactions say nothing, so more than the last commit may be looked at; Delta keeps them for 30
    days.
    """
    for commits in _COMMITS_BACK:
        for commit in table.history(commits):
            text = commit.get("userMetadata")
            if text:
                note: dict[str, Any] = json.loads(text)
                return note
    return {}
