from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from object_store import new_bucket, object_store
from pipeline_rows import make_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa


@pytest.fixture
def messages() -> Callable[..., pa.Table]:
    return make_messages


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    with object_store() as endpoint:
        yield endpoint


@pytest.fixture
def bucket(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new bucket; the process finds it by its environment."""
    url, variables = new_bucket(s3_endpoint)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return url
