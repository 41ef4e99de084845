from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import zonal


@pytest.mark.parametrize(
    "name", ["zonal", "zonal.geo", "zonal.keys", "zonal.index", "zonal.session"]
)
def test_everything_that_is_exported_is_there_and_sorted(name: str) -> None:
    module = importlib.import_module(name)
    assert all(hasattr(module, exported) for exported in module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)


def test_every_error_is_a_zonal_error_and_a_builtin_one() -> None:
    from zonal import errors

    kinds = [value for value in vars(errors).values() if isinstance(value, type)]
    for kind in kinds:
        assert issubclass(kind, zonal.ZonalError)
        if kind is not zonal.ZonalError:
            assert len(kind.__mro__) > 4, f"{kind} should inherit a fitting built-in"
            assert kind.__name__ in (errors.__doc__ or ""), f"{kind} is missing in the drawn tree"


def test_packages_and_the_whole_face_are_there_after_one_import() -> None:
    code = (
        "import sys, zonal; assert 'zonal.session' not in sys.modules; "
        "assert set(zonal.__all__) <= set(dir(zonal)); "
        "print(zonal.geo.Circle is zonal.Circle, zonal.session.Session is zonal.Session)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_a_name_that_the_face_lacks_is_told() -> None:
    with pytest.raises(AttributeError, match="module 'zonal' has no attribute 'opne'"):
        _ = zonal.opne  # type: ignore[attr-defined]
