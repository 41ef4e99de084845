from __future__ import annotations

import mqtt5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_bench import Bench, Client, show
from property_examples import examples
from zonal.broker.message import Message
from zonal.broker.retained import Retained
from zonal.broker.settings import Limits, Settings
from zonal.broker.topics import covers, matches, parse_pattern

RETAIN_ALWAYS = mqtt5.RetainHandling.SEND_ALWAYS
RETAIN_NEW = mqtt5.RetainHandling.SEND_IF_SUBSCRIPTION_NOT_EXISTS
RETAIN_NEVER = mqtt5.RetainHandling.SEND_NEVER


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("a/b", 1), ("a/+/c", 1), ("#", 1), ("+", 1), ("/", 1), ("a//b", 1), ("$SYS/#", 1),
        ("$share/g/a", 1), ("a#", 0x8F), ("a/#/b", 0x8F), ("a+", 0x8F), ("", 0x8F),
        ("$share/g", 0x8F), ("$share//a", 0x8F), ("$share/+/a", 0x8F), ("$share/g/", 0x8F),
        ("$share/g#/a", 0x8F),
    ],
)  # fmt: skip
def test_filters_are_granted_or_refused(pattern: str, code: int) -> None:
    answer = Bench().connected("a").subscribe(pattern, 1)
    assert [int(c) for c in answer.reason_codes] == [code]
    assert (answer.reason_str is not None) == (code == 0x8F)


def test_one_bad_filter_does_not_affect_the_others() -> None:
    client = Bench().connected("a")
    filters = [mqtt5.TopicFilter("good"), mqtt5.TopicFilter("b~d"), mqtt5.TopicFilter("fine")]
    client.send_bytes(show(mqtt5.SubscribePacket(1, filters).write()))
    assert [int(c) for c in client.one(mqtt5.SubAckPacket).reason_codes] == [2, 0x8F, 2]


def test_no_local_on_a_shared_subscription_is_a_protocol_error() -> None:
    client = Bench().connected("a")
    client.send(mqtt5.SubscribePacket(1, [mqtt5.TopicFilter("$share/g/t", no_local=True)]))
    assert client.refused_with() == 0x82


def test_unsubscribing() -> None:
    bench = Bench()
    client = bench.connected("a")
    client.subscribe("x")
    client.send_bytes(show(mqtt5.UnsubscribePacket(3, ["x", "y", "b~d"]).write()))
    answer = client.one(mqtt5.UnsubAckPacket)
    assert [int(c) for c in answer.reason_codes] == [0, 0x11, 0x8F]
    client.publish("x", b"")
    assert client.packets() == []


def test_no_local_keeps_a_clients_own_messages_away() -> None:
    bench = Bench()
    client, other = bench.connected("a"), bench.connected("b")
    client.subscribe("x", no_local=True)
    client.publish("x", b"mine")
    other.publish("x", b"theirs")
    assert client.payloads() == [b"theirs"]


def test_no_local_of_one_subscription_does_not_silence_another() -> None:
    client = Bench().connected("a")
    client.subscribe("x/#", no_local=True, identifier=1)
    client.subscribe("x/y", identifier=2)
    client.publish("x/y", b"mine")
    assert [m.subscription_ids for m in client.messages()] == [[2]]


def test_overlapping_subscriptions_give_one_message_with_all_identifiers() -> None:
    bench = Bench()
    client = bench.connected("a")
    client.subscribe("x/#", 0, identifier=1)
    client.subscribe("x/+", 2, identifier=2_000_000)
    client.subscribe("x/y", 1)
    bench.connected("b").publish("x/y", b"", 2)
    message = client.one(mqtt5.PublishPacket)
    assert sorted(message.subscription_ids) == [1, 2_000_000]
    assert int(message.qos) == 2


def test_subscribing_again_replaces_the_subscription() -> None:
    bench = Bench()
    client, other = bench.connected("a"), bench.connected("b")
    client.subscribe("x", 2, identifier=1)
    client.subscribe("x", 0, identifier=9)
    other.publish("x", b"", 2)
    message = client.one(mqtt5.PublishPacket)
    assert (int(message.qos), message.subscription_ids) == (0, [9])


def test_retained_messages_reach_later_subscribers_with_the_retain_flag() -> None:
    bench = Bench()
    publisher = bench.connected("p")
    publisher.publish("r/1", b"old", 1, retain=True)
    publisher.publish("r/1", b"one", 1, retain=True)
    publisher.publish("r/2", b"two", 2, retain=True)
    client = bench.connected("a")
    client.subscribe("r/#", 1, identifier=4)
    got = {(m.topic, m.payload, m.retain, int(m.qos)) for m in client.messages()}
    assert got == {("r/1", b"one", True, 1), ("r/2", b"two", True, 1)}


def test_an_empty_payload_clears_a_retained_message() -> None:
    bench = Bench()
    publisher = bench.connected("p")
    publisher.publish("r", b"x", retain=True)
    publisher.publish("r", b"", retain=True)
    client = bench.connected("a")
    client.subscribe("r")
    assert client.packets() == []
    assert len(bench.broker.retained) == 0


def test_retained_messages_expire() -> None:
    bench = Bench()
    bench.connected("p").publish("r", b"x", retain=True, message_expiry_interval=5)
    client = bench.connected("a")
    bench.wait(2)
    client.subscribe("r")
    assert [m.message_expiry_interval for m in client.messages()] == [3]
    bench.wait(4)
    client.subscribe("r")
    assert client.packets() == []


