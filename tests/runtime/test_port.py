"""Port numbers from people."""

from __future__ import annotations

import pytest

from zonal.errors import ConfigurationError
from zonal.runtime import check_port


@pytest.mark.parametrize("port", [0, 1, 65_535, "1883"])
def test_a_port_is_taken_as_it_is(port: int | str) -> None:
    assert check_port(port) == int(port)


@pytest.mark.parametrize("port", [-1, 65_536, 99_999, "", "x", "1 ", "²", "٣"])
def test_anything_else_is_refused(port: int | str) -> None:
    with pytest.raises(ConfigurationError, match="0 to 65,535"):
        check_port(port)
