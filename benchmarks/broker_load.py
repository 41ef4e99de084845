"""Load for MQTT brokers, cheap enough not to be what is measured.

All messages of a run have one size, so a reader counts bytes, and acknowledges whole chunks with
arrays. A window, kept through shared counters, makes senders wait for receivers: nothing is dropped
by either broker, and the rate is what the broker can do.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import mqtt5
import numpy as np
import uvloop

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized
    from multiprocessing.synchronize import Event

QOS = (mqtt5.QoS.AT_MOST_ONCE, mqtt5.QoS.AT_LEAST_ONCE, mqtt5.QoS.EXACTLY_ONCE)
spawn = multiprocessing.get_context("spawn")


class Raw(asyncio.Protocol):
    """A connection after its handshake: `data_received` is replaced by who uses it."""

    def __init__(self) -> None:
        self.handshake = b""
        self.wanted = 0
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Handshake first, then `take`."""
        if self.ready.done():
            self.take(data)
            return
        self.handshake += data
        while self.handshake:
            try:
                _, size = mqtt5.read(memoryview(self.handshake))
            except IndexError:
                return
            self.handshake = self.handshake[size:]
            self.wanted -= 1
            if self.wanted == 0:
                self.ready.set_result(None)
                rest, self.handshake = self.handshake, b""
                if rest:
                    self.take(rest)
                return

    def take(self, data: bytes) -> None:
        """Bytes after the handshake."""


async def opened(make: type[Raw], port: int, client_id: str, topic: str | None, qos: int) -> Raw:
    """A connected and, where a topic is given, subscribed client."""
    _, raw = await asyncio.get_running_loop().create_connection(make, "127.0.0.1", port)
    packets = mqtt5.ConnectPacket(client_id, clean_start=True, keep_alive=600).write()
    raw.wanted = 1
    if topic is not None:
        asked = mqtt5.TopicFilter(topic, max_qos=QOS[qos], retain_as_published=False)
        packets += mqtt5.SubscribePacket(1, [asked]).write()
        raw.wanted = 2
    raw.transport.write(packets)
    await asyncio.wait_for(raw.ready, 30)
    return raw


class Counting(Raw):
    """Counts deliveries by their size and acknowledges those of QoS 1."""

    size = 0
    offset = 0
    qos = 0
    received: Synchronized[int]

    def __init__(self) -> None:
        super().__init__()
        self.rest = b""

    def take(self, data: bytes) -> None:
        """Frames of one size."""
        if self.rest:
            data = self.rest + data
        whole, left = divmod(len(data), self.size)
        self.rest = data[len(data) - left :] if left else b""
        if not whole:
            return
        if self.qos:
            frames = np.frombuffer(data, np.uint8, whole * self.size).reshape(whole, self.size)
            acks = np.empty((whole, 4), np.uint8)
            acks[:, 0], acks[:, 1] = 0x40, 2
            acks[:, 2:] = frames[:, self.offset : self.offset + 2]
            self.transport.write(acks.tobytes())
        self.received.value += whole


def subscribe(
    port: int, topic: str, qos: int, count: int, payload: int, received: Synchronized[int],
    ready: Event, stop: Event,
) -> None:  # fmt: skip
    """Process: subscribers that count into `received` until `stop`."""
    packet = mqtt5.PublishPacket(
        topic, b"x" * payload, qos=QOS[qos], packet_id=1 if qos else None
    ).write()
    kind = type(
        "Subscriber",
        (Counting,),
        {
            "size": len(packet),
            "offset": packet.index(topic.encode()) + len(topic),
            "qos": qos,
            "received": received,
        },
    )

    async def run() -> None:
        for number in range(count):
            await opened(kind, port, f"s{number}", topic, qos)
        ready.set()
        while not stop.is_set():  # noqa: ASYNC110 - the event is another process's
            await asyncio.sleep(0.02)

    uvloop.run(run())


