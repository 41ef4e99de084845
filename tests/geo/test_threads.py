"""Areas that several threads ask at the same time; GEOS itself would end the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
import numpy as np
from zonal.geo import MultiPolygon, Polygon, cover

random = np.random.default_rng(1)

def polygon(corners):
    angle = np.sort(random.random(corners)) * 2 * np.pi
    radius = 0.5 + 0.4 * random.random(corners)
    return Polygon(np.column_stack([45 + radius * np.sin(angle), 10 + radius * np.cos(angle)]))

def ask(area, others, lats, lons, barrier, answers):
    barrier.wait()
    if sys.argv[1] == "points":
        answers.append(area.contains_many(lats, lons).tolist())
    elif sys.argv[1] == "areas":
        answers.append([area.intersects(other) for other in others])
    else:
        answers.append(cover(area, 50))

for turn in range(int(sys.argv[2])):
    area = polygon(2000) if turn % 2 else MultiPolygon([polygon(2000)])
    lats, lons = 44.5 + random.random(100), 9.5 + random.random(100)
    others = [Polygon([(a, b), (a, b + 0.1), (a + 0.1, b)]) for a, b in zip(lats[:30], lons[:30])]
    barrier, answers = threading.Barrier(4), []
    arguments = (area, others, lats, lons, barrier, answers)
    threads = [threading.Thread(target=ask, args=arguments) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert len(answers) == 4 and answers.count(answers[0]) == 4, answers
"""


@pytest.mark.parametrize(("about", "turns"), [("points", 250), ("areas", 100), ("covers", 10)])
def test_a_polygon_may_be_asked_by_several_threads_at_once(about: str, turns: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, about, str(turns)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
