"""Who receives what from a mesh: a subscriber's samples, by topic, area and geofence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from zonal.errors import ClosedError
from zonal.mesh.topics import topic_matches
from zonal.runtime import Callback, CallbackThreads, Mailbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from zonal.geo import Area, Point
    from zonal.mesh.envelope import MeshEnvelope


class Home(Protocol):
    """What a subscriber asks of its session."""

    def forget(self, subscriber: MeshSubscriber) -> None:
        """It wants no more."""

    def check_runs(self) -> None:
        """`MeshError` where the session's node has stopped by itself."""


class MeshSample(NamedTuple):
    """A message from the mesh."""

    key: str
    payload: bytes
    location: Point | None
    geofence: Area | None
    source: int
    """The node that published it; a gateway, for what came from beyond."""
    from_gateway: bool = False


class MeshSubscriber:
    """The messages of a topic, from an area: an iterator, or calls of a function, one at a time."""

    def __init__(
        self, session: Home, topic: str, area: Area | None, *, fenced: bool = False
    ) -> None:
        self.topic = topic
        self.wanted_area = area
        self.area = area
        self.channels: frozenset[int] = frozenset()
        self._session = session
        self._fenced = fenced
        self._mailbox: Mailbox[MeshSample] = Mailbox(name=f"mesh subscriber {topic!r}")
        self._callback: Callback[MeshSample] | None = None

    def call(self, handler: Callable[[MeshSample], Any], threads: CallbackThreads) -> None:
        """Hand every sample to a function, which may be as slow as it likes."""
        self._callback = Callback(
            f"mesh subscriber {self.topic!r}", handler, self._mailbox, threads
        )

    def accepts(self, message: MeshEnvelope, own: Point | None) -> bool:
        """Topic, then consumer geofence, then producer geofence; exact, whatever the channels."""
        if not topic_matches(self.topic, message.topic):
            return False
        if self.area is not None and (
            message.location is None or not self.area.contains(message.location)
        ):
            return False
        if message.geofence is None or self._fenced:
            return True
        return own is not None and message.geofence.contains(own)

    def offer(self, sample: MeshSample) -> None:
        """Take a sample that was accepted."""
        if self._callback is None:
            self._mailbox.put((sample,))
        else:
            self._callback.offer((sample,))

    def recv(self, timeout: float | None = None) -> MeshSample | None:
        """The next sample; None once the time is over.

        After what was received before: `ClosedError` where the subscriber is closed, `MeshError`
        where the node has stopped by itself.
        """
        try:
            return self._mailbox.take(timeout)
        except ClosedError:
            self._session.check_runs()
            raise

    def __iter__(self) -> Iterator[MeshSample]:
        yield from self._mailbox
        self._session.check_runs()

    def undeclare(self) -> None:
        """Receive no more; others forget the subscription when its lease is over."""
        self._session.forget(self)
        self.close()

    def close(self) -> None:
        """Take no more samples; whoever iterates ends after those that are there."""
        self._mailbox.close()
