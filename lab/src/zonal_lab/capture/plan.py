"""What is to be captured: the same messages by plain Zenoh, every encoding, and MQTT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from zonal_lab.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class CaptureCase:
    """One way of sending: plain Zenoh, our session with an encoding, or MQTT with a QoS."""

    name: str
    title: str
    encoding: str | None = None
    qos: int | None = None
    geo: bool = False

    @property
    def is_mqtt(self) -> bool:
        """Whether a broker is between the two ends."""
        return self.qos is not None


CASES = (
    CaptureCase("zenoh", "Zenoh, plain"),
    *(
        CaptureCase(name, f"zonal session, {name}", encoding=name)
        for name in ("s2", "mgrs", "bloom", "json")
    ),
    *(CaptureCase(f"mqtt-{qos}", f"MQTT 3.1.1, QoS {qos}", qos=qos) for qos in (0, 1, 2)),
    *(
        CaptureCase(f"broker-{qos}", f"MQTT 5 with a geofence, QoS {qos}", qos=qos, geo=True)
        for qos in (0, 1)
    ),
)


@dataclass(frozen=True)
class CapturePlan:
    """So many messages of so many bytes in each case.

    Zenoh's two ends are peers of one another, or clients of a `zenohd` on the second host.
    """

    messages: int = 500
    size: int = 64
    routers: Literal["none", "zenohd"] = "none"
    seed: int = 1

    def __post_init__(self) -> None:
        if self.messages < 1 or self.size < 0:
            raise PlanError(
                f"a plan needs messages above 0 and bytes from 0 on, not {self.messages} and "
                f"{self.size}"
            )

    def cases(self) -> Iterator[CaptureCase]:
        """All cases."""
        yield from CASES
