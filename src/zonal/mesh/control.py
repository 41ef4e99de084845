"""A node's door for other processes of its machine: a Unix socket that only its user can open.

One request a connection, as a line of JSON (`{"do": "status"}`, `put`, `sub`); the answer is a line
with `ok` or `error`, and for `sub` a line for each sample after it, until the client hangs up.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import socket
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zonal.errors import ClosedError, MeshError, ZonalError
from zonal.geo import Area, Circle, GivenArea, GivenPoint, Point, area_from_bytes, as_area, as_point
from zonal.mesh.status import LinkStatus, MeshStatus
from zonal.mesh.subscriber import MeshSample

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from zonal.mesh.session import MeshSession

_LONGEST = 1 << 20  # octets of a request
_PATIENCE_S = 10.0


def default_door() -> Path:
    """Where a node's socket is unless told otherwise: one for each user."""
    run = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(run) if run else Path(tempfile.gettempdir()) / f"zonal-{os.getuid()}"
    return folder / "zonal-mesh.sock"


class Door:
    """Serves a mesh session to other processes, each connection on a thread of its own."""

    def __init__(self, session: MeshSession, path: Path) -> None:
        self.path = path
        self._session = session
        self._closed = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._bind()
        except OSError as error:
            self._socket.close()
            raise MeshError(f"cannot open {path}: {error.strerror or error}") from error
        self._thread = threading.Thread(target=self._accept, name="mesh-door", daemon=True)
        self._thread.start()

    def _bind(self) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.path.exists():
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                if probe.connect_ex(str(self.path)) == 0:
                    raise MeshError(
                        f"a mesh node already runs behind {self.path}; give this one another"
                    )
            self.path.unlink()  # of a node that ended without closing it
        self._socket.bind(str(self.path))
        self.path.chmod(0o600)
        self._socket.listen()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            client.settimeout(_PATIENCE_S)
            try:
                request = json.loads(_read_line(client))
                answer, samples = self._obey(request)
            except ZonalError as error:
                _write_line(client, {"error": str(error)})
                return
            except (ValueError, KeyError, TypeError) as error:
                _write_line(client, {"error": f"no request: {error!r}"})
                return
            _write_line(client, {"ok": answer})
            if samples is not None:
                self._stream(client, samples)

    def _obey(self, request: dict[str, Any]) -> tuple[Any, Any]:
        session = self._session
        match request["do"]:
            case "status":
                return session.status(), None
            case "put":
                session.put(
                    request["key"],
                    base64.b64decode(request["payload"]),
                    location=_point(request["at"]),
                    geofence=_area(request["geofence"]),
                )
                return None, None
            case "sub":
                area = _area(request["area"])
                key, fenced = request["key"], request["fenced"]
                return None, session.declare_subscriber(key, area=area, fenced=fenced)
            case other:
                raise MeshError(f"{other!r} is none of status, put, sub")

    def _stream(self, client: socket.socket, subscriber: Any) -> None:
        try:
            while not self._closed.is_set():
                sample = subscriber.recv(0.2)
                if sample is not None:
                    _write_line(client, _sample_json(sample))
                elif select.select([client], [], [], 0)[0]:
                    return  # it says no more: it hung up
        except ClosedError:
            return
        except MeshError as error:
            _write_line(client, {"error": str(error)})
        finally:
            with contextlib.suppress(ZonalError):
                subscriber.undeclare()

    def close(self) -> None:
        """Serve nobody any more; the session stays open."""
        self._closed.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class DoorClient:
    """Asks the node behind a door; `MeshError` where there is none, or where it refuses."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def status(self) -> MeshStatus:
        """The node as it stands."""
        found = MeshStatus(*self._ask({"do": "status"})[0])
        return found._replace(links=tuple(LinkStatus(*link) for link in found.links))

    def put(
        self,
        key: str,
        payload: bytes,
        *,
        location: GivenPoint | None = None,
        geofence: GivenArea | None = None,
    ) -> None:
        """Have the node publish."""
        self._ask(
            {
                "do": "put",
                "key": key,
                "payload": base64.b64encode(payload).decode(),
                "at": None if location is None else tuple(as_point(location)),
                "geofence": _packed(geofence),
            }
        )

    def samples(
        self, key: str, *, area: GivenArea | None = None, fenced: bool = False
    ) -> Iterator[MeshSample | None]:
        """What the node hears of a topic from now on; None whenever nothing came for 0.2 s."""
        request = {"do": "sub", "key": key, "area": _packed(area), "fenced": fenced}
        _, stream = self._ask(request, keep=True)
        return self._read(stream)

    def _read(self, stream: socket.socket) -> Iterator[MeshSample | None]:
        rest = b""
        with stream:
            while True:
                if not select.select([stream], [], [], 0.2)[0]:
                    yield None
                    continue
                data = stream.recv(65536)
                if not data:
                    raise MeshError(f"the mesh node behind {self.path} has ended")
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    yield _sample(json.loads(line))

    def _ask(self, request: dict[str, Any], *, keep: bool = False) -> tuple[Any, socket.socket]:
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            stream.settimeout(_PATIENCE_S)
            stream.connect(str(self.path))
            _write_line(stream, request)
            answer = json.loads(_read_line(stream))
        except (OSError, ValueError) as error:
            stream.close()
            raise MeshError(
                f"no mesh node answers at {self.path} (`zonal mesh node` starts one): {error}"
            ) from error
        if not keep or "error" in answer:
            stream.close()
        if "error" in answer:
            raise MeshError(answer["error"])
        return answer["ok"], stream


def _read_line(stream: socket.socket) -> bytes:
    """The first line, an octet at a time, since what follows it is another's to read."""
    line = bytearray()
    while len(line) < _LONGEST:
        octet = stream.recv(1)
        if octet in (b"", b"\n"):
            return bytes(line)
        line += octet
    raise MeshError(f"a request has at most {_LONGEST} octets")


def _write_line(stream: socket.socket, value: Any) -> None:
    stream.sendall(json.dumps(value).encode() + b"\n")


def _point(pair: list[float] | None) -> Point | None:
    return None if pair is None else Point(*pair)


def _packed(area: GivenArea | None) -> Any:
    """An area for JSON; a circle without a centre is its radius."""
    if area is None:
        return None
    area = as_area(area)
    if isinstance(area, Circle) and area.is_ego_centric:
        return area.radius_m
    return base64.b64encode(area.to_bytes()).decode()


def _area(packed: Any) -> Area | None:
    if packed is None:
        return None
    if isinstance(packed, (int, float)):
        return Circle(radius_m=packed)
    return area_from_bytes(base64.b64decode(packed))


def _sample_json(sample: MeshSample) -> dict[str, Any]:
    place = sample.location
    return {
        "key": sample.key,
        "payload": base64.b64encode(sample.payload).decode(),
        "at": None if place is None else (place.lat, place.lon),
        "geofence": _packed(sample.geofence),
        "source": sample.source,
        "from_gateway": sample.from_gateway,
    }


def _sample(found: dict[str, Any]) -> MeshSample:
    if "error" in found:
        raise MeshError(found["error"])
    return MeshSample(
        found["key"],
        base64.b64decode(found["payload"]),
        _point(found["at"]),
        _area(found["geofence"]),
        found["source"],
        found["from_gateway"],
    )
