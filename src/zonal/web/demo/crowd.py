"""Those who speak Zenoh: stations, cars, and phones that listen where they are."""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

import zonal
from zonal.web.demo import topics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from zonal.geo import Point
    from zonal.session import Sample, Session
    from zonal.web.demo.city import City, Walker

JSON = "application/json"
_POSITION_LIVES_S = 2.0


class StoryClock:
    """Seconds since the story began."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def __call__(self) -> float:
        """The time of the story, in seconds."""
        return time.monotonic() - self._start

    def go_to(self, seconds: float) -> None:
        """Go on from another moment of the story."""
        self._start = time.monotonic() - seconds


class Repeated:
    """Calls something at a steady pace in a thread; late rounds are not caught up with."""

    def __init__(self, every_s: float, action: Callable[[], None], name: str) -> None:
        self._every_s = every_s
        self._action = action
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            self._action()
            due = max(due + self._every_s, time.monotonic() - self._every_s)

    def close(self) -> None:
        """Stop, and wait for the round that is running."""
        self._ended.set()
        self._thread.join()


class Crowd:
    """All of them, each kind at its own pace, connected to one of some routers each."""

    def __init__(self, city: City, clock: StoryClock, connect: Sequence[str]) -> None:
        self._city = city
        self._clock = clock
        self._connect = list(connect)
        self._stack = ExitStack()

    def start(self, walkers: Sequence[Walker]) -> Self:
        """Begin to send; these walkers speak Zenoh."""
        stations, fleet = self._session(), self._session()
        phones = [_Phone(walker, self._clock, self._session) for walker in walkers]
        for phone in phones:
            self._stack.callback(phone.close)
        self._repeat(1.0, "stations", lambda: self._stations(stations))
        self._repeat(0.5, "cars", lambda: self._cars(fleet))
        self._repeat(2.0, "phones", lambda: self._phones(phones))
        return self

    def _repeat(self, every_s: float, name: str, action: Callable[[], None]) -> None:
        self._stack.callback(Repeated(every_s, action, f"demo-{name}").close)

    def _session(self, **options: Any) -> Session:
        session = zonal.open(zonal.config("client", connect=self._connect), **options)
        return self._stack.enter_context(session)

    def _stations(self, session: Session) -> None:
        now = self._clock()
        for sensor in self._city.sensors:
            message = {"id": sensor.id, "kind": "sensor", "pm10": sensor.pm10(now)}
            _put(session, topics.AIR, message, location=sensor.place)

    def _cars(self, session: Session) -> None:
        now = self._clock()
        for car in self._city.cars:
            kmh, heading = round(abs(car.speed_ms) * 3.6), round(car.heading(now))
            message = {"id": car.id, "kind": "car", "kmh": kmh, "heading": heading}
            _put(session, topics.CARS, message, location=car.place(now))

    def _phones(self, phones: Sequence[_Phone]) -> None:
        for phone in phones:
            phone.send()

    def close(self) -> None:
        """Stop sending, and end all sessions."""
        self._stack.close()


class _Phone:
    """A session at a place: hears alerts and messages whose fence it is in, and says so."""

    def __init__(
        self, walker: Walker, clock: StoryClock, open_session: Callable[..., Session]
    ) -> None:
        self._walker = walker
        self._clock = clock
        self._session = open_session(position=self._place, lifetime=_POSITION_LIVES_S)
        self._subscribers = [
            self._session.declare_subscriber(key, self._hear, encoding="s2")
            for key in (topics.ALERTS, topics.NOTICES)
        ]

    def _place(self) -> Point:
        return self._walker.place(self._clock())

    def send(self) -> None:
        message = {"id": self._walker.id, "kind": "phone", "speaks": "Zenoh"}
        _put(self._session, topics.PHONES, message)

    def _hear(self, sample: Sample) -> None:
        answer = heard_message(self._walker.id, sample.payload.to_bytes())
        _put(self._session, topics.HEARD, answer)

    def close(self) -> None:
        for subscriber in self._subscribers:
            subscriber.undeclare()


def _put(session: Session, key: str, message: dict[str, Any], **options: Any) -> None:
    session.put(key, json.dumps(message), content_encoding=JSON, **options)


def heard_message(listener: str, payload: bytes) -> dict[str, Any]:
    """That a listener heard an alert or a notice, which is named by its id or zone and time."""
    try:
        heard = json.loads(payload)
        name = str(heard.get("id") or f"{heard.get('zone')}@{heard.get('since')}")
    except (ValueError, AttributeError):
        name = ""  # somebody's text that is no JSON
    return {"id": listener, "message": name}
