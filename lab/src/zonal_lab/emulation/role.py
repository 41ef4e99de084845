"""What every role in a node shares: orders in, answers out, one JSON object a line."""

from __future__ import annotations

import json
import resource
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Answer: TypeAlias = "Callable[..., dict[str, Any]]"


class Role(Protocol):
    """A role answers orders: a method per order, keyword arguments in, a JSON object out."""

    def obey(self, order: str, **details: Any) -> dict[str, Any]:
        """Carry an order out."""


class EndRole(ABC):
    """A role that holds one end of a connection, if any; besides its orders: read and close."""

    def __init__(self) -> None:
        self._end: Any = None

    @abstractmethod
    def orders(self) -> dict[str, Answer]:
        """The method for each order."""

    def obey(self, order: str, **details: Any) -> dict[str, Any]:
        """Carry an order out."""
        known = {"read": read_counters, "close": self.close, **self.orders()}
        return known[order](**details)

    def close(self) -> dict[str, Any]:
        """Close the end."""
        end, self._end = self._end, None
        if end is not None:
            end.close()
        return {}


def serve(role: Role) -> None:
    """Answer orders from standard input until it ends; errors are answers too."""
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = role.obey(order.pop("do"), **order)
        except Exception as error:  # noqa: BLE001 - whatever failed, the lab must hear of it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def read_counters() -> dict[str, float]:
    """What this node's card has carried and this process has used so far."""
    return {**card_counts(), "cpu_seconds": cpu_seconds()}


def card_counts() -> dict[str, int]:
    """Bytes and packets that this node's card has received and sent."""
    for line in Path("/proc/self/net/dev").read_text(encoding="ascii").splitlines():
        device, _, numbers = line.partition(":")
        if device.strip() == "eth0":
            counts = [int(each) for each in numbers.split()]
            names = ("received_bytes", "received_packets", "sent_bytes", "sent_packets")
            return dict(zip(names, (counts[0], counts[1], counts[8], counts[9]), strict=True))
    return {}


def cpu_seconds() -> float:
    """Processor time that this process has used."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
