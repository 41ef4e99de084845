"""Many brokers as one: two brokers at the ends of three routers in a row, all real."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
import zenoh
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

import zonal
from broker_phones import Phone, brokers, linked, until, user_properties
from zonal.broker import Options, Service, Settings
from zonal.broker.retained_elsewhere import RetainedElsewhere

DUOMO, NAVIGLI, BERLIN = "45.4642,9.1900", "45.4520,9.1750", "52.5200,13.4050"
MILANO = "POLYGON ((9.0 45.3, 9.4 45.3, 9.4 45.6, 9.0 45.6, 9.0 45.3))"
BERLIN_BOX = "POLYGON ((13.3 52.4, 13.5 52.4, 13.5 52.6, 13.3 52.6, 13.3 52.4))"
GERMANY = "POLYGON ((6 47, 15 47, 15 55, 6 55, 6 47))"

BOTH = (
    "MULTIPOLYGON (((9 45.3, 9.4 45.3, 9.4 45.6, 9 45.6, 9 45.3)), "
    "((6 47, 15 47, 15 55, 6 55, 6 47)))"
)


@pytest.fixture(scope="module")
def routers() -> Iterator[list[zonal.Router]]:
    """Three routers in a row."""
    with contextlib.ExitStack() as stack:
        row: list[zonal.Router] = []
        for _ in range(3):
            connect = [row[-1].endpoints[0]] if row else []
            row.append(stack.enter_context(zonal.Router(["tcp/127.0.0.1:0"], connect=connect)))
        yield row


async def test_messages_pass_with_all_their_properties(routers: list[zonal.Router]) -> None:
    async with brokers(routers) as (one, two), Phone(one, "a") as a, Phone(two, "b") as b:
        await b.subscribe("city/+/air")
        await linked(a, b, "city/milano/air")
        properties = Properties(PacketTypes.PUBLISH)
        properties.UserProperty = [("k", "v")]
        properties.ContentType = "text/plain"
        properties.ResponseTopic = "reply"
        properties.CorrelationData = b"\0\1"
        await a.client.publish("city/milano/air", "21", qos=1, properties=properties)
        await a.publish("city/milano/noise", "no")
        await until(lambda: b.heard)
        (message,) = b.heard
        assert message.topic.value == "city/milano/air"
        assert message.qos == 1
        assert message.properties is not None
        assert message.properties.UserProperty == [("k", "v")]
        assert message.properties.ContentType == "text/plain"
        assert message.properties.ResponseTopic == "reply"
        assert message.properties.CorrelationData == b"\0\1"


async def test_the_three_checks_hold_across_brokers(routers: list[zonal.Router]) -> None:
    async with (
        brokers(routers) as (one, two),
        Phone(one, "producer") as producer,
        Phone(two, "open", DUOMO) as open_,
        Phone(two, "fenced", DUOMO) as fenced,
        Phone(two, "near", DUOMO) as near,
        Phone(two, "abroad", BERLIN) as abroad,
        Phone(two, "nowhere") as nowhere,
    ):
        await open_.subscribe("t")
        await fenced.subscribe("t", geofence=MILANO)
        await near.subscribe("t", around="500m")
        await abroad.subscribe("t", geofence=GERMANY)
        await nowhere.subscribe("t")
        phones = {"open": open_, "fenced": fenced, "near": near, "abroad": abroad,
                  "nowhere": nowhere}  # fmt: skip
        await linked(producer, near, "t", location=DUOMO)
        await linked(producer, near, "t", location=DUOMO, geofence=BOTH)
        await linked(producer, abroad, "t", location=BERLIN)
        await linked(producer, abroad, "t", location=BERLIN, geofence=BOTH)
        await linked(producer, open_, "t", geofence=BOTH)
        await producer.publish("t", "start", location=DUOMO)
        await until(lambda: all("start" in p.payloads() for p in (open_, nowhere, fenced, near)))
        for phone in phones.values():
            phone.heard.clear()
        cases: dict[str, tuple[dict[str, str], set[str]]] = {
            "plain": ({}, {"open", "nowhere"}),
            "duomo": ({"location": DUOMO}, {"open", "nowhere", "fenced", "near"}),
            "navigli": ({"location": NAVIGLI}, {"open", "nowhere", "fenced"}),
            "berlin": ({"location": BERLIN}, {"open", "nowhere", "abroad"}),
            "to milano": ({"geofence": MILANO}, {"open"}),
            "duomo to milano": (
                {"location": DUOMO, "geofence": MILANO}, {"open", "fenced", "near"},
            ),
            "berlin to milano": ({"location": BERLIN, "geofence": MILANO}, {"open"}),
            "berlin to germany": ({"location": BERLIN, "geofence": GERMANY}, {"abroad"}),
        }  # fmt: skip
        for payload, (places, _) in cases.items():
            await producer.publish("t", payload, **places)
        expected = {
            name: [payload for payload, (_, who) in cases.items() if name in who] for name in phones
        }
        await until(lambda: all(len(phones[n].heard) >= len(expected[n]) for n in phones))
        await producer.publish("t", "last", location=DUOMO)
        await until(lambda: "last" in open_.payloads() and "last" in fenced.payloads())
        got = {name: [p for p in phone.payloads() if p != "last"] for name, phone in phones.items()}
        assert got == expected


async def test_links_carry_only_what_someone_behind_them_may_want(
    routers: list[zonal.Router],
) -> None:
    async with (
        brokers(routers) as (one, two),
        Phone(one, "p") as producer,
        Phone(two, "r", DUOMO) as reader,
    ):
        await reader.subscribe("only/here", geofence=MILANO)
        await linked(producer, reader, "only/here", location=DUOMO)
        before = two.broker.counters.remote_received
        for _ in range(20):
            await producer.publish("only/here", "far", location=BERLIN)
            await producer.publish("only/there", "other topic", location=DUOMO)
            await producer.publish("only/here", "no place")
            await producer.publish("only/here", "to others", location=DUOMO, geofence=BERLIN_BOX)
        await producer.publish("only/here", "wanted", location=DUOMO)
        await until(lambda: "wanted" in reader.payloads())
        assert two.broker.counters.remote_received - before == 1
        assert one.broker.counters.remote_received == 0


async def test_a_fenced_message_travels_once(routers: list[zonal.Router]) -> None:
    seen: list[str] = []

    def see(sample: zenoh.Sample) -> None:
        seen.append(sample.payload.to_string())

    areas = [MILANO, BOTH, "CIRCLE (9.19 45.46, 1234)"]
    async with (
        brokers(routers) as (one, two),
        Phone(one, "p") as producer,
        Phone(two, "r", DUOMO) as reader,
    ):
        await reader.subscribe("fenced")
        with zenoh.open(zonal.config("client", connect=routers[1].endpoints)) as session:
            session.declare_subscriber("fenced/@to/**", see)
            await linked(producer, reader, "fenced", geofence=BOTH)
            await until(lambda: seen[-1:] and seen[-1].startswith("linked"))
            for area in areas:
                await producer.publish("fenced", area, geofence=area)
            await until(lambda: len(reader.payloads()) >= 3 and areas[-1] in seen)
    assert [text for text in seen if text in areas] == areas


async def test_moving_clients_take_their_interest_along(routers: list[zonal.Router]) -> None:
    async with (
        brokers(routers) as (one, two),
        Phone(one, "p") as producer,
        Phone(two, "r", DUOMO) as reader,
    ):
        await reader.subscribe("moving", around="300m")
        await linked(producer, reader, "moving", location=DUOMO)
        await reader.publish("$zonal/location", BERLIN)
        await linked(producer, reader, "moving", location=BERLIN)
        await producer.publish("moving", "old place", location=DUOMO)
        await producer.publish("moving", "new place", location=BERLIN)
        await until(lambda: reader.heard)
        assert reader.payloads() == ["new place"]


async def test_zenoh_clients_and_mqtt_clients_talk(routers: list[zonal.Router]) -> None:
    async with brokers(routers, (2,)) as (two,), Phone(two, "m", DUOMO) as phone:
        place = zonal.Point(45.4650, 9.1905)
        config = zonal.config("client", connect=[routers[0].endpoints[0]])
        session = await asyncio.to_thread(zonal.open, config, position=place)
        try:
            subscriber = session.declare_subscriber(
                "city/air", area=zonal.Circle(place, radius_m=1000)
            )
            await phone.subscribe("city/#", geofence=MILANO)

            def heard() -> zonal.Sample | None:
                return subscriber.try_recv()

            async with asyncio.timeout(15):
                while not phone.heard:
                    await asyncio.to_thread(session.put, "city/air", b"from zenoh")
                    await asyncio.sleep(0.05)
            message = phone.heard[0]
            assert message.payload == b"from zenoh"
            assert message.properties is not None
            assert message.properties.UserProperty == [("location", "45.465,9.1905")]
            sample = None
            async with asyncio.timeout(15):
                while sample is None:
                    await phone.publish("city/air", "from mqtt", location=DUOMO)
                    await asyncio.sleep(0.05)
                    while (got := heard()) is not None:
                        sample = got if got.payload.to_bytes() == b"from mqtt" else sample
            assert sample.key == "city/air"
            assert sample.location == zonal.Point(45.4642, 9.19)
        finally:
            await asyncio.to_thread(session.close)


async def test_a_broker_hears_a_bloom_domain_that_an_option_names(
    routers: list[zonal.Router],
) -> None:
    domain = "bloom:45.2,9.0,45.6,9.4,8x8,0.1"
    endpoint = routers[0].endpoints[0]
    options = Options(port=0, connect=(endpoint,), encodings=(domain,))
    config = zonal.config("client", connect=[endpoint])
    async with Service(options) as broker, Phone(broker, "m", DUOMO) as phone:
        session = await asyncio.to_thread(zonal.open, config, encoding=domain)
        try:
            await phone.subscribe("city/#", geofence=MILANO)
            async with asyncio.timeout(15):
                while not phone.heard:
                    far, near = zonal.Point(45.21, 9.01), zonal.Point(45.4650, 9.1905)
                    await asyncio.to_thread(session.put, "city/air", "far", location=far)
                    await asyncio.to_thread(session.put, "city/air", "near", location=near)
                    await asyncio.sleep(0.05)
            assert set(phone.payloads()) == {"near"}
        finally:
            await asyncio.to_thread(session.close)


@pytest.mark.parametrize(
    ("content_type", "is_text", "encoding"),
    [
        ("application/json", False, "application/json"),
        ("my/own; version=2", True, "my/own; version=2"),
        (None, True, "zenoh/string"),
        (None, False, "zenoh/bytes"),
        ("x/" + "y" * 253, False, "x/" + "y" * 253),
        ("x/" + "y" * 254, False, "zenoh/bytes"),
    ],
)
async def test_a_content_type_is_zenohs_encoding_and_back(
    routers: list[zonal.Router], content_type: str | None, is_text: bool, encoding: str
) -> None:
    async with brokers(routers, (0,)) as (one,), Phone(one, "m") as phone:
        config = zonal.config("client", connect=[routers[0].endpoints[0]])
        session = await asyncio.to_thread(zonal.open, config)
        try:
            subscriber = session.declare_subscriber("from/mqtt")
            await phone.subscribe("from/zenoh")
            properties = Properties(PacketTypes.PUBLISH)
            properties.PayloadFormatIndicator = int(is_text)
            if content_type is not None:
                properties.ContentType = content_type
            sample = None
            async with asyncio.timeout(15):
                while (sample := subscriber.try_recv()) is None:
                    await phone.client.publish("from/mqtt", "{}", qos=1, properties=properties)
                    await asyncio.sleep(0.05)
            assert str(sample.content_encoding) == encoding
            async with asyncio.timeout(15):
                while not phone.heard:
                    await asyncio.to_thread(
                        session.put, "from/zenoh", b"{}", content_encoding=sample.content_encoding
                    )
                    await asyncio.sleep(0.05)
            got = phone.heard[0].properties
            assert got is not None
            described = encoding not in {"zenoh/bytes", "zenoh/string"}
            assert getattr(got, "ContentType", None) == (encoding if described else None)
            assert getattr(got, "PayloadFormatIndicator", 0) == int(encoding == "zenoh/string")
        finally:
            await asyncio.to_thread(session.close)


async def test_topics_too_long_for_zenoh_stay_at_home_and_the_others_go_on(
    routers: list[zonal.Router],
) -> None:
    endless = "x" * 65_000
    async with (
        brokers(routers) as (one, two),
        Phone(one, "p", DUOMO) as a,
        Phone(one, "s", DUOMO) as neighbour,
        Phone(two, "r", DUOMO) as b,
    ):
        await neighbour.subscribe(endless, geofence=MILANO)
        await b.subscribe("short")
        await a.client.publish(endless, "long", qos=1, retain=True)
        await until(lambda: neighbour.payloads() == ["long"])
        await linked(a, b, "short")


async def test_topics_that_are_no_zenoh_keys_pass_too(routers: list[zonal.Router]) -> None:
    odd = ["/leading", "trailing/", "a//b", "@home/x", "50%/$x", "what?*"]
    async with brokers(routers) as (one, two), Phone(one, "p") as a, Phone(two, "r") as b:
        await b.subscribe("#")
        await linked(a, b, "x")
        for topic in odd:
            await a.publish(topic, "x")
        await until(lambda: len(b.heard) >= len(odd))
        assert [m.topic.value for m in b.heard] == odd


async def test_overlapping_interest_delivers_once(routers: list[zonal.Router]) -> None:
    async with (
        brokers(routers) as (one, two),
        Phone(one, "p") as a,
        Phone(two, "r") as b,
        Phone(two, "s", DUOMO) as c,
    ):
        await b.subscribe("o/+")
        await c.subscribe("+/x")
        await c.subscribe("o/#", geofence=MILANO)
        await linked(a, b, "o/x", location=DUOMO)
        await linked(a, c, "o/x", location=DUOMO)
        b.heard.clear()
        for number in range(10):
            await a.publish("o/x", str(number), location=DUOMO)
        await until(lambda: len(b.heard) >= 10 and len(c.heard) >= 10)
        await a.publish("o/x", "end")
        await until(lambda: "end" in b.payloads() and "end" in c.payloads())
        for phone in (b, c):
            assert [p for p in phone.payloads() if p.isdigit()] == [str(n) for n in range(10)]


async def test_when_a_broker_goes_the_others_go_on(routers: list[zonal.Router]) -> None:
    async with brokers(routers, (0, 1)) as (one, two):
        async with brokers(routers, (2,)) as (three,), Phone(three, "gone") as gone:
            await gone.subscribe("t")
            async with Phone(one, "p") as a, Phone(two, "q") as b:
                await b.subscribe("t")
                await linked(a, b, "t")
        async with Phone(one, "p") as a, Phone(two, "q") as b:
            await b.subscribe("t")
            await linked(a, b, "t")
            async with Phone(two, "gone") as again:
                await again.subscribe("t")
                await linked(a, again, "t")


async def test_retained_messages_are_found_at_other_brokers(routers: list[zonal.Router]) -> None:
    async with (
        brokers(routers) as (one, two),
        Phone(one, "p") as a,
        Phone(two, "q") as b,
        Phone(two, "r", DUOMO) as c,
    ):
        await a.client.publish(
            "kept/milano", "1", qos=1, retain=True,
            properties=user_properties(PacketTypes.PUBLISH, [("location", DUOMO)]),
        )  # fmt: skip
        await a.client.publish(
            "kept/berlin", "2", qos=1, retain=True,
            properties=user_properties(PacketTypes.PUBLISH, [("location", BERLIN)]),
        )  # fmt: skip
        async with asyncio.timeout(15):
            while len(b.heard) < 2:  # queryables become known on their own time
                await b.subscribe("kept/#")
                await asyncio.sleep(0.1)
        assert {(m.topic.value, m.payload, m.retain) for m in b.heard} == {
            ("kept/milano", b"1", True), ("kept/berlin", b"2", True),
        }  # fmt: skip
        await c.subscribe("kept/+", geofence=MILANO)
        await until(lambda: c.heard)
        assert [m.topic.value for m in c.heard] == ["kept/milano"]
        # The last one to publish keeps it: the older message is forgotten elsewhere.
        assert len(one.broker.retained) == 2
        await b.client.publish("kept/berlin", "3", qos=1, retain=True)
        await b.client.publish("kept/milano", b"", qos=1, retain=True)
        await until(lambda: len(one.broker.retained) == 0)
        assert len(two.broker.retained) == 1
        await a.subscribe("kept/#")
        await until(lambda: a.heard)
        assert [(m.topic.value, m.payload) for m in a.heard] == [("kept/berlin", b"3")]


def wait_for(event: threading.Event) -> None:
    event.wait(30)


async def test_who_subscribes_to_the_same_while_a_question_waits_shares_it(
    routers: list[zonal.Router], monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[str] = []
    find = RetainedElsewhere._find

    def counted(self: RetainedElsewhere, query: zenoh.Query) -> None:
        questions.append(str(query.key_expr))
        find(self, query)

    monkeypatch.setattr(RetainedElsewhere, "_find", counted)
    async with contextlib.AsyncExitStack() as stack:
        one, two = await stack.enter_async_context(brokers(routers))
        a = await stack.enter_async_context(Phone(one, "p"))
        crowd = [await stack.enter_async_context(Phone(two, f"c{n}")) for n in range(12)]
        await a.client.publish("kept/x", "1", qos=1, retain=True)
        async with asyncio.timeout(15):
            while not crowd[0].heard:  # queryables become known on their own time
                await crowd[0].subscribe("kept/+")
                await asyncio.sleep(0.1)
        assert two.federation is not None
        free = threading.Event()
        try:
            assert two.federation._in_thread(lambda: wait_for(free))
            questions.clear()
            for phone in crowd[1:]:
                await phone.subscribe("kept/#")
            await crowd[0].client.unsubscribe("kept/+")
        finally:
            free.set()
        await until(lambda: all(phone.heard for phone in crowd[1:]))
        assert [each for each in questions if each.endswith("/kept/**")] == questions
        assert len(questions) == 1
        assert {tuple(phone.payloads()) for phone in crowd[1:]} == {("1",)}


async def test_retained_messages_and_stored_values_agree(routers: list[zonal.Router]) -> None:
    config = zonal.config("client", connect=routers[1].endpoints)
    async with brokers(routers, at=(0,)) as (one,), Phone(one, "p", DUOMO) as phone:
        with zonal.open(config) as session, zonal.Store(session, "shelf/**") as store:

            def stored() -> list[tuple[str, str]]:
                around = zonal.Circle((45.4642, 9.19), radius_m=100)
                found = session.get("shelf/**", area=around, timeout=5)
                return [(reply.key, reply.text) for reply in found]

            async def retained() -> list[tuple[str, str]]:
                async with Phone(one, "late") as late:
                    await late.subscribe("shelf/#", geofence="CIRCLE (9.19 45.4642, 100)")
                    await late.subscribe("end")  # what is retained came before it
                    await late.publish("end", "")
                    await until(lambda: late.heard[-1:] and late.heard[-1].topic.value == "end")
                    kept = [each for each in late.heard if each.retain]
                    return [(m.topic.value, bytes(m.payload).decode()) for m in kept]

            async def agree(*expected: tuple[str, str]) -> None:
                await until(lambda: stored() == list(expected))
                assert await retained() == list(expected)

            async with asyncio.timeout(15):
                while not len(store):  # declarations travel on their own time
                    await phone.publish("shelf/1", "first", retain=True)
                    await asyncio.sleep(0.05)
            await agree(("shelf/1", "first"))
            await phone.publish("shelf/1", "second", retain=True)
            await agree(("shelf/1", "second"))
            # What is not retained is newer, and only the store has it.
            await phone.publish("shelf/1", "third")
            await until(lambda: stored() == [("shelf/1", "third")])
            assert await retained() == [("shelf/1", "second")]
            await phone.publish("shelf/1", "", retain=True)
            await agree()
            # A DELETE over Zenoh clears it, too, at brokers whose clients hear the topic.
            await phone.subscribe("shelf/#")
            await phone.publish("shelf/2", "kept", retain=True)
            await agree(("shelf/2", "kept"))
            async with asyncio.timeout(15):
                while await retained():
                    session.delete("shelf/2", location=zonal.Point(45.4642, 9.19))
            await agree()


async def test_brokers_can_do_without_routers() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        endpoint = f"tcp/127.0.0.1:{probe.getsockname()[1]}"
    quiet = Settings(sys_interval=0)
    async with (
        Service(Options(port=0, listen=(endpoint,), settings=quiet)) as one,
        Service(Options(port=0, connect=(endpoint,), settings=quiet)) as two,
        Phone(one, "a", DUOMO) as a,
        Phone(two, "b", DUOMO) as b,
    ):
        await b.subscribe("t", around="1km")
        await a.subscribe("u")
        await linked(a, b, "t")
        await linked(b, a, "u")


async def test_a_group_with_members_at_several_brokers_gets_each_message_once(
    routers: list[zonal.Router],
) -> None:
    async with (
        brokers(routers) as (one, two), Phone(one, "m1") as first, Phone(two, "m2") as second,
        Phone(one, "w1") as writer, Phone(two, "w2") as other, Phone(two, "all") as everything,
        Phone(one, "all1") as everything_too,
    ):  # fmt: skip
        await first.subscribe("$share/g/jobs")
        await second.subscribe("$share/g/jobs")
        await everything.subscribe("jobs")
        await everything_too.subscribe("jobs")
        await until(lambda: all(s.broker.distributor.groups.elsewhere for s in (one, two)))  # type: ignore[union-attr]
        await linked(writer, everything, "jobs")
        await linked(other, everything_too, "jobs")
        for member, far in ((second, writer), (first, other)):
            await member.subscribe("done")
            await linked(far, member, "done")
        for number in range(20):
            await writer.publish("jobs", f"a{number}")
            await other.publish("jobs", f"b{number}")
        await writer.publish("done", "from one")
        await other.publish("done", "from two")
        # Whatever a sender sent before has come when this has.
        members, last = (first, second), {"from one", "from two"}
        await until(lambda: all(last <= set(phone.payloads()) for phone in members))
        done = [[text for text in phone.payloads() if text[0] in "ab"] for phone in members]
        sent = sorted(f"{letter}{number}" for letter in "ab" for number in range(20))
        assert sorted(done[0] + done[1]) == sent
        await until(lambda: sorted(t for t in everything.payloads() if t[0] in "ab") == sent)
        assert min(map(len, done)) > 5
