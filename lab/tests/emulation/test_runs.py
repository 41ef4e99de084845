from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from zonal_lab.emulation.runs import RunRecord


def test_processes_registered_from_many_threads_are_all_remembered(tmp_path: Path) -> None:
    record = RunRecord(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: record.add_process(os.getpid()), range(200)))
    (file,) = tmp_path.glob("*.json")
    assert len(json.loads(file.read_text())["processes"]) == 200
    record.close()
    assert not list(tmp_path.iterdir())
