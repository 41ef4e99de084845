"""Draw the newest gold window of a lake as a map: zones by value, alerted ones outlined.

`python examples/pipeline_map.py LAKE ZONES.geojson pm10 map.png [--threshold 50]`; no Spark.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely

from zonal.pipeline import Lake, Zones

mpl.use("Agg")
from matplotlib import pyplot as plt


def newest_window(lake: Lake, measure: str) -> pa.Table:
    windows = lake.find("windows")
    if windows is None:
        raise SystemExit(f"{lake.url} has no table windows yet")
    table = windows.to_pyarrow_dataset().to_table()
    zoned = table.filter(pc.and_(pc.equal(table["measure"], measure), pc.is_valid(table["zone"])))
    return zoned.filter(pc.equal(zoned["time"], pc.max(zoned["time"])))


def draw(table: pa.Table, zones: Zones, measure: str, threshold: float | None, path: Path) -> None:
    means = dict(zip(table["zone"].to_pylist(), table["mean"].to_pylist(), strict=True))
    norm = mpl.colors.Normalize(min(means.values()), max(means.values()))
    colours = mpl.colormaps["YlOrRd"]
    figure, axis = plt.subplots(figsize=(7, 6.2), layout="constrained")
    for name, shape in zip(zones.names, zones.geometries, strict=True):
        mean = means.get(name)
        alerted = mean is not None and threshold is not None and mean > threshold
        for part in shapely.get_parts(shape):
            axis.fill(
                *np.array(part.exterior.coords).T,
                facecolor="#eeeeee" if mean is None else colours(norm(mean)),
                edgecolor="#111111" if alerted else "#999999",
                linewidth=1.8 if alerted else 0.4,
                zorder=3 if alerted else 2,
            )
    window = f"{table['time'][0].as_py():%Y-%m-%d %H:%M} to {table['until'][0].as_py():%H:%M} UTC"
    axis.set_title(
        f"{measure}: mean per zone, {window}\nblack edge: geofence of an alert", fontsize=10
    )
    axis.set_aspect(1 / np.cos(np.radians(45.46)))
    axis.set_xlabel("longitude")
    axis.set_ylabel("latitude")
    figure.colorbar(mpl.cm.ScalarMappable(norm, colours), ax=axis, shrink=0.7, label=measure)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lake", type=Path)
    parser.add_argument("zones", type=Path)
    parser.add_argument("measure")
    parser.add_argument("picture", type=Path)
    parser.add_argument("--threshold", type=float)
    parser.add_argument("--zone-name")
    given = parser.parse_args()
    zones = Zones.from_file(given.zones, name=given.zone_name)
    table = newest_window(Lake(given.lake), given.measure)
    draw(table, zones, given.measure, given.threshold, given.picture)


if __name__ == "__main__":
    main()
