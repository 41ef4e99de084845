"""Rules as a stock Zenoh router enforces them: its `access_control`, by key expressions of cells.

A router decides by the key of each message alone: it passes if an allowed key expression includes
that key, whatever was subscribed to. So declarations and questions are allowed for whole topics,
and messages, answers and tokens for the cells that cover the allowed area from outside: a bit
beyond the area passes, and is checked where the exact place is read. What is denied is taken out
of the allowed cells, cells that reach beyond the denied area as a whole. It is not denied by keys
of its own, since a message put under a wildcard would pass these.

What keys do not say cannot be enforced: the notes of a compilation tell what was left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from zonal.errors import TopicError
from zonal.geo import Area, cover
from zonal.keys import (
    EVERY_FENCE,
    Encoding,
    Role,
    announcements_key,
    check_topic,
    encoding_named,
    encodings,
    fences_at,
    join,
)
from zonal.trust.cell_ranges import EVERYWHERE, CellRanges
from zonal.trust.patterns import MANY, ONE, covers, meets
from zonal.trust.rules import Action, Rule, Rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

KEY_LEVEL = 20
_FENCE_CELLS = 16
_SAME = {"+": ONE, "#": MANY}
_RECOVERY = "@adv/**"
"""Behind a key: what Zenoh's advanced publishers answer for and tell there."""
_INGRESS, _EGRESS = "ingress", "egress"
_ANYBODY = "anonymous"


@dataclass(frozen=True, slots=True)
class _MessageSet:
    """Messages that a rule speaks of: of a topic, from places, to fences."""

    topic: str
    places: CellRanges
    nowhere: bool
    """Those without a place, too."""
    fences: CellRanges
    unfenced: bool
    """Those without a fence, too."""
    area: Area | None = None
    """What the places cover, while nothing was taken away."""

    def without(self, other: _MessageSet) -> list[_MessageSet]:
        """What is left when the messages of another are taken away, whose topic covers this."""
        places = replace(
            self,
            places=self.places - other.places,
            nowhere=self.nowhere and not other.nowhere,
            area=self.area if not self.places & other.places else None,
        )
        fences = replace(
            self,
            fences=self.fences - other.fences,
            unfenced=self.unfenced and not other.unfenced,
        )
        left = [] if other.unfenced and other.fences.is_everywhere else [fences]
        if not (other.nowhere and other.places.is_everywhere):
            left.append(places)
        return [part for part in left if part]

    def __bool__(self) -> bool:
        return (bool(self.places) or self.nowhere) and (bool(self.fences) or self.unfenced)


@dataclass
class RouterRules:
    """A router's `access_control`, and what it cannot do of what the rules say."""

    access_control: dict[str, Any]
    notes: list[str]


def compile_rules(
    rules: Rules,
    users: Iterable[str] = (),
    *,
    max_cells: int = 128,
    encodings_of_areas: Sequence[str] = ("s2", "mgrs"),
) -> RouterRules:
    """The access control of a router for these rules.

    Args:
        rules: what everybody may do.
        users: whom the router knows beside those that the rules name; `*` in rules means all of
            them.
        max_cells: how many cells an area becomes at the most, in each encoding.
        encodings_of_areas: in which encodings keys are allowed by area. Bloom filters can be named
            too: they let some fields elsewhere pass. An encoding whose keys do not say a place
            (`json`) is never allowed by area.
    """
    kinds = [encoding_named(name) for name in encodings_of_areas]
    compiling = _Compiling(rules, max_cells, [kind for kind in kinds if not kind.announces_areas])
    for user in [*sorted({*rules.users, *users}), None]:
        compiling.add(user)
    return RouterRules(compiling.document(), list(dict.fromkeys(compiling.notes)))


