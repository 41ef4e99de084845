from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline_rows import make_messages

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa


@pytest.fixture
def messages() -> Callable[..., pa.Table]:
    return make_messages