@pytest.mark.parametrize(
    ("handling", "first", "second"),
    [(RETAIN_ALWAYS, 1, 1), (RETAIN_NEW, 1, 0), (RETAIN_NEVER, 0, 0)],
)
def test_retain_handling(handling: mqtt5.RetainHandling, first: int, second: int) -> None:
    bench = Bench()
    bench.connected("p").publish("r", b"x", retain=True)
    client = bench.connected("a")
    for expected in (first, second):
        client.subscribe("r", retain_handling=handling)
        assert len(client.messages()) == expected


@pytest.mark.parametrize("as_published", [True, False])
def test_retain_as_published(as_published: bool) -> None:
    bench = Bench()
    client = bench.connected("a")
    client.subscribe("r", retain_as_published=as_published)
    bench.connected("p").publish("r", b"x", retain=True)
    assert [m.retain for m in client.messages()] == [as_published]


def test_shared_subscriptions_get_no_retained_messages() -> None:
    bench = Bench()
    bench.connected("p").publish("r", b"x", retain=True)
    client = bench.connected("a")
    client.subscribe("$share/g/r")
    assert client.packets() == []


def shared(bench: Bench, count: int, qos: int = 1) -> list[Client]:
    members = [bench.connected(f"m{n}", expiry=100) for n in range(count)]
    for member in members:
        member.subscribe("$share/g/t/#", qos)
    return members


def test_each_message_reaches_one_member_of_a_group_and_all_get_some() -> None:
    bench = Bench()
    members = shared(bench, 3)
    outside = bench.connected("o")
    outside.subscribe("t/#")
    publisher = bench.connected("p")
    for number in range(30):
        publisher.publish("t/x", bytes([number]), 1)
    shares = [member.payloads() for member in members]
    assert sorted(p for share in shares for p in share) == [bytes([n]) for n in range(30)]
    assert all(shares)
    assert len(outside.messages()) == 30


def test_two_groups_each_get_every_message() -> None:
    bench = Bench()
    one, two = bench.connected("one"), bench.connected("two")
    one.subscribe("$share/g/t")
    two.subscribe("$share/h/t")
    bench.connected("p").publish("t", b"x")
    assert one.payloads() == two.payloads() == [b"x"]


def test_connected_members_are_preferred() -> None:
    bench = Bench()
    members = shared(bench, 2)
    members[0].hang_up()
    publisher = bench.connected("p")
    for number in range(4):
        publisher.publish("t/x", bytes([number]), 1)
    assert len(members[1].messages()) == 4


def test_a_group_hands_unacknowledged_messages_on_when_a_session_ends() -> None:
    bench = Bench()
    members = shared(bench, 2, 2)
    publisher = bench.connected("p")
    for number in range(4):
        publisher.publish("t/x", bytes([number]), 1)
    publisher.publish("t/x", b"exactly once a", 2)
    publisher.publish("t/x", b"exactly once b", 2)
    lost = members[0].payloads()
    members[1].packets()
    members[0].send(mqtt5.DisconnectPacket(session_expiry_interval=0))
    assert members[1].payloads() == [p for p in lost if len(p) == 1]


def test_too_many_subscriptions() -> None:
    client = Bench(Settings(limits=Limits(maximum_subscriptions=1), sys_interval=0)).connected("a")
    assert int(client.subscribe("a").reason_codes[0]) == 0
    assert int(client.subscribe("b").reason_codes[0]) == 0x97
    assert int(client.subscribe("a").reason_codes[0]) == 0


def test_no_reason_strings_where_the_client_wants_none() -> None:
    client = Bench().connected("a", request_problem_info=False)
    assert client.subscribe("b#d").reason_str is None


LEVELS = st.lists(st.sampled_from(["", "a", "b", "$x"]), min_size=1, max_size=4)
FILTERS = st.lists(st.sampled_from(["", "a", "b", "$x", "+"]), min_size=1, max_size=4).flatmap(
    lambda levels: st.sampled_from([levels, [*levels, "#"], ["#"]])
)


def reference(levels: list[str], topic: list[str]) -> bool:
    """MQTT 5, section 4.7, word by word and recursively."""
    if not levels:
        return not topic
    if levels[0] == "#":
        return True
    if not topic:
        return False
    return levels[0] in {"+", topic[0]} and reference(levels[1:], topic[1:])


@examples(300)
@given(FILTERS, st.lists(LEVELS, max_size=6))
def test_retained_look_up_and_matching_follow_the_specification(
    levels: list[str], topics: list[list[str]]
) -> None:
    names = {"/".join(topic) for topic in topics} - {""}
    kept = Retained()
    for name in names:
        kept.put(Message(name, b"x", retain=True))
    topic_filter = "/".join(levels)
    if parse_pattern(topic_filter, 100) is None:
        return
    expected = {
        name
        for name in names
        if reference(levels, name.split("/"))
        and not (name.startswith("$") and levels[0] in {"#", "+"})
    }
    assert {m.topic for m in kept.matching(topic_filter, 0)} == expected
    assert {name for name in names if matches(topic_filter, name)} == expected
    for name in names:
        assert kept.remove(name)
    assert len(kept) == 0
    assert not kept._root.children


@examples(200)
@given(FILTERS, FILTERS, LEVELS)
def test_a_covering_filter_matches_whatever_the_covered_one_does(
    outer: list[str], inner: list[str], topic: list[str]
) -> None:
    if covers("/".join(outer), "/".join(inner)) and reference(inner, topic):
        assert reference(outer, topic)


def test_a_groups_qos_2_message_under_way_goes_to_nobody_else_when_its_session_ends() -> None:
    """MQTT-4.8.2-5."""
    bench = Bench()
    first = bench.connected("first", expiry=5)
    first.subscribe("$share/g/t", 2)
    writer = bench.connected("writer")
    writer.publish("t", b"x", 2)
    assert len(first.messages()) == 1
    other = bench.connected("other")
    other.subscribe("$share/g/t", 2)
    first.hang_up()
    bench.wait(6)
    assert other.messages() == []
