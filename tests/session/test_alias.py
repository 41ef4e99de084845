"""Messages from blurred places cannot be linked with those from exact ones."""

from __future__ import annotations

import zonal
from network import client, eventually, router_row
from zonal.geo import Point
from zonal.session.sample import Sample

DUOMO = Point(45.4642, 9.19)


def test_blurred_and_exact_messages_have_no_id_in_common() -> None:
    with router_row(1) as (router,), client(router) as receiver, client(router) as walker:
        heard: list[Sample] = []
        receiver.declare_subscriber("t", heard.append, area=zonal.Circle(DUOMO, radius_m=20_000))
        coarse = walker.declare_publisher("t", location=DUOMO, precision_m=500)
        exact = walker.declare_publisher("t", location=DUOMO)

        def send() -> bool:
            walker.put("t", "exact", location=DUOMO)
            exact.put("exact")
            walker.put("t", "blurred", location=DUOMO, precision_m=500)
            coarse.put("blurred")
            walker.delete("t", location=DUOMO, precision_m=500)
            return len(heard) >= 20

        eventually(send)
        blurred = [sample for sample in heard if sample.is_blurred]
        others = [sample for sample in heard if not sample.is_blurred]
        assert len({sample.source.id for sample in blurred if sample.source}) == 1
        for ids in ("source", "stamp"):
            assert not _ids(blurred, ids) & _ids(others, ids)
        identities = [(sample.source, sample.text) for sample in blurred]
        assert len(set(identities)) == len(identities)  # copies are told apart still


def _ids(samples: list[Sample], kind: str) -> set[str]:
    if kind == "source":
        return {sample.source.id for sample in samples if sample.source is not None}
    return {str(sample.timestamp.get_id()) for sample in samples if sample.timestamp is not None}