@dataclass
class _Compiling:
    rules: Rules
    max_cells: int
    kinds: list[Encoding]
    notes: list[str] = field(default_factory=list)
    _rules: list[dict[str, Any]] = field(default_factory=list)
    _subjects: list[dict[str, Any]] = field(default_factory=list)
    _policies: list[dict[str, Any]] = field(default_factory=list)

    def add(self, user: str | None) -> None:
        """All that one user may do."""
        name = _ANYBODY if user is None else user
        made = [rule for action in Action for rule in self._action(user, name, action)]
        if not made:
            return
        self._rules += made
        if user is None:
            subjects: list[dict[str, Any]] = [{"id": name}]
        else:
            subjects = [
                {"id": f"{name} by name", "usernames": [user]},
                {"id": f"{name} by certificate", "cert_common_names": [user]},
            ]
        self._subjects += subjects
        self._policies.append(
            {"rules": [rule["id"] for rule in made], "subjects": [each["id"] for each in subjects]}
        )

    def document(self) -> dict[str, Any]:
        return {
            "enabled": True,
            "default_permission": "deny",
            "rules": self._rules,
            "subjects": self._subjects,
            "policies": self._policies,
        }

    def _action(self, user: str | None, name: str, action: Action) -> list[dict[str, Any]]:
        mine = self.rules.of(user, action)
        denying = [
            reach for rule in mine if not rule.allows for reach in self._reaches(rule, action)
        ]
        allowed = [reach for rule in mine if rule.allows for reach in self._reaches(rule, action)]
        if not allowed:
            return []
        topics = list(dict.fromkeys(reach.topic for reach in allowed))
        kept = allowed
        for deny in denying:
            kept = [
                part
                for reach in kept
                for part in (reach.without(deny) if covers(deny.topic, reach.topic) else [reach])
            ]
        partly = [
            deny
            for deny in denying
            if any(meets(deny.topic, reach.topic) and not covers(deny.topic, reach.topic)
                   for reach in kept)
        ]  # fmt: skip
        made = _Made(f"{name} may {action}", "allow", action)
        made.add_messages(_unique(key for reach in kept for key in self._keys(reach)))
        made.add_topics(_unique(key for topic in topics for key in _whole_topic(topic)))
        free = [reach.topic for reach in kept if reach.places.is_everywhere]
        made.add_announcements(_unique(key for topic in free for key in _announced(topic)))
        if not partly:
            return made.rules
        self.notes.append(
            f"{name}: some topics that are denied ({', '.join(deny.topic for deny in partly)}) lie "
            f"among others that are allowed to {action}: a message put under a wildcard that "
            "matches both passes a router"
        )
        denied = _Made(f"{name} may not {action}", "deny", action)
        denied.add_messages(_unique(key for reach in partly for key in self._keys(reach)))
        return made.rules + denied.rules

    # What a rule speaks of

    def _reaches(self, rule: Rule, action: Action) -> list[_MessageSet]:
        area, is_known = self._place(rule, action)
        if not is_known:
            return []
        places = EVERYWHERE if area is None else self._cells(area, self.max_cells)
        audience = rule.audience
        fences = EVERYWHERE if audience is None else self._cells(audience, _FENCE_CELLS)
        # A fenced message that a rule denies, or one without a fence, reaches those whom it means.
        unfenced = audience is None or not rule.allows
        found = []
        for topic in rule.topics:
            key = self._topic(rule, topic)
            if key is not None:
                found.append(_MessageSet(key, places, area is None, fences, unfenced, area))
        return found

    def _place(self, rule: Rule, action: Action) -> tuple[Area | None, bool]:
        """About where a rule is, as far as keys say; False: they do not say what it wants."""
        if rule.precision_m is not None and action is not Action.PUBLISH:
            self.notes.append(
                f"{rule.name}: a router cannot blur places (precision_m), so it allows nothing by "
                "this rule: let these users come by MQTT or REST"
            )
            return None, False
        if rule.precision_m is not None:
            self.notes.append(f"{rule.name}: publishers have to blur their places themselves")
        if rule.origin is None:
            return rule.area, True
        if not rule.allows:
            # Where somebody is, is not known: it may be there.
            self.notes.append(f"{rule.name}: a router does not know where users are: it denies all")
            return rule.area, True
        if action is Action.PUBLISH and rule.area is None:
            self.notes.append(f"{rule.name}: a message's place counts as its publisher's position")
            return rule.origin, True
        self.notes.append(
            f"{rule.name}: a router does not know where users are (from), so it allows nothing by "
            "this rule"
        )
        return None, False

    def _topic(self, rule: Rule, topic: str) -> str | None:
        """The key expression of a rule's topic; None: it is not for Zenoh."""
        if topic.startswith("$"):
            return None
        chunks: list[str] = []
        for level in topic.split("/"):
            chunk = _SAME.get(level, level)
            if chunks[-1:] == [MANY] and chunk in {ONE, MANY}:
                chunks[-1:] = [MANY] if chunk == MANY else [ONE, MANY]
            else:
                chunks.append(chunk)
        key = "/".join(chunks)
        try:
            check_topic(key.removeprefix("@"))
        except TopicError as error:
            self.notes.append(f"{rule.name}: {topic!r} is no key expression: {error}")
            return None
        return key

    def _cells(self, area: Area, most: int) -> CellRanges:
        return CellRanges.of(_cover(area, most))

    # Keys

    def _keys(self, reach: _MessageSet) -> list[str]:
        """The key expressions that include the keys of these messages, and of no others."""
        located = [reach.topic] if reach.nowhere else []
        if reach.places.is_everywhere:
            located += _everywhere(reach.topic)
        else:
            located += self._placed(reach)
        fences = [""] if reach.unfenced else []
        if reach.fences.is_everywhere:
            fences.append(EVERY_FENCE)
        else:
            fences += fences_at(reach.fences.cells())
        keys = [join(key, fence) for key in located for fence in fences]
        return [*keys, *(join(key, _RECOVERY) for key in keys)]

    def _placed(self, reach: _MessageSet) -> list[str]:
        keys = []
        for kind in self.kinds:
            if kind.cell_level is not None:
                cells = reach.places.cells()
                keys += [join(reach.topic, kind.cell_expression(cell)) for cell in cells]
            elif reach.area is not None:
                expressions = kind.area_expressions(reach.area, Role.SUBSCRIBER, self.max_cells)
                keys += [join(reach.topic, expression) for expression in expressions]
            elif reach.places:
                self.notes.append(
                    f"{reach.topic}: where a part of an area is denied, only places in s2 are "
                    f"allowed, none in {kind.name}"
                )
        return keys


