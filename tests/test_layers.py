from __future__ import annotations

from pathlib import Path

import pytest
from importlinter import cli


def test_packages_import_only_the_layers_below_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent.parent)
    assert cli.lint_imports(no_cache=True) == 0
