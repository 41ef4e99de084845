"""Attacks that take a while, on the doors of a city; a program of its own, until its input ends."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
from collections import Counter
from pathlib import Path

import httpx

from city import City
from network import eventually

BEGIN_S = 60.0
COUNTS: Counter[str] = Counter()
"""What got so far as to be answered, or taken."""


def slow_heads(city: City, stop: threading.Event) -> None:
    """300 connections that send a byte now and then, half of them before TLS."""
    with contextlib.ExitStack() as stack:
        opened = []
        for port in [city.web_port, city.mqtt_port] * 150:
            with contextlib.suppress(OSError):
                opened.append(
                    stack.enter_context(
                        socket.create_connection(("127.0.0.1", port), 5, ("127.0.0.2", 0))
                    )
                )
        while not stop.wait(0.5):
            for connection in opened:
                with contextlib.suppress(OSError):
                    COUNTS["slow_heads"] += connection.send(b"\x16")


def wrong_tokens(city: City, stop: threading.Event) -> None:
    """Requests as fast as they go, without a right to any."""
    transport = httpx.HTTPTransport(verify=city.trusted, local_address="127.0.0.3")
    with httpx.Client(base_url=f"https://127.0.0.1:{city.web_port}", transport=transport) as client:
        while not stop.is_set():
            with contextlib.suppress(httpx.TransportError):
                answer = client.get("/city/**", headers={"authorization": "Bearer x"})
                COUNTS["wrong_tokens"] += 1
                assert answer.status_code in (401, 429)


def wrong_passwords(city: City, stop: threading.Event) -> None:
    """Logins with wrong passwords, which cost a slow hash each."""
    packet = bytes.fromhex(
        "10 1b 0004 4d515454 05 c2 003c 00 0001 78 0004 616e6e61 0005 77726f6e67"
    )
    while not stop.is_set():
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", city.mqtt_port), 5, ("127.0.0.4", 0)) as raw,
            city.trusted.wrap_socket(raw, server_hostname="localhost") as connection,
        ):
            connection.sendall(packet)
            connection.recv(100)
            COUNTS["wrong_passwords"] += 1


def strangers_on_zenoh(city: City, stop: threading.Event) -> None:
    """Garbage and half handshakes at the router."""
    while not stop.wait(0.01):
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", city.zenoh_port), 5, ("127.0.0.5", 0)) as raw,
        ):
            raw.sendall(b"\x16\x03\x01" + b"\xff" * 500)
            COUNTS["strangers_on_zenoh"] += 1


def readers_who_do_not_read(city: City, stop: threading.Event) -> None:
    """A right token, and as many streams as one address gets, of which nothing is taken."""
    path = "/city/air/9" + "?lat=45.4642&long=9.19&shape=circle&r="
    with contextlib.ExitStack() as stack:
        for number in range(150):
            head = f"GET {path}{number % 40 + 1} HTTP/1.1\r\nhost: localhost\r\n"
            head += f"authorization: Bearer {city.token}\r\naccept: text/event-stream\r\n\r\n"
            with contextlib.suppress(OSError):
                raw = socket.create_connection(("127.0.0.1", city.web_port), 5, ("127.0.0.6", 0))
                stack.enter_context(raw)
                secured = city.trusted.wrap_socket(raw, server_hostname="localhost")
                stack.enter_context(secured)
                secured.sendall(head.encode())
                COUNTS["readers_who_do_not_read"] += 1
            if stop.is_set():
                return
        stop.wait()


ATTACKS = (
    slow_heads,
    wrong_tokens,
    wrong_passwords,
    strangers_on_zenoh,
    readers_who_do_not_read,
)


def main() -> None:
    os.nice(10)  # as if it were another machine
    city, stop = City.of(Path(sys.argv[1])), threading.Event()
    names = sys.argv[2:]  # without any: all
    chosen = [attack for attack in ATTACKS if not names or attack.__name__ in names]
    threads = [threading.Thread(target=attack, args=(city, stop)) for attack in chosen]
    for thread in threads:
        thread.start()
    # A nice process on a busy machine takes its time, and an attack is one when it is answered.
    with contextlib.suppress(AssertionError):
        eventually(lambda: all(COUNTS[attack.__name__] for attack in chosen), BEGIN_S)
    print("begun", flush=True)
    sys.stdin.read()
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps(COUNTS))


if __name__ == "__main__":
    main()
