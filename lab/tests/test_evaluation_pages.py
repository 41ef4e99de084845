"""What `zonal lab verify` checks, of the pages that are committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from zonal_lab.command import EXPERIMENTS
from zonal_lab.experiment import EVALUATION, differences

ROOT = Path(__file__).parents[2]


@pytest.mark.group("pages")  # the longest test that is alone in its file: groups start first
def test_every_committed_page_says_what_its_data_says() -> None:
    assert list(differences(ROOT / EVALUATION, EXPERIMENTS)) == []


def test_no_claim_is_without_a_verdict() -> None:
    lines = (ROOT / EVALUATION / "README.md").read_text(encoding="utf-8").splitlines()
    claims = [line.split(" | ") for line in lines if line.startswith("| ") and line.count("|") == 7]
    told = {row[4].strip("* ") for row in claims if row[0] != "| claim" and "---" not in row[0]}
    assert told <= {
        "holds",
        "cannot be told",
        "does not hold",
        "does not hold (its direction does)",
    }
    assert "holds" in told
