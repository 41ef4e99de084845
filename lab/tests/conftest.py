from __future__ import annotations

import pytest

from zonal_lab.emulation import examine_machine


@pytest.fixture(scope="session")
def emulating() -> None:
    """Skips where the machine cannot emulate, and says what it lacks."""
    missing = examine_machine().missing
    if missing:
        pytest.skip("; ".join(missing))
