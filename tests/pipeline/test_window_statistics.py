from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from zonal.pipeline.window_statistics import Spread, statistics_of_window


def rows_of(*batches: pa.RecordBatch, measures: tuple[str, ...] = ("pm10",)) -> list[dict]:
    found = statistics_of_window(600, 300, batches, measures)
    return [row for batch in found for row in batch.to_pylist()]


def batch(**columns: list[object]) -> pa.RecordBatch:
    types = {"topic": pa.string(), "zone": pa.string(), "cell": pa.int64()}
    arrays = {
        name: pa.array(values, types.get(name, pa.float64())) for name, values in columns.items()
    }
    return pa.RecordBatch.from_pydict(arrays)


def test_figures_are_those_of_each_topic_and_place_whatever_batch_a_row_came_in() -> None:
    rng = np.random.default_rng(1)
    size = 3000
    table = pa.table(
        {
            "topic": pa.array(rng.choice(["a", "b"], size)),
            "zone": pa.array(rng.choice(["x", "y", "z"], size), mask=rng.random(size) < 0.1),
            "cell": pa.array(rng.integers(-5, 5, size), mask=rng.random(size) < 0.1),
            "measure_0": pa.array(rng.normal(size=size), mask=rng.random(size) < 0.1),
        }
    )
    found = rows_of(*table.to_batches(max_chunksize=700))
    wanted = {}
    for row in table.to_pylist():
        for kind in ("zone", "cell"):
            if row[kind] is not None:
                group = wanted.setdefault((row["topic"], kind, row[kind]), [])
                group += [] if row["measure_0"] is None else [row["measure_0"]]
    assert len(found) == len(wanted) == 2 * 3 + 2 * 10
    for row in found:
        kind = "zone" if row["cell"] is None else "cell"
        values = sorted(wanted[row["topic"], kind, row[kind]])
        assert row["count"] == len(values)
        assert math.isclose(row["mean"], sum(values) / len(values), abs_tol=1e-12)
        assert row["max"] == values[-1]
        assert row["p95"] == values[math.ceil(0.95 * len(values)) - 1]
        assert (row["until"] - row["time"]).total_seconds() == 300


def test_a_place_where_nothing_was_measured_is_counted_as_that() -> None:
    rows = rows_of(
        batch(topic=["t", "t"], zone=["x", None], cell=[None, None], measure_0=[None, 1.0])
    )
    assert [(row["zone"], row["count"], row["mean"], row["max"]) for row in rows] == [
        ("x", 0, None, None)
    ]


def test_each_measure_has_its_row() -> None:
    rows = rows_of(
        batch(topic=["t"], zone=[None], cell=[7], measure_0=[1.0], measure_1=[2.0]),
        measures=("pm10", "no2"),
    )
    assert [(row["measure"], row["cell"], row["max"]) for row in rows] == [
        ("pm10", 7, 1.0),
        ("no2", 7, 2.0),
    ]


def test_many_values_are_thinned_and_only_percentiles_move_by_as_little_as_is_said() -> None:
    rng = np.random.default_rng(2)
    spread = Spread(most_rows=10_000, most_points=2000)
    keys = rng.integers(0, 3, 100_000)
    keys[:50] = 9
    values = rng.permutation(len(keys)).astype(float)
    valid = rng.random(len(keys)) < 0.9
    for part in np.array_split(np.arange(len(keys)), 40):
        spread.add(keys[part], values[part], valid[part])
        assert len(spread._sorted().keys) < 10_000 + 3 * 2000 + 3000
    found = spread.summary()
    assert found.keys.tolist() == [0, 1, 2, 9]
    for index, key in enumerate(found.keys):
        group = np.sort(values[valid & (keys == key)])
        assert found.number[index] == len(group)
        assert math.isclose(found.mean[index], group.mean())
        assert found.max[index] == group[-1]
        rank = np.searchsorted(group, found.p95[index]) + 1
        assert abs(rank / len(group) - 0.95) < (10 / 2000 if len(group) > 2000 else 1 / len(group))
