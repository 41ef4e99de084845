"""A well-behaved pair of clients beside one that does its worst: how late its messages are."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import random
import socket
import struct
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.synchronize import Event

spawn = multiprocessing.get_context("spawn")

USER, PASSWORD = b"pair", b"right"
PACE_S = 0.004
"""Seconds between two messages of the pair."""


def text(value: bytes) -> bytes:
    return struct.pack(">H", len(value)) + value


def variable(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def packet(first: int, body: bytes) -> bytes:
    return bytes((first,)) + variable(len(body)) + body


def connect(name: bytes, password: bytes = PASSWORD) -> bytes:
    body = text(b"MQTT") + bytes((5, 0xC2)) + b"\0\0\0" + text(name) + text(USER) + text(password)
    return packet(0x10, body)


def opened(port: int, name: bytes) -> socket.socket:
    """A connection whose CONNACK was read."""
    link = socket.create_connection(("127.0.0.1", port))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.settimeout(20)
    link.sendall(connect(name))
    link.recv(4096)
    return link


def subscribe(link: socket.socket, topic: bytes) -> None:
    link.sendall(packet(0x82, b"\0\1\0" + text(topic) + b"\0"))
    link.recv(4096)


def pair(port: int, seconds: float, results: Any) -> None:
    """Messages one after the other: their delays in milliseconds, and how many were lost."""
    reader, writer = opened(port, b"pair-reader"), opened(port, b"pair-writer")
    subscribe(reader, b"pair/topic")
    delays, lost, number = [], 0, 0
    end = time.perf_counter() + seconds
    reader.settimeout(30)
    while time.perf_counter() < end:
        number += 1
        data = packet(0x30, text(b"pair/topic") + b"\0" + b"%08d" % number)
        began = time.perf_counter()
        writer.sendall(data)
        got = b""
        try:
            while len(got) < len(data):
                got += reader.recv(len(data) - len(got))
        except TimeoutError:
            lost += 1
            break
        lost += got != data
        delays.append(1000 * (time.perf_counter() - began))
        time.sleep(PACE_S)
    results.put((delays, lost))


# What attackers do until they are told to stop.


def _sending(port: int, noise: Callable[[int], bytes], stop: Event, *, read: bool) -> None:
    link = opened(port, b"bad")
    link.settimeout(0.2)
    number = 0
    while not stop.is_set():
        try:
            link.sendall(noise(number))
            number += 1
            if read:
                link.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while link.recv(1 << 20):
                        pass
                link.settimeout(0.2)
        except TimeoutError:
            continue
        except OSError:
            link = opened(port, b"bad")
            link.settimeout(0.2)


def ping(port: int, stop: Event) -> None:
    _sending(port, lambda _: b"\xc0\0" * 20_000, stop, read=True)


def fence(number: int) -> bytes:
    """A subscription to a geofence of 200 vertices, each its own."""
    ring = [
        f"{9 + number / 1e4 + 0.1 * math.cos(math.tau * n / 200):.6f} "
        f"{45 + 0.1 * math.sin(math.tau * n / 200):.6f}"
        for n in range(200)
    ]
    wkt = f"POLYGON (({', '.join([*ring, ring[0]])}))".encode()
    properties = b"\x26" + text(b"geofence") + text(wkt)
    body = b"\0\1" + variable(len(properties)) + properties + text(b"f/%d" % number) + b"\0"
    return packet(0x82, body)


def fences(port: int, stop: Event) -> None:
    _sending(port, lambda number: fence(number % 10_000), stop, read=True)


def unfinished(port: int, stop: Event) -> None:
    def noise(number: int) -> bytes:
        start = number * 200
        return b"".join(
            packet(0x34, text(b"q/2") + struct.pack(">H", (start + n) % 65535 + 1) + b"\0" + b"x")
            for n in range(200)
        )

    _sending(port, noise, stop, read=True)


def wrong_passwords(port: int, stop: Event) -> None:
    while not stop.is_set():
        began = time.perf_counter()
        with contextlib.suppress(OSError):
            link = socket.create_connection(("127.0.0.1", port), 1)
            link.settimeout(0.0005)
            link.sendall(connect(b"guess%d" % random.randrange(10**6), b"wrong"))
            with contextlib.suppress(OSError):
                link.recv(100)
            link.close()
        time.sleep(max(0.0, 0.002 - (time.perf_counter() - began)))


def never_reads(port: int, stop: Event) -> None:
    deaf, writer = opened(port, b"deaf"), opened(port, b"loud")
    subscribe(deaf, b"loud")
    writer.settimeout(0.2)
    noise = packet(0x30, text(b"loud") + b"\0" + b"x" * 1000) * 20
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            writer.sendall(noise)
    deaf.close()


def fuzz(port: int, stop: Event) -> None:
    """Packets of which some bytes were changed; the connection is opened again when it is lost."""
    chance = random.Random(1)
    seeds = [
        connect(b"x"), fence(1), packet(0x30, text(b"a/b") + b"\0x"), packet(0xA2, b"\0\1\0\0\1a"),
        packet(0x34, text(b"a/b") + b"\0\1\0x"), b"\xc0\0", packet(0x62, b"\0\1"),
    ]  # fmt: skip
    while not stop.is_set():
        with contextlib.suppress(OSError):
            link = opened(port, b"fuzz%d" % chance.randrange(50))
            link.settimeout(0.05)
            for _ in range(50):
                data = bytearray(chance.choice(seeds))
                for _ in range(chance.randrange(3)):
                    data[chance.randrange(len(data))] = chance.randrange(256)
                link.sendall(data)
            link.close()


ATTACKS: dict[str, Callable[[int, Event], None]] = {
    "PINGREQ without end": ping,
    "10,000 geofences of 200 vertices": fences,
    "QoS 2 that is never finished": unfinished,
    "500 wrong passwords a second": wrong_passwords,
    "a subscriber that never reads": never_reads,
    "fuzzed packets": fuzz,
}


def measure(port: int, seconds: float) -> tuple[list[float], int]:
    """The pair's delays and losses."""
    results = spawn.Queue()
    process = spawn.Process(target=pair, args=(port, seconds, results))
    process.start()
    found: tuple[list[float], int] = results.get(timeout=seconds + 60)
    process.join(10)
    return found


def attacked(port: int, seconds: float) -> Iterator[dict[str, Any]]:
    """How late the pair's messages are, alone and beside each attack."""
    for name, attack in ATTACKS.items():
        alone, _ = measure(port, seconds)
        stop = spawn.Event()
        process = spawn.Process(target=attack, args=(port, stop))
        process.start()
        try:
            time.sleep(1.0)
            delays, lost = measure(port, seconds)
        finally:
            stop.set()
            process.join(5)
            process.terminate()
        quiet, loud = (float(np.percentile(each, 99)) for each in (alone, delays))
        yield {
            "attack": name,
            "alone_p99_ms": round(quiet, 2),
            "attacked_p99_ms": round(loud, 2),
            "alone_p50_ms": round(float(np.median(alone)), 2),
            "attacked_p50_ms": round(float(np.median(delays)), 2),
            "ratio": round(loud / quiet, 1),
            "messages": len(delays),
            "lost": lost,
        }
