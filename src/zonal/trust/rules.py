"""Who may publish, hear and ask what, from where, about where and to whom: the decisions, pure.

A rule that denies goes before all that allow; what no rule allows is refused. Whatever is not
known counts against whoever acts: who does not say where it is, is not in the area that an
allowing rule wants it to be in, and may be in the one that a denying rule speaks of; a message
without a fence is for everybody. Only a message without a place is certainly about no area.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from zonal.geo import (
    Area,
    Box,
    Cell,
    Circle,
    Everywhere,
    Point,
    common_part,
    is_within,
    outline,
    together,
    widened,
)
from zonal.keys import Place, blurred, refine
from zonal.trust.patterns import covers, fill, meets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.trust.plausibility import Plausible
    from zonal.trust.who import Who


class Action(enum.StrEnum):
    """What a rule is about."""

    PUBLISH = "publish"
    SUBSCRIBE = "subscribe"
    QUERY = "query"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule; its areas are conditions, and None is no condition."""

    name: str
    """What it is called where it decides."""
    who: Who
    allows: bool
    actions: frozenset[Action]
    topics: tuple[str, ...] = ("#",)
    area: Area | None = None
    """About where: the place of a message, the area that is subscribed to or asked about."""
    origin: Area | None = None
    """From where: the position of whoever acts."""
    audience: Area | None = None
    """To whom: the fence of a message."""
    precision_m: float | None = None
    """How finely places are told: of those who publish by it, to those who hear or ask by it."""

    def filled(self, user: str | None, client: str) -> Rule:
        """The rule for one user, with its names in the topics."""
        if not any("%" in topic for topic in self.topics):
            return self
        topics = (fill(topic, user, client, widens=not self.allows) for topic in self.topics)
        return replace(self, topics=tuple(topic for topic in topics if topic is not None))

    def covers_topic(self, asked: str) -> bool:
        """Whether everything that is asked for is a topic of this rule."""
        return any(covers(topic, asked) for topic in self.topics)

    def meets_topic(self, asked: str) -> bool:
        """Whether something that is asked for is a topic of this rule."""
        return any(meets(topic, asked) for topic in self.topics)

    def speaks_of(self, topic: str) -> bool:
        """Whether a message's topic is one of this rule; of several, to deny them, if some are."""
        return any((covers if self.allows else meets)(each, topic) for each in self.topics)

    def is_acted_from(self, position: Point | None) -> bool:
        """Whether whoever acts is where the rule wants it to be, or does not want it to be."""
        if self.origin is None:
            return True
        return not self.allows if position is None else self.origin.contains(position)

    def is_about(self, place: Place | None) -> bool:
        """Whether a message's place is one that the rule speaks of."""
        if self.area is None:
            return True
        if place is None:
            return False
        return _is_inside(place, self.area) if self.allows else refine(self.area, place)

    def is_for(self, fence: Area | None) -> bool:
        """Whether a message's fence is one that the rule speaks of."""
        if self.audience is None:
            return True
        reached = Everywhere() if fence is None else fence
        if self.allows:
            return is_within(reached, self.audience)
        return reached.is_ego_centric or reached.meets(self.audience)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was decided, and by which rule."""

    allowed: bool
    rule: str
    """The name of the rule; empty where none applied."""
    reason: str
    """What to tell whoever acts: it says nothing about others."""
    precision_m: float | None = None
    """How finely places may be told, where it is allowed; None: as they are."""

    def told(self, place: Place | None) -> Place | None:
        """A place as finely as it may be told."""
        return blurred(place, self.precision_m) if isinstance(place, Point) else place


@dataclass(frozen=True, slots=True, kw_only=True)
class HearingVerdict(Verdict):
    """What was decided about a subscription or a question."""

    area: Area | None = None
    """An area that holds all that may be heard of what was asked for; None: whatever was asked
    for may be heard, also what comes without a place. Each message is decided by itself, with
    `may_receive`: it may be blurred, denied, or lie in the last bit of this area."""
    narrowed: bool = False
    """Whether that is less than was asked for."""


_KEPT_USERS, _KEPT_VERDICTS = 10_000, 4_096


@dataclass(frozen=True)
class Rules:
    """All rules of a deployment, in the order of their file.

    Args:
        rules: all of them.
        positions: how users may move; the first that is for a user counts.
        files: where their areas were read from.
    """

    rules: tuple[Rule, ...] = ()
    positions: tuple[Plausible, ...] = ()
    files: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def knows_anonymous(self) -> bool:
        """Whether somebody without a name may do anything."""
        return any(rule.allows and rule.who.anonymous for rule in self.rules)

    @cached_property
    def users(self) -> frozenset[str]:
        """The users that rules name, by themselves or in groups."""
        return frozenset().union(*(rule.who.names for rule in self.rules))

    def of(self, user: str | None, action: Action, client: str = "") -> tuple[Rule, ...]:
        """The rules for what a user does: those that deny first, then those that allow.

        Users with the same rules get the same tuple.
        """
        key = (user, action, client if self._names_clients else "")
        found = self._of.get(key)
        if found is None:
            mine = [r for r in self.rules if action in r.actions and r.who.includes(user)]
            mine.sort(key=lambda rule: rule.allows)
            filled = tuple(rule.filled(user, client) for rule in mine)
            found = self._shared.setdefault(tuple(map(id, filled)), filled)
            if len(self._of) >= _KEPT_USERS:
                self._of.clear()
                self._shared.clear()
                self._received.clear()
            self._of[key] = found
        return found

    @cached_property
    def _of(self) -> dict[tuple[str | None, Action, str], tuple[Rule, ...]]:
        return {}

    @cached_property
    def _shared(self) -> dict[tuple[int, ...], tuple[Rule, ...]]:
        return {}

    @cached_property
    def _received(self) -> dict[tuple[object, ...], Verdict]:
        """What was decided about messages: many receivers with the same rules ask at once."""
        return {}

    @cached_property
    def _names_clients(self) -> bool:
        return any("%c" in topic for rule in self.rules for topic in rule.topics)

    @cached_property
    def _asks_positions(self) -> bool:
        return any(rule.origin is not None for rule in self.rules)

    def may_publish(
        self, user: str | None, topic: str, place: Place | None = None, fence: Area | None = None,
        *, position: Point | None = None, client: str = "",
    ) -> Verdict:  # fmt: skip
        """Whether a user at a position may publish a message from a place, to a fence.

        Args:
            user: None for one without a name.
            topic: with wildcards it has to be allowed as a whole.
            place: where the message is from; None where it says none.
            fence: whom it is for; None where for everybody.
            position: where the user is, as far as it is known.
            client: the identifier of its client, for `%c` in rules.
        """
        applying = [
            rule
            for rule in self.of(user, Action.PUBLISH, client)
            if rule.speaks_of(topic)
            and rule.is_acted_from(position)
            and rule.is_about(place)
            and rule.is_for(fence)
        ]
        return _decided(applying, "publish here")

    def may_hear(
        self, user: str | None, topic: str, area: Area | None = None,
        *, position: Point | None = None, client: str = "",
    ) -> HearingVerdict:  # fmt: skip
        """Whether a user may subscribe to a topic filter, and what of an area it may hear."""
        return self._may_ask(Action.SUBSCRIBE, user, topic, area, position, client)

    def may_ask(
        self, user: str | None, topic: str, area: Area | None = None,
        *, position: Point | None = None, client: str = "",
    ) -> HearingVerdict:  # fmt: skip
        """Whether a user may ask for what is under a key, and about what of an area."""
        return self._may_ask(Action.QUERY, user, topic, area, position, client)

    def may_receive(
        self, user: str | None, topic: str, place: Place | None = None,
        *, position: Point | None = None, client: str = "", action: Action = Action.SUBSCRIBE,
    ) -> Verdict:  # fmt: skip
        """Whether a user may have one message, or one answer, from a place.

        Whoever asked for an area gets it if that area holds the place as it is told
        (`Verdict.told`): otherwise ever smaller areas would find the exact one.
        """
        mine = self.of(user, action, client)
        key = (id(mine), topic, place, position if self._asks_positions else None)
        known = self._received.get(key)
        if known is not None:
            return known
        applying = [
            rule
            for rule in mine
            if rule.speaks_of(topic) and rule.is_acted_from(position) and rule.is_about(place)
        ]
        if len(self._received) >= _KEPT_VERDICTS:
            self._received.clear()
        verdict = self._received[key] = _decided(applying, "have this message")
        return verdict

    def _may_ask(
        self, action: Action, user: str | None, topic: str, area: Area | None,
        position: Point | None, client: str,
    ) -> HearingVerdict:  # fmt: skip
        what = "hear" if action is Action.SUBSCRIBE else "ask for"
        mine = [rule for rule in self.of(user, action, client) if rule.is_acted_from(position)]
        asked = Everywhere() if area is None else area
        for rule in mine:
            if rule.allows or not rule.covers_topic(topic):
                continue
            if rule.area is None or _within(asked, rule.area):
                return _refused_hearing(rule.name, f"a rule denies you to {what} this")
        allowing = [rule for rule in mine if rule.allows and rule.covers_topic(topic)]
        if not allowing:
            return _refused_hearing("", f"no rule allows you to {what} this")
        found = [rule for rule in allowing if _part_of(rule, asked) is not None]
        if not found:
            return _refused_hearing("", f"no rule allows you to {what} anything in this area")
        names = ", ".join(rule.name for rule in found)
        whole = any(rule.area is None or _within(asked, rule.area) for rule in found)
        # Of some topics another rule may allow more than those that allow all of them.
        meeting = [rule for rule in mine if rule.allows and rule.meets_topic(topic)]
        given: Area | None = None
        if area is not None or all(rule.area is not None for rule in meeting):
            parts = [_part_of(rule, asked) for rule in meeting]
            given = _joined([part for part in parts if part is not None])
        reason = "" if whole else f"only a part of what you asked for is allowed{_where(given)}"
        return HearingVerdict(
            allowed=True, rule=names, reason=reason, precision_m=_finest(found), area=given,
            narrowed=not whole,
        )  # fmt: skip


def _where(area: Area | None) -> str:
    if area is None or area.is_ego_centric:
        return ""
    south, west, north, east = (getattr(area.bounds, name) for name in Box.__slots__)
    return f", between {south:.4f},{west:.4f} and {north:.4f},{east:.4f}"


def _part_of(rule: Rule, asked: Area) -> Area | None:
    """What a rule allows to hear of an area; None: nothing.

    Of a rule with a precision that is a little more: its places are matched as they are told.
    """
    if rule.precision_m is not None:
        asked = widened(asked, _reach(rule.precision_m))
    if rule.area is None or asked.is_ego_centric:
        return asked
    if isinstance(asked, Everywhere):
        return rule.area
    return _common(asked, rule.area)


# A packet may subscribe to very many topics in one area.
_within = lru_cache(maxsize=1024)(is_within)
_common = lru_cache(maxsize=1024)(common_part)


def _joined(parts: Sequence[Area]) -> Area:
    """One area that holds all of these; of circles that follow somebody, the largest."""
    following = [part for part in parts if isinstance(part, Circle) and part.is_ego_centric]
    if following:
        return max(following, key=lambda part: part.radius_m)
    return together(dict.fromkeys(parts))


def _reach(precision_m: float) -> float:
    """How far the middle of a cell at least so wide may be from a place in it: metres.

    Levels come in steps of two, so cells are up to four times as wide, and their diagonals up to
    2.6 times their least width.
    """
    return precision_m * 4 * 2.6 / 2


def _decided(applying: Sequence[Rule], what: str) -> Verdict:
    """The verdict of the rules that apply: those that deny come first."""
    if not applying:
        return Verdict(allowed=False, rule="", reason=f"no rule allows you to {what}")
    first = applying[0]
    if not first.allows:
        return Verdict(allowed=False, rule=first.name, reason=f"a rule denies you to {what}")
    finest = _finest(applying)
    deciding = next(rule for rule in applying if rule.precision_m == finest)
    return Verdict(allowed=True, rule=deciding.name, reason="", precision_m=finest)


def _finest(rules: Sequence[Rule]) -> float | None:
    """The finest precision of all rules that allow it; None, no limit, is the finest of all."""
    given = [rule.precision_m for rule in rules]
    return None if None in given else min(p for p in given if p is not None)


def _refused_hearing(rule: str, reason: str) -> HearingVerdict:
    return HearingVerdict(allowed=False, rule=rule, reason=reason)


def _is_inside(place: Place, area: Area) -> bool:
    return is_within(outline(place), area) if isinstance(place, Cell) else area.contains(place)
