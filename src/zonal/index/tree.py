"""The topic tree: filters of both syntaxes in one tree, found by the topics they match.

A directed rooted tree of chunks, as in GeoBroker (section 3.3) and in most MQTT brokers. A
wildcard is an edge of its own kind, so that each filter keeps the rules of its own syntax.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from zonal.index.chunks import covers, fits, is_open, is_wild, meet
from zonal.index.filters import Kind, Step, Syntax, TopicFilter, read_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


class Node(Generic[T]):
    """One place in the tree: what hangs here, and where to go on."""

    __slots__ = ("item", "literals", "loops", "wilds")

    def __init__(self, *, loops: bool = False) -> None:
        self.item: T | None = None
        self.literals: dict[str, Node[T]] = {}
        self.wilds: dict[Step, Node[T]] = {}
        self.loops = loops  # the end of a `**`: may swallow further chunks

    def child(self, step: Step) -> Node[T] | None:
        """The node behind a step, if there is one."""
        if step.kind is Kind.LITERAL:
            return self.literals.get(step.text)
        return self.wilds.get(step)

    def grow(self, step: Step) -> Node[T]:
        """The node behind a step, made if needed."""
        if step.kind is Kind.LITERAL:
            node = self.literals.get(step.text)
            if node is None:
                node = self.literals[step.text] = Node()
            return node
        if step not in self.wilds:
            self.wilds[step] = Node(loops=step.kind is Kind.STARS)
        return self.wilds[step]

    def cut(self, step: Step) -> None:
        """Drop the node behind a step."""
        if step.kind is Kind.LITERAL:
            del self.literals[step.text]
        else:
            del self.wilds[step]

    @property
    def is_bare(self) -> bool:
        """Whether nothing hangs here and nothing is below."""
        return self.item is None and not self.literals and not self.wilds


class TopicTree(Generic[T]):
    """Maps filters to items, and topics to the items of all filters that match them."""

    def __init__(self) -> None:
        self._root: Node[T] = Node()

    def reach(self, topic_filter: TopicFilter) -> Node[T]:
        """The node of a filter, made if needed."""
        node = self._root
        for step in topic_filter.steps:
            node = node.grow(step)
        return node

    def set(self, topic_filter: TopicFilter, item: T) -> None:
        """Hang an item at a filter."""
        self.reach(topic_filter).item = item

    def delete(self, topic_filter: TopicFilter) -> None:
        """Take the item of a filter away, and the branch that nothing else needs."""
        path = [self._root]
        for step in topic_filter.steps:
            node = path[-1].child(step)
            if node is None:
                return
            path.append(node)
        path[-1].item = None
        for parent, step in zip(reversed(path[:-1]), reversed(topic_filter.steps), strict=True):
            child = parent.child(step)
            if child is None or not child.is_bare:
                return
            parent.cut(step)

    def match(self, topic: str, syntax: Syntax) -> list[T]:
        """The items of all filters that match a topic (or intersect a Zenoh key expression)."""
        chunks = read_topic(topic, syntax)
        if syntax is Syntax.ZENOH and any(map(is_wild, chunks)):
            return _Meeting[T](chunks).run(self._root)
        return _Walk[T](chunks).run(self._root)


class _Walk(Generic[T]):
    """The search for the filters that match one topic without wildcards."""

    def __init__(self, chunks: tuple[str, ...]) -> None:
        self._chunks = chunks
        self._seen: set[tuple[int, int]] = set()
        self._found: list[T] = []

    def run(self, root: Node[T]) -> list[T]:
        todo = [(root, 0)]
        while todo:
            node, at = todo.pop()
            if (id(node), at) not in self._seen:
                self._seen.add((id(node), at))
                todo.extend(self._onward(node, at))
        return self._found

    def _take(self, node: Node[T]) -> None:
        if node.item is not None:
            self._found.append(node.item)

    def _onward(self, node: Node[T], at: int) -> Iterator[tuple[Node[T], int]]:
        if at == len(self._chunks):
            self._take(node)
        else:
            chunk = self._chunks[at]
            literal = node.literals.get(chunk)
            if literal is not None:
                yield literal, at + 1
            if node.loops and is_open(chunk):
                yield node, at + 1
        for step, child in node.wilds.items():
            yield from self._through(step, child, at)

    def _through(self, step: Step, child: Node[T], at: int) -> Iterator[tuple[Node[T], int]]:
        """Where a wildcard leads."""
        if step.kind is Kind.STARS:
            yield child, at
            return
        chunk = self._chunks[at] if at < len(self._chunks) else None
        # MQTT 5, 4.7.2: a leading wildcard does not match topics that begin with `$`.
        hidden = at == 0 and chunk is not None and chunk.startswith("$")
        if step.kind is Kind.HASH:
            if not hidden:
                self._take(child)
        elif chunk is not None and (
            (step.kind is Kind.PLUS and not hidden)
            or (step.kind is Kind.STAR and is_open(chunk))
            or (step.kind is Kind.PATTERN and fits(step.text, chunk))
        ):
            yield child, at + 1


class _Meeting(Generic[T]):
    """The search for the filters that intersect a key expression with wildcards.

    Zenoh delivers a put on `a/*` to every subscriber whose expression intersects it.
    """

    def __init__(self, chunks: tuple[str, ...]) -> None:
        self._chunks = chunks
        self._seen: set[tuple[int, int]] = set()
        self._found: dict[int, T] = {}

    def run(self, root: Node[T]) -> list[T]:
        todo = [(root, 0)]
        while todo:
            node, at = todo.pop()
            if (id(node), at) not in self._seen:
                self._seen.add((id(node), at))
                todo.extend(self._onward(node, at))
        return list(self._found.values())

    def _take(self, node: Node[T]) -> None:
        if node.item is not None:
            self._found[id(node)] = node.item

    def _onward(self, node: Node[T], at: int) -> Iterator[tuple[Node[T], int]]:
        if at == len(self._chunks):
            self._take(node)
            yield from self._without_chunk(node, at)
        elif self._chunks[at] == "**":
            yield node, at + 1
            yield from self._without_chunk(node, at)
            yield from self._swallowing(node, at)
        else:
            yield from self._without_chunk(node, at)
            yield from self._one_chunk(node, self._chunks[at], at)

    def _without_chunk(self, node: Node[T], at: int) -> Iterator[tuple[Node[T], int]]:
        for step, child in node.wilds.items():
            if step.kind is Kind.STARS:
                yield child, at
            elif step.kind is Kind.HASH:
                self._take(child)

    def _swallowing(self, node: Node[T], at: int) -> Iterator[tuple[Node[T], int]]:
        """The message's own `**` takes one chunk of the filter, and stays."""
        for text, child in node.literals.items():
            if is_open(text):
                yield child, at
        for step, child in node.wilds.items():
            if step.kind in (Kind.STAR, Kind.PATTERN, Kind.PLUS):
                yield child, at

    def _one_chunk(self, node: Node[T], chunk: str, at: int) -> Iterator[tuple[Node[T], int]]:
        if node.loops and not chunk.startswith("@"):
            yield node, at + 1
        for text, child in node.literals.items():
            if covers(chunk, text):
                yield child, at + 1
        for step, child in node.wilds.items():
            if step.kind is Kind.PLUS or (
                step.kind in (Kind.STAR, Kind.PATTERN) and meet(chunk, step.text)
            ):
                yield child, at + 1