class Acknowledged(Raw):
    """Counts PUBACKs (their sizes differ between brokers, so they are parsed)."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.rest = b""

    def take(self, data: bytes) -> None:
        """PUBACKs, with or without a reason code."""
        data = self.rest + data
        position = 0
        while position + 1 < len(data):
            end = position + 2 + data[position + 1]
            if end > len(data):
                break
            self.count += 1
            position = end
        self.rest = data[position:]


def publish(
    port: int, topic: str, qos: int, count: int, payload: int, fan_out: int, window: int,
    received: Synchronized[int], sent: Synchronized[int], ready: Event, stop: Event,
) -> None:  # fmt: skip
    """Process: publishers that keep `window` deliveries under way until `stop`."""
    burst = max(1, window // fan_out // 4)
    head = mqtt5.PublishPacket(
        topic, b"x" * payload, qos=QOS[qos], packet_id=1 if qos else None
    ).write()
    cut = head.index(topic.encode()) + len(topic)

    async def run() -> None:
        clients = [
            await opened(Acknowledged, port, f"p{number}", None, qos) for number in range(count)
        ]
        each = max(1, burst // count)
        ids = [0] * count
        quota = 200
        ready.set()
        total = 0
        while not stop.is_set():
            progress = False
            for number, client in enumerate(clients):
                if total * fan_out - received.value >= window:
                    break
                if qos and ids[number] - client.count > quota - each:
                    continue
                progress = True
                if qos == 0:
                    client.transport.write(head * each)
                else:
                    client.transport.write(
                        b"".join(
                            head[:cut] + ((ids[number] + n) % 65535 + 1).to_bytes(2, "big")
                            + head[cut + 2 :]
                            for n in range(each)
                        )
                    )  # fmt: skip
                    ids[number] += each
                total += each
                sent.value = total
            await asyncio.sleep(0 if progress else 0.0005)

    uvloop.run(run())


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Rate(NamedTuple):
    """What a broker did, and what it cost it: the cost hardly depends on who else is running."""

    per_s: float
    cpu_us: float
    """CPU time of the broker for each delivery."""


def rate(port: int, pid: int, *, publishers: int, subscribers: int, qos: int, payload: int = 256,
         seconds: float = 4.0, window: int = 20_000) -> Rate:  # fmt: skip
    """Deliveries per second through a broker."""
    topic = "bench/fan"
    received: Synchronized[int] = spawn.Value("q", 0, lock=False)  # type: ignore[assignment]
    sent: Synchronized[int] = spawn.Value("q", 0, lock=False)  # type: ignore[assignment]
    listening, sending, stop = spawn.Event(), spawn.Event(), spawn.Event()
    processes = [
        spawn.Process(
            target=subscribe,
            args=(port, topic, qos, subscribers, payload, received, listening, stop),
        )
    ]
    processes[0].start()
    try:
        assert listening.wait(60)
        processes.append(
            spawn.Process(
                target=publish,
                args=(port, topic, qos, publishers, payload, subscribers, window, received, sent,
                      sending, stop),
            )
        )  # fmt: skip
        processes[1].start()
        assert sending.wait(60)
        time.sleep(1.0)  # warm-up: buffers and caches fill
        before, start, cpu = received.value, time.perf_counter(), cpu_seconds(pid)
        time.sleep(seconds)
        count, took = received.value - before, time.perf_counter() - start
        result = Rate(count / took, (cpu_seconds(pid) - cpu) / max(1, count) * 1e6)
        stop.set()
    finally:
        stop.set()
        for process in processes:
            process.join(10)
            if process.is_alive():
                process.kill()
    return result


def hold(port: int, count: int, ready: Event, stop: Event) -> None:
    """Process: idle connections."""

    async def run() -> None:
        for number in range(count):
            await opened(Raw, port, f"idle{number}", None, 0)
        ready.set()
        while not stop.is_set():  # noqa: ASYNC110 - the event is another process's
            await asyncio.sleep(0.05)

    uvloop.run(run())
