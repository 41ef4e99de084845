"""Emulated networks as data: the nodes, who is linked to whom, what each card carries."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from zonal.geo import Point, distance_m
from zonal_lab.errors import TopologyError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RoleName = Literal["router", "publisher", "subscriber"]
ROLES: tuple[RoleName, ...] = get_args(RoleName)
MAX_NODE_ID = 250
Way = Literal["rests", "roams", "moves"]


@dataclass(frozen=True)
class Card:
    """A node's one network card: what it lets through, each way, for all that the node carries."""

    rate_mbit: float | None = None
    queue_ms: float = 300.0
    delay_ms: float = 0.0
    loss: float = 0.0
    trace_out: str | None = None
    trace_in: str | None = None

    def __post_init__(self) -> None:
        if self.rate_mbit is not None and self.rate_mbit <= 0:
            raise TopologyError(f"rate_mbit is {self.rate_mbit}, it must be above 0 (or left out)")
        if self.queue_ms <= 0:
            raise TopologyError(f"queue_ms is {self.queue_ms}, it must be above 0")
        if self.delay_ms < 0:
            raise TopologyError(f"delay_ms is {self.delay_ms}, it must be 0 or more")
        if not 0 <= self.loss < 1:
            raise TopologyError(f"loss is {self.loss}, it must be a probability from 0 to below 1")

    @property
    def has_trace(self) -> bool:
        """Whether a packet trace shapes this card, in one direction at least."""
        return self.trace_out is not None or self.trace_in is not None


@dataclass(frozen=True)
class Node:
    """A node of an emulated network."""

    id: int
    role: RoleName
    card: Card
    routers: tuple[int, ...] = ()
    at: tuple[float, float] | None = None
    over: tuple[float, float, float, float] | None = None
    steps: int = 0
    area: tuple[float, float, float, float] | None = None
    around: tuple[float, float] | None = None
    radius_m: float = 0.0
    to: tuple[float, float] | None = None
    speed_m_s: float = 0.0
    rate_hz: float = 0.0
    measured: bool = False

    @property
    def name(self) -> str:
        """A short name: R14, P13, S6."""
        return f"{self.role[0].upper()}{self.id}"

    @property
    def places(self) -> tuple[tuple[float, float], ...]:
        """Where a publisher is in turn: one place, or the fields' middles of a box it roams."""
        if self.over is None:
            return () if self.at is None else (self.at,)
        south, west, north, east = self.over
        parts = [(each + 0.5) / self.steps for each in range(self.steps)]
        return tuple(
            (south + (north - south) * up, west + (east - west) * along)
            for up in parts
            for along in parts
        )

    @property
    def moves(self) -> bool:
        """Whether a client goes somewhere; a subscriber's circle goes with it."""
        return self.to is not None

    @property
    def way(self) -> Way:
        """Whether a client moves, roams several places message by message, or rests."""
        if self.moves:
            return "moves"
        return "rests" if self.over is None else "roams"

    @property
    def start(self) -> tuple[float, float] | None:
        """Where a publisher, or a subscriber with a circle, is before it sets out."""
        return self.at or self.around

    def where(self, seconds: float) -> tuple[float, float]:
        """Where somebody with a place is, so long after it set out: there, back, and again."""
        start = self.start
        if start is None:
            raise TopologyError(f"{self.name} has no place of its own")
        if self.to is None:
            return start
        leg_s = distance_m(Point(*start), Point(*self.to)) / self.speed_m_s
        turn = max(seconds, 0.0) / leg_s % 2
        share = turn if turn <= 1 else 2 - turn
        (south, west), (lat, lon) = start, self.to
        return south + (lat - south) * share, west + (lon - west) * share

    @property
    def address(self) -> str:
        """The node's IPv4 address in the emulated network."""
        return f"10.77.0.{self.id}"


