"""The areas that strangers announce for a topic: so many as may be known, read when asked for."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from zonal.keys import AnnouncedArea, announced_expression, read_announced

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonal.keys import Encoding

MOST_AREAS, MOST_CHARACTERS = 1_024, 512 * 1024
"""What is known of a topic at most: areas, and characters of the expressions that say them."""
MOST_TOKENS = 16_384
"""Devices that announce them."""
MOST_LEFT_OUT = 65_536
"""So many tokens beyond are remembered until they go."""


class AnnouncedAreas:
    """What the tokens of one topic and encoding announce; for any thread.

    A token is only kept when it comes: its area is read by whoever asks for the areas. Tokens
    beyond the bounds are left out, and as long as there are any the areas are not `complete`.

    Args:
        on_malformed: called with why an area could not be read, once while it is announced.
        on_left_out: called with each token that is left out.
    """

    def __init__(
        self,
        encoding: Encoding,
        on_malformed: Callable[[Exception], None],
        on_left_out: Callable[[str], None],
    ) -> None:
        self._encoding = encoding
        self._on_malformed = on_malformed
        self._on_left_out = on_left_out
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        # Tokens by their hashes, which nobody outside can foresee.
        self._holders: dict[str, set[int]] = {}
        self._characters = self._tokens = 0
        self._areas: dict[str, AnnouncedArea] = {}
        self._unread: dict[str, None] = {}
        self._left_out: set[int] = set()
        self._is_lost = False

    @property
    def complete(self) -> bool:
        """Whether no area is left out."""
        return not self._left_out and not self._is_lost

    def add(self, token: str) -> None:
        """Somebody announces an area."""
        expression, mark = announced_expression(token), hash(token)
        with self._lock:
            holders = self._holders.get(expression)
            if holders is not None and mark in holders:
                return
            if self._has_room(expression, is_new=holders is None):
                self._keep(expression, mark)
                return
            is_news = mark not in self._left_out
            if len(self._left_out) < MOST_LEFT_OUT:
                self._left_out.add(mark)
            else:
                self._is_lost = True
        if is_news:
            self._on_left_out(token)

    def _has_room(self, expression: str, *, is_new: bool) -> bool:
        if self._tokens >= MOST_TOKENS:
            return False
        if not is_new:
            return True
        characters = self._characters + len(expression)
        return len(self._holders) < MOST_AREAS and characters <= MOST_CHARACTERS

    def _keep(self, expression: str, mark: int) -> None:
        holders = self._holders.get(expression)
        if holders is None:
            holders = self._holders[expression] = set()
            self._characters += len(expression)
            self._unread[expression] = None
        holders.add(mark)
        self._tokens += 1

    def remove(self, token: str) -> None:
        """Somebody does not any more."""
        expression, mark = announced_expression(token), hash(token)
        with self._lock:
            self._left_out.discard(mark)
            holders = self._holders.get(expression, set())
            if mark not in holders:
                return
            holders.remove(mark)
            self._tokens -= 1
            if not holders:
                del self._holders[expression]
                self._characters -= len(expression)
                self._areas.pop(expression, None)
                self._unread.pop(expression, None)

    def known(self) -> list[AnnouncedArea]:
        """Those that are announced now; of what is left out nothing is known."""
        with self._reading:  # who asks meanwhile waits, and misses none
            with self._lock:
                unread, self._unread = list(self._unread), {}
            for expression in unread:
                self._read(expression)
        with self._lock:
            return list(self._areas.values())

    def _read(self, expression: str) -> None:
        try:
            area = read_announced(expression, self._encoding)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other areas are read
            self._on_malformed(error)
            return
        with self._lock:
            if expression in self._holders:
                self._areas[expression] = area
