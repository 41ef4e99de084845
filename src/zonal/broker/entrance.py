"""Where clients come in: who is let in by a listener, and what they may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.broker.rates import Allowance

if TYPE_CHECKING:
    from zonal.broker.access import Access, User
    from zonal.broker.settings import Limits


class Entrance:
    """What holds for all connections of a listener, or of several that do not differ.

    Args:
        access: who is let in, and may do what.
        limits: of the connections, as far as they are one's own (`OF_A_LISTENER`).
    """

    def __init__(self, access: Access, limits: Limits) -> None:
        self.access = access
        self.limits = limits
        self.connections = 0
        """How many there are."""
        self._of_users: dict[str, Allowance] = {}

    def allowances(self, user: User, now: float) -> tuple[Allowance, ...]:
        """What a new connection may use: its own share, and what it shares with its user's."""
        limits, found = self.limits, []
        if limits.client_rates.are_limited:
            found.append(Allowance(limits.client_rates, now))
        if limits.user_rates.are_limited and user.name is not None:
            shared = self._of_users.get(user.name)
            if shared is None:
                shared = self._of_users[user.name] = Allowance(limits.user_rates, now)
            found.append(shared)
        return tuple(found)
