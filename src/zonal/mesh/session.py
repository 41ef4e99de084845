"""Location-aware channels over the ring: `zonal.mesh.open`, with the names of the Zenoh session."""

from __future__ import annotations

import contextlib
import queue
import secrets
import socket
import threading
import time
from collections import deque
from concurrent.futures import Future
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from zonal.errors import ClosedError, MeshError, PacketError, PositionError
from zonal.geo import Circle, GivenArea, GivenPoint, Point, as_area, as_point
from zonal.mesh.config import MeshConfig
from zonal.mesh.envelope import MeshEnvelope
from zonal.mesh.fragments import Reassembly, fragments_of, is_fragment
from zonal.mesh.lock import PacketLock
from zonal.mesh.node import MeshNode
from zonal.mesh.status import MeshStatus, status_of
from zonal.mesh.subscriber import MeshSample, MeshSubscriber
from zonal.mesh.supervisor import Supervisor
from zonal.mesh.topics import channels_for, channels_of, check_pattern, check_topic
from zonal.mesh.udp import Address, UdpDriver
from zonal.mesh.wire import MAX_NUMBER, check_publication
from zonal.runtime import CallbackThreads, is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from zonal.mesh.discovery import Discovery
    from zonal.mesh.packets import Deliver

_ANSWER_S = 10.0  # a node's thread is busy for milliseconds

_AT_A_TIME = 8  # fragments in half the time that an acknowledgement may take
_MOST_FRAGMENTS = 1024
_MOST_REQUESTS = 4096
_LONGEST_S = 0.5  # that the node's thread sleeps

PositionSource: TypeAlias = "GivenPoint | Callable[[], GivenPoint] | None"