@lru_cache(maxsize=256)
def _cover(area: Area, most: int) -> tuple[Any, ...]:
    return cover(area, most, max_level=KEY_LEVEL)


def _everywhere(topic: str) -> list[str]:
    """The key expressions of messages from any place, in all encodings and domains of theirs."""
    chunks = dict.fromkeys(kind.prefix.partition("/")[0] for kind in encodings())
    return [join(topic, chunk, MANY) for chunk in chunks]


def _whole_topic(topic: str) -> list[str]:
    """The key expressions of all that can be declared or asked for a topic."""
    located = [topic, *_everywhere(topic)]
    keys = [*located, *(join(key, EVERY_FENCE) for key in located)]
    return [*keys, *(join(key, _RECOVERY) for key in keys)]


def _announced(topic: str) -> list[str]:
    """The key expressions of tokens by which areas are announced that routers cannot match."""
    return [announcements_key(topic, kind) for kind in encodings() if kind.announces_areas]


def _unique(keys: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(keys))


@dataclass
class _Made:
    """The router's rules for what one user may do, or may not, in one way."""

    name: str
    permission: str
    action: Action
    rules: list[dict[str, Any]] = field(default_factory=list)

    def add_messages(self, keys: list[str]) -> None:
        """Rules for what is decided by place."""
        match self.action:
            case Action.PUBLISH:
                self._add(_INGRESS, ["put", "delete", "reply", "liveliness_token"], keys)
            case Action.SUBSCRIBE:
                self._add(_EGRESS, ["put", "delete", "liveliness_token"], keys)
                # What was lost is asked for, and answered under the keys of the messages.
                self._add(_EGRESS, ["reply"], keys)
            case Action.QUERY:
                self._add(_EGRESS, ["reply"], keys)

    def add_topics(self, keys: list[str]) -> None:
        """Rules for what is declared and asked, which goes by topic alone."""
        recovery = [key for key in keys if key.endswith(_RECOVERY)]
        match self.action:
            case Action.PUBLISH:
                self._add(_INGRESS, ["declare_queryable"], keys)
                self._add(_EGRESS, ["query"], keys)
                # Zenoh's declared publishers send nothing unless they know that somebody listens.
                # Cells of fences are those around receivers: where people are is not told.
                unfenced = [key for key in keys if EVERY_FENCE not in key]
                self._add(_EGRESS, ["declare_subscriber"], unfenced)
            case Action.SUBSCRIBE:
                declared = ["declare_subscriber", "liveliness_query"]
                self._add(_INGRESS, [*declared, "declare_liveliness_subscriber"], keys)
                self._add(_INGRESS, ["query"], recovery)
            case Action.QUERY:
                self._add(_INGRESS, ["query"], keys)
                self._add(_EGRESS, ["declare_queryable"], keys)

    def add_announcements(self, keys: list[str]) -> None:
        """Rules for those who hear or answer in an area of theirs, and those who send to such."""
        if self.action is not Action.QUERY:
            self._add(_INGRESS, ["liveliness_token"], keys)
        if self.action is not Action.SUBSCRIBE:
            self._add(_INGRESS, ["liveliness_query", "declare_liveliness_subscriber"], keys)
            self._add(_EGRESS, ["liveliness_token"], keys)

    def _add(self, flow: str, messages: list[str], keys: list[str]) -> None:
        if keys:
            self.rules.append({
                "id": f"{self.name}: {flow} {', '.join(messages)}",
                "permission": self.permission,
                "flows": [flow],
                "messages": messages,
                "key_exprs": keys,
            })  # fmt: skip
