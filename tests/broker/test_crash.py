"""`kill -9` in the middle of QoS 1 and 2 traffic: nothing promised is lost, nothing doubled."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_devices import Receiver, Sender
from broker_process import BrokerProcess


async def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the conditions are counts, there is no event
            await asyncio.sleep(0.005)


async def kill_repeatedly(folder: Path, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    first = BrokerProcess("--data", str(folder))
    await asyncio.to_thread(first.start)
    port = first.port
    broker = first
    receivers = [Receiver(f"receiver-{n}", port) for n in range(2)]
    senders = [Sender(f"sender-{n}", port) for n in range(3)]
    tasks = [asyncio.create_task(device.run()) for device in receivers]
    try:
        for receiver in receivers:
            await asyncio.wait_for(receiver.ready.wait(), 15)
        tasks += [asyncio.create_task(device.run()) for device in senders]
        for _ in range(kills):
            goal = sum(len(r.accepted[2]) for r in receivers) + rng.randint(20, 200)
            await until(lambda goal=goal: sum(len(r.accepted[2]) for r in receivers) >= goal)
            await asyncio.sleep(rng.random() * 0.02)
            broker.kill()
            broker = BrokerProcess("--data", str(folder), port=port)
            await asyncio.to_thread(broker.start)
        for sender in senders:
            sender.producing = False
        await until(lambda: not any(sender.pending for sender in senders))
        expected = {
            qos: {
                f"{s.client_id} {number}".encode() for s in senders for number in s.completed[qos]
            }
            for qos in (1, 2)
        }
        await until(
            lambda: all(set(r.accepted[q]) >= expected[q] for r in receivers for q in (1, 2))
        )
        for receiver in receivers:
            assert len(receiver.accepted[2]) == len(set(receiver.accepted[2])), "a QoS 2 double"
            assert set(receiver.accepted[2]) == expected[2]
        assert not any(device.sessions_lost for device in [*receivers, *senders])
        assert len(expected[2]) > kills * 10
    finally:
        for device in [*receivers, *senders]:
            device.stop()
        await asyncio.gather(*tasks, return_exceptions=True)
        broker.stop()


async def test_nothing_promised_is_lost_or_doubled(tmp_path: Path) -> None:
    await kill_repeatedly(tmp_path, 3, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(1500)
async def test_nothing_promised_is_lost_or_doubled_in_a_hundred_crashes(tmp_path: Path) -> None:
    await kill_repeatedly(tmp_path, 100, seed=2)
