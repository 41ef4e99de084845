"""Rules that change while a broker runs: its sessions are held to the new ones."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from zonal.broker.permission import check_subscription
from zonal.broker.reason_codes import Refused

if TYPE_CHECKING:
    from zonal.broker.access import Access
    from zonal.broker.session import ClientSession, ClientSubscription
    from zonal.broker.state import BrokerState
    from zonal.trust import Rules

logger = logging.getLogger(__name__)


def change_rules(broker: BrokerState, rules: Rules | None, access: Access | None = None) -> None:
    """Holds users and subscriptions to other rules from now on; None: to none.

    A subscription that they no longer allow is gone; what already waits for a client stays.

    Args:
        broker: whose sessions they are.
        rules: the new rules.
        access: whose clients are held to them; by default those of the first entrance.
    """
    access = access or broker.access
    before, access.rules = access.rules, rules
    broker.judge_movements()
    for session in list(broker.sessions.values()):
        if session.user is None and access is not broker.access:
            continue
        if session.user is not None and session.user.rules is not before:
            continue  # it came in by another entrance
        session.user = access.user(session.user_name)
        if session.connection is not None:
            session.connection.user = session.user
        hold_to_rules(broker, session)


def hold_to_rules(broker: BrokerState, session: ClientSession) -> None:
    """Holds a session's subscriptions to what its user may hear now."""
    for subscription in list(session.subscriptions.values()):
        _hold(broker, subscription)


def _hold(broker: BrokerState, old: ClientSubscription) -> None:
    session = old.session
    try:
        verdict = check_subscription(session, old.filter, old.asked)
    except Refused as refused:
        logger.info("%r may no longer hear %r: %s", session.client_id, old.pattern, refused)
        session.unsubscribe(old.pattern)
        broker.matching.remove(old)
        broker.journal.unsubscribe(session, old.pattern)
        return
    new = replace(old, area=old.asked if verdict is None else verdict.area)
    session.subscribe(new)
    broker.matching.replace(old, new)
