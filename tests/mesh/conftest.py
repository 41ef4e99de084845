from __future__ import annotations

from collections.abc import Iterator

import pytest

from meshes import nodes_in_a_line
from zonal import mesh


@pytest.fixture
def line() -> Iterator[list[mesh.MeshSession]]:
    """Four nodes in a line, each in reach of the next only."""
    with nodes_in_a_line() as nodes:
        yield nodes
