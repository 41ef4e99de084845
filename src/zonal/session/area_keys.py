"""The keys of areas that are declared by themselves: in encodings without cells that all share.

A key costs little to declare, but a cover in `mgrs` takes milliseconds to compute. So the covers of
a crowd, which would be too many keys anyway, are not computed at all.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from zonal.keys import area_keys, following_keys

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from zonal.geo import Area
    from zonal.keys import Encoding
    from zonal.session.wish import Wish

_AGAIN = 16
"""So many changes for each that is left, and what was too much is counted anew."""


class AreaKeys:
    """The keys of many areas of one topic, as they come, move and go.

    When they become too many together the encodings are wanted whole, and areas are only
    remembered: until half of them have gone, or each has changed 16 times in the mean.

    Args:
        topic: a key expression without a location.
        encodings: in which areas are declared by themselves.
        most: so many keys together are not too many.
        an_area: the bound of each area's own keys, where there are many.
        room: what single areas may have in all of it, where there are few.
    """

    def __init__(
        self, topic: str, encodings: Iterable[Encoding], *, most: int, an_area: int, room: int
    ) -> None:
        self._topic = topic
        self._encodings = tuple(encodings)
        self._most, self._an_area, self._room = most, an_area, room
        self._wishes: dict[Hashable, Wish] = {}
        self._keys_of: dict[tuple[Hashable, str], tuple[str, ...]] = {}  # and encoding
        self._counts: Counter[str] = Counter()
        self._whole_from = 0  # so many areas were too much; 0: they are not
        self._changes = 0  # since then

    @property
    def is_whole(self) -> bool:
        """Whether there are too many, so that all of the topic is to be declared."""
        return self._whole_from > 0

    @property
    def keys(self) -> frozenset[str]:
        """What to declare; nothing where that is the whole."""
        return frozenset(self._counts)

    def want(self, who: Hashable, wish: Wish | None) -> bool:
        """Take an area in, instead of an earlier one of its; whether anything else is declared."""
        if not self._encodings:
            return False
        old = self._wishes.pop(who, None)
        if wish is not None and wish.area is not None:
            self._wishes[who] = wish
        if self.is_whole:
            return self._is_less()
        before = self.keys
        self._change(who, old, self._wishes.get(who))
        if len(self._counts) > self._most:
            self._give_up()
        return self.is_whole or self.keys != before

    def fit(self, an_area: int) -> bool:
        """Cover each area anew, with so many keys at the most; whether anything else is declared.

        Too many stay so until there are fewer areas.
        """
        before, self._an_area = self.keys, an_area
        for who, wish in () if self.is_whole else tuple(self._wishes.items()):
            self._change(who, None, wish)
            if len(self._counts) > self._most:
                self._give_up()
                return True
        return self.keys != before

    def _is_less(self) -> bool:
        """Count anew where that is worth it; whether they are no longer too many."""
        self._changes += 1
        left = len(self._wishes)
        if 2 * left > self._whole_from and self._changes < _AGAIN * left:
            return False
        self._whole_from = 0
        for who, wish in self._wishes.items():
            self._change(who, None, wish)
            if len(self._counts) > self._most:
                self._give_up()
                return False
        return True

    def _give_up(self) -> None:
        self._whole_from, self._changes = len(self._wishes), 0
        self._keys_of.clear()
        self._counts.clear()

    def _change(self, who: Hashable, old: Wish | None, wish: Wish | None) -> None:
        """The keys of one area, instead of those that it had."""
        for encoding in self._encodings:
            had = self._keys_of.pop((who, encoding.name), ())
            if wish is not None and wish.area is not None:
                keys = self._of(wish.area, wish, encoding, old, had)
                self._keys_of[who, encoding.name] = keys
                self._counts.update(keys)
            self._counts.subtract(had)
            for key in had:
                if not self._counts[key]:
                    del self._counts[key]

    def _of(
        self, area: Area, wish: Wish, encoding: Encoding, old: Wish | None, had: tuple[str, ...]
    ) -> tuple[str, ...]:
        room = self._room // (2 * len(self._wishes))
        most = max(self._an_area, min(encoding.expressions_for(self._an_area), room))
        if old is None and wish.closely:
            return area_keys(self._topic, area, encoding, wish.role, most)
        kept = () if old is not None and wish.closely and not old.closely else had
        last = area if old is None or old.area is None else old.area
        return following_keys(
            kept, self._topic, last, area, encoding, wish.role, most, closely=wish.closely
        )
