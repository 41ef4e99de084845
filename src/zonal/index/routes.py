"""Routes: from a topic to the audiences that listen to it, remembered between messages."""

from __future__ import annotations

from typing import Any

from zonal.index.audience import Audience
from zonal.index.chunks import is_wild
from zonal.index.filters import Syntax, TopicFilter
from zonal.index.tree import TopicTree

MAX_ROUTES = 1 << 16
"""Topics that are remembered; a bound, so that topics by the million do no harm."""
LONGEST_TOPIC = 512
"""Characters of a topic that is remembered: long ones by the thousand would fill the memory."""


class Route:
    """The audiences of one topic, and the values of all of them while nobody comes or goes."""

    __slots__ = ("_stamp", "audiences", "values")

    def __init__(self, audiences: list[Audience]) -> None:
        self.audiences = audiences
        self.values: list[Any] = []
        self._stamp = -1

    @property
    def is_fresh(self) -> bool:
        """Whether `values` is up to date; safe to ask while another thread writes."""
        audiences = self.audiences
        if len(audiences) == 1:
            return audiences[0].stamp == self._stamp
        return sum([audience.stamp for audience in audiences]) == self._stamp

    def remember(self, values: list[Any]) -> None:
        """Keep the values until an audience changes (its stamp only ever grows)."""
        self.values = values
        self._stamp = sum([audience.stamp for audience in self.audiences])


class Routes:
    """The topic tree with its audiences, and the routes found in it so far."""

    def __init__(self) -> None:
        self._tree: TopicTree[Audience] = TopicTree()
        self._mqtt: dict[str, Route] = {}
        self._zenoh: dict[str, Route] = {}

    def remembered(self, syntax: Syntax) -> dict[str, Route]:
        """The routes known so far, by topic."""
        return self._mqtt if syntax is Syntax.MQTT else self._zenoh

    def find(self, topic: str, syntax: Syntax) -> Route:
        """The route of a topic."""
        routes = self._mqtt if syntax is Syntax.MQTT else self._zenoh
        route = routes.get(topic)
        if route is None:
            route = Route(self._tree.match(topic, syntax))
            if len(topic) <= LONGEST_TOPIC and (syntax is Syntax.MQTT or not is_wild(topic)):
                if len(routes) >= MAX_ROUTES:
                    routes.clear()
                routes[topic] = route
        return route

    def audience(self, topic_filter: TopicFilter) -> Audience:
        """The audience of a filter, made when first needed."""
        audience = self._tree.get(topic_filter)
        if audience is None:
            audience = Audience(topic_filter)
            self._tree.set(topic_filter, audience)
            self._forget(topic_filter)
        return audience

    def close_if_empty(self, audience: Audience) -> None:
        """Take the audience of a filter that nobody uses any more out of the tree."""
        if not len(audience):
            self._tree.delete(audience.topic_filter)
            self._forget(audience.topic_filter)

    def _forget(self, topic_filter: TopicFilter) -> None:
        """A filter came or went: forget the routes that this may change."""
        if not self._mqtt and not self._zenoh:
            return
        topic = topic_filter.topic if topic_filter.is_literal else None
        for routes in (self._mqtt, self._zenoh):
            if topic is None:
                routes.clear()
            else:
                routes.pop(topic, None)
