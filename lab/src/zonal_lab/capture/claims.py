"""What is said about the bytes of a message, as functions of the captured frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal_lab.capture.page import measured
from zonal_lab.capture.plan import CASES
from zonal_lab.experiment import OURS, Claim, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from zonal_lab.experiment import Draw, Results

_MOST_BYTES = 32


def claims(results: Results) -> Iterator[Claim]:
    """Zenoh's overhead, and that of a place; the size of a message does not come from chance."""
    plan = results.manifest()["plan"]
    done = {record.name for record in results.records()}
    cases = {case.name: case for case in CASES if case.name in done}

    def beyond(name: str) -> float:
        if name not in cases:
            raise LookupError(name)
        found = measured(results, cases[name], plan["messages"])
        return found.tcp_bytes - float(plan["size"])

    def figure(name: str, base: str | None = None) -> Callable[[Draw], float]:
        return lambda _: beyond(name) - (beyond(base) if base else 0.0)

    yield Claim(
        OURS, "capture", f"a place in s2 costs at most {_MOST_BYTES} bytes a message more than "
        "plain Zenoh", "", Unit.BYTES, figure("s2", "zenoh"), most=_MOST_BYTES, exact=True,
    )  # fmt: skip
    yield Claim(
        "Barón 2024", "3, citing Zenoh's authors",
        "Zenoh adds at most 5 bytes to a payload (declared key, one message a TCP segment)",
        "5 bytes", Unit.BYTES, figure("zenoh"), most=5, exact=True,
    )  # fmt: skip
