from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zonal.errors import DeclarationError
from zonal_lab.command import summary, workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_raw_samples_become_numbers_and_a_picture(spark: SparkSession, tmp_path: Path) -> None:
    del spark  # the command takes the session that is open
    samples = pa.table(
        {
            "scenario": ["zoning"] * 2, "transport": ["tcp"] * 2, "cpu_percent": [100] * 2,
            "technique": ["s2", "topic"], "round": [1, 1], "subscriber": [6, 6],
            "publisher": [13, 13], "number": [0, 0], "sent_us": [10**6] * 2,
            "received_us": [10**6 + 10**3, 0],
        }
    )  # fmt: skip
    pq.write_table(samples, tmp_path / "samples.parquet")
    picture = tmp_path / "summary.png"
    summary(tmp_path / "samples.parquet", picture=picture, output=tmp_path / "numbers")
    numbers = pq.read_table(tmp_path / "numbers").sort_by("technique").to_pylist()
    assert [(row["run"], row["loss"]) for row in numbers] == [
        ("zoning/tcp/100/1", 0.0),
        ("zoning/tcp/100/1", 1.0),
    ]
    assert picture.exists()


def test_clients_travel_or_teleport(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="neither travel nor teleport"):
        workload(tmp_path, kind="fly")
