"""Faces that load late have what they list, from where it is."""

import subprocess
import sys

import pytest

from late_faces import check_face


@pytest.mark.parametrize("name", ["zonal", "zonal.pipeline", "zonal.pipeline.jobs"])
def test_every_name_of_a_face_that_loads_late_is_there(name: str) -> None:
    check_face(name)


def test_packages_and_the_whole_face_are_there_after_one_import() -> None:
    code = (
        "import sys, zonal; assert 'zonal.session' not in sys.modules; "
        "assert set(zonal.__all__) <= set(dir(zonal)); "
        "print(zonal.geo.Circle is zonal.Circle, zonal.session.Session is zonal.Session)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_help_needs_no_session_and_a_worker_of_spark_no_recorder() -> None:
    code = "import sys, {0}; print([each for each in ('numpy', 'pandas') if each in sys.modules])"
    for module in ("zonal.cli", "zonal.pipeline.payloads"):
        command = [sys.executable, "-c", code.format(module)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "[]\n", module
