"""One reader's stream: at once where the connection takes it, else in order from the queue."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.web import WebLimits
from zonal.web.stream import Stream, framed


class Connection:
    """Takes chunks until it is held up; the task's writes wait for room as a server's do."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.room = asyncio.Event()
        self.room.set()

    def write(self, chunk: bytes) -> bool:
        if self.room.is_set():
            self.written.append(chunk)
        return self.room.is_set()

    async def send(self, data: bytes) -> None:
        await self.room.wait()
        self.written.append(framed(data))


async def write_out(stream: Stream, connection: Connection) -> None:
    while data := await stream.take():
        await connection.send(data)


def events_in(connection: Connection) -> list[bytes]:
    text = b"".join(
        chunk.partition(b"\r\n")[2].removesuffix(b"\r\n") for chunk in connection.written
    )
    return [part for part in text.split(b"\n\n") if part]


@examples(60)
@given(st.lists(st.sampled_from(["event", "hold", "resume", "turn"]), max_size=60))
def test_no_event_is_lost_doubled_or_overtaken(steps: list[str]) -> None:
    async def run() -> None:
        stream, connection = Stream(WebLimits(stream_events=1_000), None, 0.0), Connection()
        stream.write = connection.write
        task, sent = asyncio.create_task(write_out(stream, connection)), 0
        for step in steps:
            match step:
                case "event":
                    stream.offer(b"%d\n\n" % sent)
                    sent += 1
                case "hold":
                    connection.room.clear()
                case "resume":
                    connection.room.set()
                case "turn":
                    await asyncio.sleep(0)
        connection.room.set()
        stream.close()
        await asyncio.wait_for(task, 5)
        assert events_in(connection) == [b"%d" % number for number in range(sent)]
        assert stream.written == sent

    asyncio.run(run())


async def test_while_the_task_waits_an_event_is_written_without_waking_it() -> None:
    stream, connection = Stream(WebLimits(stream_events=10), None, 0.0), Connection()
    stream.write = connection.write
    task = asyncio.create_task(write_out(stream, connection))
    await asyncio.sleep(0)
    stream.offer(b"now\n\n")
    assert connection.written == [b"5\r\nnow\n\n\r\n"]
    stream.close()
    await task


async def test_what_a_held_up_connection_has_no_room_for_is_counted_and_told() -> None:
    stream, connection = Stream(WebLimits(stream_events=3), None, 0.0), Connection()
    stream.write = connection.write
    task = asyncio.create_task(write_out(stream, connection))
    await asyncio.sleep(0)
    connection.room.clear()
    for number in range(8):
        stream.offer(b"%d\n\n" % number)
    connection.room.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    stream.offer(b"later\n\n")
    stream.close()
    await task
    assert stream.dropped == 5
    assert events_in(connection)[:3] == [b"5", b"6", b"7"]
    assert b"overflow" in events_in(connection)[3]
    assert events_in(connection)[-1] == b"later"


def test_quiet_is_counted_from_the_last_event() -> None:
    stream = Stream(WebLimits(stream_events=10), None, 0.0)
    assert stream.quiet_for(5.0) == 5.0
    stream.written += 1
    assert stream.quiet_for(6.0) == 0.0
    assert stream.quiet_for(9.0) == 3.0