@dataclass(frozen=True)
class Topology:
    """A checked network: every node is reachable, every client hangs on one router."""

    name: str
    nodes: tuple[Node, ...]
    title: str = ""
    reading: str = ""
    _by_id: dict[int, Node] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._by_id.update({node.id: node for node in self.nodes})
        if len(self._by_id) != len(self.nodes):
            twice = sorted({n.id for n in self.nodes if [m.id for m in self.nodes].count(n.id) > 1})
            raise TopologyError(f"{self.name}: node ids must be unique; twice: {twice}")
        for node in self.nodes:
            self._check_node(node)
        self._check_connected()

    def _check_node(self, node: Node) -> None:
        if not 1 <= node.id <= MAX_NODE_ID:
            raise TopologyError(f"{self.name}: node id {node.id} must be from 1 to {MAX_NODE_ID}")
        for other in node.routers:
            if other == node.id or other not in self._by_id or self[other].role != "router":
                raise TopologyError(f"{self.name}: {node.name} links to {other}, no router")
        if node.role != "router" and len(node.routers) != 1:
            raise TopologyError(f"{self.name}: {node.name} needs exactly one router")
        if node.role == "publisher" and (not node.places or node.rate_hz <= 0):
            raise TopologyError(
                f"{self.name}: {node.name} needs `at`, or `over` and `steps`, and a `rate_hz` "
                "above 0"
            )
        if node.role == "subscriber":
            self._check_area(node)
        if node.to is not None:
            self._check_walk(node)

    def _check_walk(self, node: Node) -> None:
        if node.over is not None or node.start in {None, node.to} or node.speed_m_s <= 0:
            raise TopologyError(
                f"{self.name}: {node.name} moves from its place (`at` or `around`) `to` another "
                "one, with a `speed_m_s` above 0"
            )

    def _check_area(self, node: Node) -> None:
        if (node.area is None) == (node.around is None or node.radius_m <= 0):
            raise TopologyError(
                f"{self.name}: {node.name} needs an `area`, or `around` and a `radius_m` above 0"
            )
        moving = [each.name for each in self.nodes if each.role == "publisher" and each.moves]
        if moving and node.around is None:
            raise TopologyError(
                f"{self.name}: {node.name} needs `around` and a `radius_m`, not an `area`, since "
                f"{', '.join(moving)} moves"
            )

    def _check_connected(self) -> None:
        if not self.nodes:
            raise TopologyError(f"{self.name}: a network needs nodes")
        linked: dict[int, set[int]] = {node.id: set(node.routers) for node in self.nodes}
        for node in self.nodes:
            for router in node.routers:
                linked[router].add(node.id)
        reached, frontier = {self.nodes[0].id}, [self.nodes[0].id]
        while frontier:
            new = linked[frontier.pop()] - reached
            reached |= new
            frontier.extend(new)
        missing = [node.name for node in self.nodes if node.id not in reached]
        if missing:
            raise TopologyError(f"{self.name}: not connected to {self.nodes[0].name}: {missing}")

    def __getitem__(self, node_id: int) -> Node:
        return self._by_id[node_id]

    @property
    def traces(self) -> list[str]:
        """The names of the packet traces that shape cards."""
        cards = [node.card for node in self.nodes]
        return sorted({each for card in cards for each in (card.trace_out, card.trace_in) if each})

    def with_role(self, role: RoleName) -> tuple[Node, ...]:
        """The nodes of one role, in the order of the file."""
        return tuple(node for node in self.nodes if node.role == role)

    def wants(self, subscriber: Node, publisher: Node) -> bool:
        """Whether any place of the publisher lies in the subscriber's area (edge included)."""
        return any(self.wanted(subscriber, publisher))

    def wanted(self, subscriber: Node, publisher: Node) -> list[bool]:
        """Which of the publisher's places lie in the subscriber's area (edge included).

        In that of one who moves: before it sets out.
        """
        if subscriber.around is not None:
            middle = Point(*subscriber.around)
            return [
                distance_m(middle, Point(*place)) <= subscriber.radius_m
                for place in publisher.places
            ]
        if subscriber.area is None:
            return [False for _ in publisher.places]
        south, west, north, east = subscriber.area
        return [south <= lat <= north and west <= lon <= east for lat, lon in publisher.places]


def hosts_in_a_row(name: str, cards: Sequence[Card], title: str = "") -> Topology:
    """Hosts numbered from 1, each linked to the one before it; a card for each.

    What runs in them is the experiment's business; as nodes of a topology they are routers.
    """
    nodes = tuple(
        Node(number, "router", card, (number - 1,) if number > 1 else ())
        for number, card in enumerate(cards, 1)
    )
    return Topology(name, nodes, title)


