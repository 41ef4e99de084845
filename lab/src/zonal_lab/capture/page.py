"""The page on bytes per message: means over all frames that the sender's card let out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from zonal_lab.capture.plan import CASES
from zonal_lab.capture.trial import FRAMES
from zonal_lab.experiment import table, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from zonal_lab.capture.plan import CaptureCase
    from zonal_lab.experiment import Results


@dataclass(frozen=True)
class MessageBytes:
    """What the sender's card carried for one message on average."""

    case: str
    title: str
    frames: float
    frame_bytes: float
    tcp_bytes: float


_TO = {
    "none": "Zenoh's sender is a peer of the receiver.",
    "zenohd": "Zenoh's sender and receiver are clients of a router on the receiver's host.",
}


def page(results: Results, folder: Path, name: str) -> Iterator[str]:
    """The page's lines; its rows go into the folder as JSON."""
    plan = results.manifest()["plan"]
    done = {record.name for record in results.records()}
    rows = [measured(results, case, plan["messages"]) for case in CASES if case.name in done]
    write_rows(rows, folder / f"{name}.json")
    yield (
        f"{plan['messages']} messages of {plan['size']} bytes on the topic `city/airquality`, "
        "4 ms apart, over TCP; a raw socket on the sender's card "
        "counts what leaves it: whole frames with a TCP payload (Ethernet, IP and TCP headers "
        "included, acknowledgements of TCP not), and the TCP payload alone. "
        f"{_TO[plan.get('routers', 'none')]} For MQTT the "
        "acknowledgements that the sender itself owes at QoS 2 are in it. Keep-alives that fall "
        "into the time are, too, and declarations of keys."
    )
    yield ""
    plain = next((row.tcp_bytes for row in rows if row.case == "zenoh"), 0.0)
    yield from table(
        ("", "frames", "bytes with headers", "TCP payload", "beyond the payload", "to Zenoh's"),
        (
            (
                row.title,
                f"{row.frames:.2f}",
                f"{row.frame_bytes:.1f}",
                f"{row.tcp_bytes:.1f}",
                f"{row.tcp_bytes - plan['size']:.1f}",
                f"{row.tcp_bytes - plain:+.1f}",
            )
            for row in rows
        ),
    )


def measured(results: Results, case: CaptureCase, messages: int) -> MessageBytes:
    """What one message of a case took on average; `messages` were sent."""
    frames = pq.read_table(results.folder / FRAMES / f"{case.name}.parquet")
    whole, payload = (frames[column].to_numpy() for column in ("frame_bytes", "payload_bytes"))
    return MessageBytes(
        case.name,
        case.title,
        len(frames) / messages,
        float(whole.sum()) / messages,
        float(payload.sum()) / messages,
    )
