"""The pipeline's figures in one run: stream, recorder, deliveries, history, two executors.

`python benchmarks/bench_pipeline.py [part …] [--scale 0.1]`; human lines, then one JSON line. With
`--into FILE` parts can be run one after another: the picture shows all that the file has. With
`--keep FOLDER` its log is used again, and history asks the lake that the stream has left there; the
part `log` only writes the log. With
`--data FOLDER` zones and places are real ones (`milano_nil/*.geojson`, `geolife/**/*.plt`). On a
shared machine the wall clock says little, so each figure is also given per second of processor
time of all processes taken together, times two: what two free cores would do.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline_joining import bench_deliveries
from pipeline_past import bench_history
from pipeline_picture import draw
from pipeline_recording import bench_recorder
from pipeline_streaming import bench_cluster, bench_log, bench_stream

if TYPE_CHECKING:
    from collections.abc import Callable


PARTS: dict[str, Callable[..., Any]] = {
    "log": bench_log,
    "recorder": bench_recorder,
    "history": bench_history,
    "stream": bench_stream,
    "deliveries": bench_deliveries,
    "cluster": bench_cluster,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="default: all")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size")
    parser.add_argument("--data", type=Path, help="a folder with milano_nil/ and geolife/")
    parser.add_argument("--into", type=Path, help="a JSON file that keeps the parts' results")
    parser.add_argument("--keep", type=Path, help="a folder for log and lake that stay")
    parser.add_argument("--no-picture", action="store_true")
    parser.add_argument("--quick", action="store_true", help="the log alone, at a hundredth")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.parts, arguments.scale, arguments.no_picture = ["log"], 0.01, True
    results: dict[str, dict[str, Any]] = {}
    for part in arguments.parts or [part for part in PARTS if part != "log"]:
        folder = arguments.keep or Path(tempfile.mkdtemp(prefix=f"zonal-bench-{part}-"))
        folder.mkdir(parents=True, exist_ok=True)
        try:
            found = PARTS[part](folder, arguments.scale, arguments.data)
            results |= {part: found} if isinstance(found, dict) else {}
        finally:
            if not arguments.keep:
                shutil.rmtree(folder, ignore_errors=True)
    if arguments.into:
        known = json.loads(arguments.into.read_text()) if arguments.into.exists() else {}
        results = {**known, **results}
        arguments.into.write_text(json.dumps(results, indent=2))
    if not arguments.no_picture:
        draw(results)
    manifest = {
        "scale": arguments.scale,
        "data": arguments.data.name if arguments.data else "made up",
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "python": sys.version.split()[0],
        "at": datetime.now(UTC).isoformat(),
    }
    print(json.dumps({"benchmark": "pipeline", **manifest, **results}))


if __name__ == "__main__":
    main()
