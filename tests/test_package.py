from __future__ import annotations

import importlib

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
