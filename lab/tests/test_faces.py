"""Faces that load late have what they list, from where it is."""

import importlib

import pytest

LATE = [
    "capture", "discovery", "emulation", "geobroker", "index", "latency", "location", "peers",
    "psvr", "reliability", "scale",
]  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_every_name_of_a_face_that_loads_late_is_there(name: str) -> None:
    face = importlib.import_module(f"zonal_lab.{name}")
    assert [each for each in face.__all__ if not hasattr(face, each)] == []
    with pytest.raises(AttributeError, match="has no attribute 'nothing_of_the_kind'"):
        _ = face.nothing_of_the_kind