def parse_topology(text: str, source: str = "topology") -> Topology:
    """Read a topology from TOML; every mistake is named with its place."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TopologyError(f"{source} is no TOML: {error}") from error
    _known(table, {"name", "title", "reading", "cards", *(f"{role}s" for role in ROLES)}, source)
    cards = {name: _card(name, entry) for name, entry in table.get("cards", {}).items()}
    nodes = [
        _node(role, entry, cards, source) for role in ROLES for entry in table.get(f"{role}s", [])
    ]
    return Topology(
        name=str(table.get("name", source)),
        title=str(table.get("title", "")),
        reading=" ".join(str(table.get("reading", "")).split()),
        nodes=tuple(nodes),
    )


def load_topology(path: Path) -> Topology:
    """Read a topology file."""
    try:
        return parse_topology(path.read_text(encoding="utf-8"), path.stem)
    except OSError as error:
        raise TopologyError(f"topology {path} cannot be read: {error.strerror}") from error


def layout(name: str) -> Topology:
    """A layout of the lab: zoning, near-field, far-field, spread, moving, pair."""
    folder = resources.files("zonal_lab.emulation") / "layouts"
    file = folder / f"{name}.toml"
    if not file.is_file():
        known = sorted(Path(entry.name).stem for entry in folder.iterdir() if ".toml" in entry.name)
        raise TopologyError(f"there is no layout {name!r}; there are {', '.join(known)}")
    return parse_topology(file.read_text(encoding="utf-8"), name)


_ENTRIES = ("at", "over", "steps", "area", "around", "radius_m", "to", "speed_m_s", "rate_hz",
            "measured")  # fmt: skip


def _known(table: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(set(table) - known):
        raise TopologyError(f"{where} has unknown entries {unknown}; known are {sorted(known)}")


def _card(name: str, entry: Mapping[str, Any]) -> Card:
    _known(entry, {each.name for each in fields(Card)}, f"card {name!r}")
    try:
        return Card(**entry)
    except TypeError as error:
        raise TopologyError(f"card {name!r}: {error}") from error


def _node(role: RoleName, entry: Mapping[str, Any], cards: Mapping[str, Card], source: str) -> Node:
    where = f"{source}: {role} {entry.get('id', '?')}"
    known = {"id", "card", "links", "router", *_ENTRIES}
    _known(entry, known, where)
    card = entry.get("card", role)
    if card not in cards and "card" in entry:
        raise TopologyError(f"{where} has card {card!r}; described are {sorted(cards)}")
    routers = entry.get("links", []) if role == "router" else [entry.get("router")]
    if not isinstance(entry.get("id"), int) or not all(isinstance(each, int) for each in routers):
        raise TopologyError(f"{where}: `id`, `links` and `router` must be node numbers")
    return Node(
        id=entry["id"],
        role=role,
        card=cards.get(card, Card()),
        routers=tuple(int(each) for each in routers if each is not None),
        at=_numbers(entry.get("at"), 2, f"{where}: `at` (lat, lon)"),
        over=_numbers(entry.get("over"), 4, f"{where}: `over` (south, west, north, east)"),
        steps=int(entry.get("steps", 0)),
        area=_numbers(entry.get("area"), 4, f"{where}: `area` (south, west, north, east)"),
        around=_numbers(entry.get("around"), 2, f"{where}: `around` (lat, lon)"),
        radius_m=float(entry.get("radius_m", 0)),
        to=_numbers(entry.get("to"), 2, f"{where}: `to` (lat, lon)"),
        speed_m_s=float(entry.get("speed_m_s", 0)),
        rate_hz=float(entry.get("rate_hz", 0)),
        measured=bool(entry.get("measured", False)),
    )


def _numbers(value: Any, count: int, what: str) -> Any:
    if value is None:
        return None
    right = isinstance(value, list) and all(isinstance(each, int | float) for each in value)
    if not right or len(value) != count:
        raise TopologyError(f"{what} must be {count} numbers, not {value!r}")
    return tuple(float(each) for each in value)
