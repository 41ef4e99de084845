"""Whom a rule is for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """Users by name, everyone with a name, those without one."""

    names: frozenset[str] = frozenset()
    everyone: bool = False
    """Every user with a name."""
    anonymous: bool = False

    def includes(self, user: str | None) -> bool:
        """Whether a user is meant; None is one without a name."""
        return self.anonymous if user is None else self.everyone or user in self.names
