import pytest

from late_faces import check_face


@pytest.mark.parametrize(
    "name",
    [
        "capture", "discovery", "emulation", "geobroker", "index", "latency", "location", "peers",
        "psvr", "reliability", "scale",
    ],
)  # fmt: skip
def test_every_name_of_a_face_that_loads_late_is_there(name: str) -> None:
    check_face(f"zonal_lab.{name}")
