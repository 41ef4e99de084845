"""From the subscriptions that want a message to those who get it: one copy a client or group."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zonal.broker.session import Copy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zonal.broker.session import ClientSession, ClientSubscription


class Receivers(NamedTuple):
    """Everyone who gets a message."""

    copies: list[Copy]
    groups: list[list[ClientSubscription]]
    """The members of each shared group; one of them gets it."""
    alike: bool
    """Whether all get the same bytes, whoever publishes."""
    subscriptions: Sequence[ClientSubscription]
    """All of them, whosever they are."""
    selective: bool = False
    """Whether some want nothing of their own client's (no local)."""
    guarded: bool = False
    """Whether rules have a say in who of them gets it, and how (`permission`)."""
    watching: Sequence[ClientSubscription] = ()
    """Those that want to know what the message shows at a border."""


def receivers_of(
    subscriptions: Sequence[ClientSubscription], source: str | None = None
) -> Receivers:
    """Puts overlapping subscriptions of a client together (MQTT 5, 3.3.4) and groups apart.

    Args:
        subscriptions: all that match a message.
        source: the client that published it, to whom no-local subscriptions do not apply.
    """
    # Most clients have one matching subscription: theirs are settled without a look-up.
    copies = [
        subscription.copy
        for subscription in subscriptions
        if subscription.plain and len(subscription.session.subscriptions) == 1
    ]
    if len(copies) == len(subscriptions):
        alike = not any(copy.identifiers for copy in copies)
        return Receivers(copies, [], alike, subscriptions)
    chosen: dict[ClientSession, Copy] = {}
    groups: dict[tuple[str, str], list[ClientSubscription]] = {}
    no_local = False
    watching = [subscription for subscription in subscriptions if subscription.watch is not None]
    guarded = any(subscription.guarded for subscription in subscriptions)
    for subscription in subscriptions:
        session = subscription.session
        if subscription.no_local:
            no_local = True
            if session.client_id == source:
                continue
        if subscription.watch is not None:
            continue
        if subscription.group is not None:
            groups.setdefault((subscription.group, subscription.filter), []).append(subscription)
        else:
            chosen[session] = _widened(chosen.get(session), subscription.copy)
    copies = list(chosen.values())
    special = groups or no_local or guarded or watching
    alike = not (special or any(copy.identifiers for copy in copies))
    return Receivers(
        copies, list(groups.values()), alike, subscriptions, no_local, guarded, watching
    )


def _widened(copy: Copy | None, other: Copy) -> Copy:
    """A copy that serves one more subscription of the same client."""
    if copy is None:
        return other
    return Copy(
        copy.session,
        max(copy.qos, other.qos),
        copy.identifiers + other.identifiers,
        copy.retain_as_published or other.retain_as_published,
    )
