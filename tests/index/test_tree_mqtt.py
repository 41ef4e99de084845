"""The tree against the MQTT 5 specification, sections 4.7 and 4.8, example by example."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.errors import TopicError
from zonal.index.filters import Syntax, read_filter, split_share
from zonal.index.tree import TopicTree


def matches(topic_filter: str, topic: str) -> bool:
    tree: TopicTree[str] = TopicTree()
    tree.set(read_filter(topic_filter, Syntax.MQTT), topic_filter)
    return tree.match(topic, Syntax.MQTT) == [topic_filter]


@pytest.mark.parametrize(
    ("topic_filter", "topic", "expected"),
    [
        # 4.7.1.2, multi-level wildcard
        ("sport/tennis/player1/#", "sport/tennis/player1", True),
        ("sport/tennis/player1/#", "sport/tennis/player1/ranking", True),
        ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", True),
        ("sport/#", "sport", True),
        ("#", "sport/tennis", True),
        ("sport/tennis/#", "sport/tennis", True),
        ("sport/#", "sports", False),
        # 4.7.1.3, single-level wildcard
        ("sport/tennis/+", "sport/tennis/player1", True),
        ("sport/tennis/+", "sport/tennis/player2", True),
        ("sport/tennis/+", "sport/tennis/player1/ranking", False),
        ("sport/+", "sport", False),
        ("sport/+", "sport/", True),
        ("+", "sport", True),
        ("+/tennis/#", "sport/tennis", True),
        ("+/tennis/#", "sport/tennis/player1/ranking", True),
        ("sport/+/player1", "sport/tennis/player1", True),
        ("+/+", "/finance", True),
        ("/+", "/finance", True),
        ("+", "/finance", False),
        # 4.7.2, topics beginning with $
        ("#", "$SYS/monitor", False),
        ("+/monitor/Clients", "$SYS/monitor/Clients", False),
        ("$SYS/#", "$SYS/monitor/Clients", True),
        ("$SYS/monitor/+", "$SYS/monitor/Clients", True),
        ("a/+", "a/$b", True),
        ("a/#", "a/$b", True),
        # 4.7.3, semantics and usage
        ("ACCOUNTS", "Accounts", False),
        ("Accounts payable", "Accounts payable", True),
        ("/finance", "finance", False),
        ("finance", "/finance", False),
        ("a//b", "a//b", True),
        ("a/+/b", "a//b", True),
        # What is special to Zenoh is text to MQTT.
        ("a/*", "a/b", False),
        ("a/*", "a/*", True),
        ("a/**", "a/b/c", False),
        ("a/+", "a/@b", True),
        ("#", "a/@b", True),
        ("a?", "a?", True),
        # 4.8.2, shared subscriptions match as their filter does
        ("$share/consumer1/sport/tennis/+", "sport/tennis/player1", True),
        ("$share/consumer1//finance", "/finance", True),
        ("$share/consumer1/sport/tennis/+", "$share/consumer1/sport/tennis/x", False),
        ("$share/g/#", "$SYS/monitor", False),
    ],
)
def test_mqtt_rules_by_example(topic_filter: str, topic: str, expected: bool) -> None:
    assert matches(topic_filter, topic) is expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sport/tennis#",
        "sport/tennis/#/ranking",
        "sport+",
        "sport/+x/a",
        "a\0b",
        "é" * 32_768,
        "$share",
        "$share/",
        "$share/group",
        "$share/group/",
        "$share//a",
        "$share/g+/a",
        "$share/g#/a",
    ],
)
def test_bad_filters_are_refused(text: str) -> None:
    with pytest.raises(TopicError):
        read_filter(text, Syntax.MQTT)


@pytest.mark.parametrize("topic", ["", "a/+", "#", "a\0"])
def test_bad_topics_are_refused(topic: str) -> None:
    with pytest.raises(TopicError):
        TopicTree[str]().match(topic, Syntax.MQTT)


def test_the_group_of_a_shared_subscription_is_told_apart() -> None:
    assert split_share("$share/consumer1//finance") == ("consumer1", "/finance")
    assert split_share("$shared/a") == (None, "$shared/a")
    assert read_filter("$share/g/a/+", Syntax.MQTT).share == "g"
    assert read_filter("a/+", Syntax.MQTT).share is None


def specification(levels: list[str], topic: list[str]) -> bool:
    """MQTT's rules as a recursive definition, independent of the tree."""
    if not levels:
        return not topic
    if levels[0] == "#":
        return True
    if not topic or (levels[0] != "+" and levels[0] != topic[0]):
        return False
    return specification(levels[1:], topic[1:])


def hidden(levels: list[str], topic: list[str]) -> bool:
    return levels[0] in ("+", "#") and topic[0].startswith("$")


names = st.sampled_from(["", "a", "b", "$a", "*", "@a"])
topics = st.lists(names, min_size=1, max_size=4).filter(lambda levels: levels != [""])
filters = st.tuples(
    st.lists(st.one_of(names, st.just("+")), min_size=1, max_size=4), st.booleans()
).map(lambda pair: pair[0] + ["#"] * pair[1])


@examples(400)
@given(st.lists(filters, max_size=12), topics)
def test_many_filters_in_one_tree_follow_the_definition(
    filter_levels: list[list[str]], topic: list[str]
) -> None:
    tree: TopicTree[str] = TopicTree()
    usable = ["/".join(levels) for levels in filter_levels if levels != [""]]
    for text in usable:
        tree.set(read_filter(text, Syntax.MQTT), text)
    expected = {
        text
        for text in usable
        if specification(text.split("/"), topic) and not hidden(text.split("/"), topic)
    }
    assert sorted(tree.match("/".join(topic), Syntax.MQTT)) == sorted(expected)


def test_both_syntaxes_live_in_one_tree_under_their_own_rules() -> None:
    tree: TopicTree[str] = TopicTree()
    for syntax, text in [
        (Syntax.MQTT, "a/+"),
        (Syntax.ZENOH, "a/*"),
        (Syntax.MQTT, "#"),
        (Syntax.ZENOH, "**"),
        (Syntax.MQTT, "a/*"),
    ]:
        tree.set(read_filter(text, syntax), f"{syntax.value} {text}")
    everything = ["mqtt #", "mqtt a/+", "zenoh **", "zenoh a/*"]
    assert sorted(tree.match("a/b", Syntax.MQTT)) == everything
    assert sorted(tree.match("a/b", Syntax.ZENOH)) == everything
    assert sorted(tree.match("a/@b", Syntax.ZENOH)) == ["mqtt #", "mqtt a/+"]
    assert sorted(tree.match("a//", Syntax.MQTT)) == ["mqtt #"]
    assert sorted(tree.match("a/*", Syntax.MQTT)) == ["mqtt #", "mqtt a/*", "mqtt a/+"]
    assert sorted(tree.match("a/*", Syntax.ZENOH)) == everything
    assert sorted(tree.match("$SYS/x", Syntax.MQTT)) == []
