"""Figure 8: delivery over the radio model, PSVR beside Shen."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from zonal.mesh import (
    MeshConfig,
    Psvr,
    Simulation,
)
from zonal_lab.experiment import Claim, Unit, new_figure, panels, save_figure, table
from zonal_lab.psvr.channels import RadioChannel
from zonal_lab.psvr.parts.part import (
    CHANNEL,
    SCHEME_COLOURS,
    SCHEME_NAMES,
    WORK,
    Part,
    Row,
    drawn_share,
    grouped,
    product,
    share_of,
)
from zonal_lab.psvr.peers import Shen
from zonal_lab.psvr.plane import random_points

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from zonal_lab.experiment import Draw
    from zonal_lab.psvr.plan import PsvrPlan, Recordings

_IDENTICAL = 5.0


def _delivery_tasks(plan: PsvrPlan, data: Recordings, n: int) -> list[Row]:
    del data, n
    quick = plan.quick
    points = product(
        8 * plan.seed,
        1 if quick else 2,
        n=(20,) if quick else (50,),
        s=(5,) if quick else (10,),
        side=(25, 35) if quick else (70, 120, 180, 240),
        warm=(90,) if quick else (120,),
        publications=(20,) if quick else (60,),
    )
    return [task | {"scheme": scheme} for task in points for scheme in SCHEME_NAMES]


def radio_delivery(task: Row) -> Row:
    """Delivery of a running network over the radio model, with PSVR or with Shen."""
    rng = random.Random(task["seed"])
    points = random_points(task["n"], task["side"], rng)
    routing = Psvr if task["scheme"] == "psvr" else Shen
    config = MeshConfig(write_back=6)
    sim = Simulation(RadioChannel(points, seed=task["seed"]), config, routing=routing)
    names = sorted(sim.nodes)
    subscribers = set(rng.sample(names, task["s"]))
    for node in subscribers:
        sim.subscribe(node, CHANNEL)
    sim.run(task["warm"])
    records = []
    for _ in range(task["publications"]):
        records.append(sim.publish(rng.choice(names), CHANNEL))
        sim.run(sim.now + 1)
    sim.run(sim.now + 3)
    return task | {
        "wanted": sum(len(subscribers - {r.origin}) for r in records),
        "got": sum(len(r.deliveries) for r in records),
        "degree": sum(len(node.links.used) for node in sim.nodes.values()) / len(names),
    }


def _delivery_claims(rows: Sequence[Row]) -> Iterator[Claim]:
    by = {name: [row for row in rows if row["scheme"] == name] for name in SCHEME_NAMES}

    def apart(draw: Draw) -> float:
        ours, theirs = (drawn_share(draw, by[name], "got", "wanted") for name in ("psvr", "shen"))
        return ours - theirs

    yield Claim(
        WORK, "5.2, figure 8", f"delivery within {_IDENTICAL:g} points of Shen's",
        "close to identical", Unit.POINTS, apart, least=-_IDENTICAL, most=_IDENTICAL,
    )  # fmt: skip


def _delivery_section(rows: Sequence[Row], picture: Path) -> Iterator[str]:
    figure = new_figure(9, 4.6)
    (axes,) = panels(figure, 1, 1)
    for (scheme,), part in grouped(rows, "scheme").items():
        by_side = grouped(part, "side")
        density = [1000 * part[0]["n"] / side**2 for (side,) in by_side]
        shares = [share_of(group, "got", "wanted") for group in by_side.values()]
        axes.plot(
            density, shares, marker="o", color=SCHEME_COLOURS[scheme], label=SCHEME_NAMES[scheme]
        )
    axes.set_ylim(0, 102)
    axes.set_xlabel("nodes per 1,000 m²")
    axes.set_ylabel("publications delivered in %")
    axes.legend()
    save_figure(figure, picture)
    yield "Radio model with path loss and slow fading, without acknowledgement."
    yield ""
    yield from table(
        ("side in m", "networks", *(f"{name} delivered" for name in SCHEME_NAMES.values())),
        (
            (
                f"{side:g}",
                str(len(part) // len(SCHEME_NAMES)),
                *(
                    f"{share_of([r for r in part if r['scheme'] == each], 'got', 'wanted'):.1f} %"
                    for each in SCHEME_NAMES
                ),
            )
            for (side,), part in grouped(rows, "side").items()
        ),
        right=0,
    )


DELIVERY = Part(
    "delivery",
    "Figure 8: delivery by density, radio model",
    _delivery_tasks,
    radio_delivery,
    _delivery_section,
    _delivery_claims,
)
