from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

EXAMPLE = Path(__file__).parents[2] / "examples" / "pipeline_city_air.py"


def test_the_example_goes_from_messages_to_gold_an_alert_and_a_dataframe(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    del spark  # the example takes the session that is open
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    shown, _ = capfd.readouterr()
    assert "written=201" in shown
    assert "Duomo" in shown
    assert "payload is no JSON object" in shown
    assert '"zone":"Duomo"' in shown
