from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from zonal.errors import DeclarationError
from zonal_lab.jobs import MEASURED, draw_summary, summarize

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_numbers_per_run_and_technique(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        ("1", "s2", "a", 0.000, 0.010),
        ("1", "s2", "a", 1.000, 1.030),
        ("1", "s2", "b", 1.000, None),
        ("1", "s2", "a", 2.000, 2.010),
        ("1", "topic", "a", 0.0, 0.5),
        ("2", "topic", "a", 0.0, None),
    ]
    summary = summarize(spark.createDataFrame(rows, MEASURED))
    first, single, lost = summary.collect()
    assert (first.expected, first.received, first.loss) == (4, 3, 0.25)
    assert first.mean_ms == pytest.approx(50 / 3)
    assert first.p50_ms == pytest.approx(10)
    assert first.max_ms == pytest.approx(30)
    assert first.deviation_ms == pytest.approx(9.428, abs=1e-3)
    assert first.throughput == pytest.approx(1.5)
    assert (single.technique, single.throughput) == ("topic", None)
    assert (lost.received, lost.loss, lost.mean_ms) == (0, 1.0, None)
    draw_summary(summary, tmp_path / "summary.png")
    assert (tmp_path / "summary.png").stat().st_size > 5000


def test_a_log_without_a_column_is_refused(spark: SparkSession) -> None:
    with pytest.raises(DeclarationError, match="no column technique"):
        summarize(spark.createDataFrame([], "run STRING"))
