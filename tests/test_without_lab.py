"""The product stands without the laboratory that proves it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("folder", ["src", "tests", "examples"])
def test_nothing_of_the_product_names_a_module_of_the_lab(folder: str) -> None:
    files = (ROOT / folder).rglob("*.py")
    named = [
        str(path.relative_to(ROOT))
        for path in files
        if path != Path(__file__) and "zonal_lab" in path.read_text(encoding="utf-8")
    ]
    assert named == []


def test_installing_the_product_needs_no_lab() -> None:
    extras = PRODUCT["optional-dependencies"].values()
    required = [*PRODUCT["dependencies"], *(each for extra in extras for each in extra)]
    names = {re.match(r"[\w.-]+", each)[0].lower() for each in required}  # type: ignore[index]
    assert "zonal-lab" not in names
