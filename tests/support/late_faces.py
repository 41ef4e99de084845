"""What a face that loads late has to hold, see `zonal.face`."""

import importlib
import pkgutil

import pytest


def check_face(name: str) -> None:
    """Every name that it lists is there, no other, and none is a module as well."""
    face = importlib.import_module(name)
    assert [each for each in face.__all__ if not hasattr(face, each)] == []
    with pytest.raises(AttributeError, match="has no attribute 'nothing_of_the_kind'"):
        _ = face.nothing_of_the_kind
    # Else it would be the module or what is in it, by who was first.
    modules = {each.name for each in pkgutil.iter_modules(face.__path__)}
    assert modules.isdisjoint(face.__all__)