class MeshSession:
    """One node of a mesh, driven by its own thread: put and subscribe where there are no routers.

    Whatever that thread meets is logged, and the node goes on; where it cannot (every turn fails),
    it stops, and every call from then on raises `MeshError` with the reason.

    Args:
        node_id: its identifier, unique in the mesh; None draws one of four billion.
        listen: address and port; port 0 takes a free one.
        peers: the nodes in radio reach, that is: whose datagrams arrive, and where they listen; to
            be changed with `set_peers` as neighbours come and go.
        position: where the node is, or a function that says it.
        config: the same for all nodes of a mesh; by default with acknowledgement.
        discovery: where to look for neighbours by multicast, beside those that are named; None:
            nowhere. It is closed with the session.
        key: 16 octets or more that all nodes of the mesh know: then nobody else is heard.
        insecure: take packets of anybody in reach from beyond this machine; without it and
            without a key that is refused with `MeshError`.
    """

    def __init__(
        self,
        node_id: int | None = None,
        *,
        listen: Address = ("127.0.0.1", 0),
        peers: Mapping[int, Address] | None = None,
        position: PositionSource = None,
        config: MeshConfig | None = None,
        discovery: Discovery | None = None,
        key: bytes | None = None,
        insecure: bool = False,
    ) -> None:
        if key is None and not (insecure or _is_local(listen, discovery)):
            if discovery is not None:
                discovery.close()
            raise MeshError(
                "anybody in reach could speak to this node: give all nodes a key, stay on this "
                "machine, or say that it is meant so (insecure)"
            )
        self.config = config or MeshConfig(acknowledged=True, write_back=6)
        self._position = position
        self._own = self._locate()
        if node_id is None:
            node_id = secrets.randbelow(MAX_NUMBER)
        node = MeshNode(node_id, self.config, seed=secrets.randbits(31), now=time.monotonic())
        self._driver = UdpDriver(
            node, address=listen, deliver=self._delivered, discovery=discovery,
            lock=None if key is None else PacketLock(key),
        )  # fmt: skip
        self._driver.set_peers(peers or {})
        self._subscribers: list[MeshSubscriber] = []
        self._lock = threading.RLock()
        self._commands: queue.Queue[Callable[[], None]] = queue.Queue(_MOST_REQUESTS)
        self._new_wishes = threading.Event()
        self._bell, self._listener = socket.socketpair()
        for end in (self._bell, self._listener):
            end.setblocking(False)
        self._closed = threading.Event()
        self._threads = CallbackThreads(f"mesh-{node_id}")
        self.refused = 0
        self._reassembly = Reassembly()
        self._outbox: deque[tuple[tuple[int, ...], bytes]] = deque()
        self._send_at = 0.0
        self._numbers = count(secrets.randbits(31))
        self._supervisor = Supervisor(f"mesh-{node_id}", self._turn, stopped=self._stopped)
        self._supervisor.start()

    @property
    def id(self) -> int:
        """The node's identifier."""
        return self._driver.node.id

    @property
    def address(self) -> Address:
        """Where the node listens, for the neighbour tables of others."""
        return self._driver.address

    @property
    def position(self) -> Point | None:
        """Where this node was when it was last asked."""
        return self._own

    @property
    def neighbours(self) -> frozenset[int]:
        """Nodes that are in reach: named, or found."""
        found = self._driver.discovery
        return frozenset((*self._driver.peers, *(found.neighbours if found else ())))

    @property
    def ring(self) -> tuple[tuple[int, ...], int]:
        """Own positions and the ring's length; no positions while the mesh forms."""
        place = self._driver.node.place
        return (place.positions, place.length) if place else ((), 0)

    def status(self) -> MeshStatus:
        """Links, tree, ring, tables and counters, as they are now."""
        answer: Future[MeshStatus] = Future()
        self._do(lambda: answer.set_result(status_of(self._driver)))
        try:
            return answer.result(_ANSWER_S)
        except TimeoutError as error:
            self.check_runs()
            raise MeshError(f"mesh node {self.id} did not answer in {_ANSWER_S} s") from error

    def set_peers(self, peers: Mapping[int, Address]) -> None:
        """Say who is in reach."""
        table = dict(peers)
        self._do(lambda: self._driver.set_peers(table))

    def put(
        self,
        key: str,
        payload: bytes | str,
        *,
        location: GivenPoint | None = None,
        geofence: GivenArea | None = None,
    ) -> None:
        """Publish from a location, or from the node's position, to whoever wants it there."""
        data = payload.encode() if isinstance(payload, str) else bytes(payload)
        place = self._own if location is None else as_point(location)
        fence = None if geofence is None else as_area(geofence)
        self.put_message(MeshEnvelope(check_topic(key), data, place, fence))

    def put_message(self, message: MeshEnvelope) -> None:
        """Publish a message exactly as it is.

        One of more than 1,024 octets, topic and place included, goes out in fragments, eight at a
        time. `MeshError` where it exceeds 65,536, or where too many fragments or messages wait
        already for the node's thread.
        """
        channels = channels_of(message.topic, message.location)
        parts = list(fragments_of(message.to_bytes(), next(self._numbers)))
        check_publication(channels, parts[0])
        if len(parts) == 1:
            self._do(lambda: self._driver.publish(channels, parts[0]))
        else:
            self._check_open()
            with self._lock:  # room is taken at once, however far the node's thread is behind
                waiting = len(self._outbox) + len(parts)
                if waiting > _MOST_FRAGMENTS:
                    raise MeshError(f"{waiting} fragments would wait, more than {_MOST_FRAGMENTS}")
                self._outbox.extend((channels, part) for part in parts)
            self._ring()
        self._hand_over(message, self.id)

    def declare_subscriber(
        self,
        key: str,
        handler: Callable[[MeshSample], Any] | None = None,
        *,
        area: GivenArea | None = None,
        fenced: bool = False,
    ) -> MeshSubscriber:
        """Receive the messages of a topic that come from an area; without one, all of them.

        The topic may have Zenoh's wildcards (`city/*/noise`, `city/**`).
        Messages with a geofence are heard by those inside it, or with `fenced` by everybody. A
        `Circle` without a centre follows the node: call `update_position` when it moved.
        `PacketError` where the node's subscriptions make up more than `max_channels`.
        """
        wanted = None if area is None else as_area(area)
        subscriber = MeshSubscriber(self, check_pattern(key), wanted, fenced=fenced)
        self._check_open()
        if handler is not None:
            subscriber.call(handler, self._threads)
        with self._lock:
            self._place(subscriber)
            self._check_room(subscriber)
            self._subscribers.append(subscriber)
        self._tell_wishes()
        return subscriber

    def update_position(self) -> Point | None:
        """Ask for the position again and let ego-centric areas follow it."""
        self._own = self._locate()
        with self._lock:
            for subscriber in self._subscribers:
                self._place(subscriber)
        self._tell_wishes()
        return self._own

    def forget(self, subscriber: MeshSubscriber) -> None:
        """Drop a subscriber and the channels that nobody else wants."""
        with self._lock:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)
        if not self._closed.is_set():
            self._tell_wishes()

    def close(self) -> None:
        """Leave the mesh; neighbours notice the silence. Does not wait for calls under way."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._supervisor.stop()
        self._ring()
        self._supervisor.join(5)
        for subscriber in self._subscribers:
            subscriber.close()
        for thing in (self._threads, self._driver, self._bell, self._listener):
            thing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _locate(self) -> Point | None:
        given = self._position() if callable(self._position) else self._position
        return None if given is None else as_point(given)

    def _place(self, subscriber: MeshSubscriber) -> None:
        area = subscriber.wanted_area
        if isinstance(area, Circle) and area.is_ego_centric:
            if self._own is None:
                raise PositionError("a circle without a centre needs a position: open(position=…)")
            area = area.at(self._own)
        subscriber.area = area
        subscriber.channels = channels_for(subscriber.topic, area)

    def _check_room(self, more: MeshSubscriber) -> None:
        channels, most = len(self._wanted() | more.channels), self.config.max_channels
        if channels > most:
            more.close()
            raise PacketError(f"{channels} channels exceed the {most} that a node subscribes to")

    def _wanted(self) -> frozenset[int]:
        return frozenset().union(*(s.channels for s in self._subscribers))

    def _tell_wishes(self) -> None:
        self._check_open()
        self._new_wishes.set()
        self._ring()

    def _take_wishes(self) -> None:
        """Have the node subscribe to what is wanted now."""
        self._new_wishes.clear()
        with self._lock:
            wanted = self._wanted()
        node, now = self._driver.node, time.monotonic()
        known = frozenset(node.routing.wanted)
        for channel in wanted - known:  # the new before the old, so that nothing is missed
            node.subscribe(channel, now)
        for channel in known - wanted:
            node.unsubscribe(channel)

    def _do(self, command: Callable[[], None]) -> None:
        """Have the mesh's thread do something; only that thread touches the node."""
        self._check_open()
        try:
            self._commands.put_nowait(command)
        except queue.Full:
            raise MeshError(
                f"{_MOST_REQUESTS} requests wait for mesh node {self.id}, which does not keep up"
            ) from None
        self._ring()

    def _ring(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it has been rung often enough
            self._bell.send(b"x")

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise ClosedError("this mesh session is closed")
        self.check_runs()

    def check_runs(self) -> None:
        """`MeshError` where the node has stopped by itself."""
        error = self._supervisor.error
        if error is not None:
            raise MeshError(f"mesh node {self.id} has stopped: {error}") from error

    def _turn(self) -> None:
        if self._new_wishes.is_set():
            self._take_wishes()
        for _ in range(self._commands.qsize()):
            self._commands.get_nowait()()
        longest = self._send_fragments()
        if self._driver.turn([self._listener], longest):
            self._listener.recv(4096)

    def _send_fragments(self) -> float:
        """Send what is due of the fragments that wait; seconds until more may go."""
        pace, now = self.config.ack_timeout / 2, time.monotonic()
        if self._outbox and now >= self._send_at:
            self._send_at = now + pace
            for _ in range(min(_AT_A_TIME, len(self._outbox))):
                self._driver.publish(*self._outbox.popleft())
        return pace if self._outbox else _LONGEST_S

    def _stopped(self) -> None:
        """The node goes on no more: whoever waits for samples is told."""
        with self._lock:
            for subscriber in self._subscribers:
                subscriber.close()

    def _delivered(self, effect: Deliver) -> None:
        try:
            data: bytes | None = effect.data
            if is_fragment(effect.data):
                data = self._reassembly.take(effect.origin, effect.data, time.monotonic())
            if data is None:
                return
            message = MeshEnvelope.from_bytes(data)
        except PacketError:
            self.refused += 1
            return
        self._hand_over(message, effect.origin)

    def _hand_over(self, message: MeshEnvelope, source: int) -> None:
        with self._lock:
            accepting = [s for s in self._subscribers if s.accepts(message, self._own)]
        sample = MeshSample(
            message.topic,
            message.payload,
            message.location,
            message.geofence,
            source,
            message.from_gateway,
        )
        for subscriber in accepting:
            subscriber.offer(sample)


open = MeshSession  # noqa: A001 - as `zonal.open` and `zenoh.open`


def _is_local(listen: Address, discovery: Discovery | None) -> bool:
    """Whether packets can only come from this machine."""
    return is_loopback(listen[0]) and (discovery is None or discovery.is_local)
