"""Faces that load late have what they list, from where it is."""

import compileall
import subprocess
import sys
from pathlib import Path

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


_FACE = """
from typing import TYPE_CHECKING
from zonal.face import loaded_late
if TYPE_CHECKING:
    from packed.inside import thing
else:
    __getattr__ = loaded_late(__name__)
"""


def test_a_face_needs_no_source(tmp_path: Path) -> None:
    """Tools that pack a program into one file leave byte code in the place of sources."""
    package = tmp_path / "packed"
    package.mkdir()
    (package / "__init__.py").write_text(_FACE)
    (package / "inside.py").write_text("thing = 'found'")
    compileall.compile_dir(package, quiet=2, legacy=True)
    for file in package.glob("*.py"):
        file.unlink()
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import packed; print(packed.thing)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "found\n"
