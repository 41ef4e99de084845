"""A stock router with compiled rules, and plain Zenoh clients that try to get around them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import zenoh

import zonal
from network import AT_ONCE, LOOPBACK, eventually
from zonal.geo import Circle, Point, cell_of
from zonal.keys import encoding_named, message_keys
from zonal.session import Memory, PastMessages, Router
from zonal.trust import compile_rules, parse_rules

MILANO = "POLYGON ((9.04 45.38, 9.28 45.38, 9.28 45.54, 9.04 45.54, 9.04 45.38))"
BLOCK = zenoh.CongestionControl.BLOCK  # on a busy machine Zenoh drops the others
DUOMO, BERLIN = Point(45.4642, 9.19), Point(52.52, 13.405)
RULES = f"""
[areas]
milano = "{MILANO}"

[[rule]]
who = "admin"
allow = ["publish", "subscribe", "query"]

[[rule]]
who = "milanese"
allow = ["publish", "subscribe", "query"]
area = "milano"

[[rule]]
who = "mayor"
allow = "publish"
topics = "city/#"
to = "milano"

[[rule]]
who = "guest"
allow = ["publish", "subscribe"]

[[rule]]
who = "guest"
deny = ["publish", "subscribe"]
area = "milano"
"""
USERS = ("admin", "milanese", "mayor", "guest", "stranger")
S2, MGRS = encoding_named("s2"), encoding_named("mgrs")


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Router]:
    users = tmp_path_factory.mktemp("users") / "users"
    users.write_text("".join(f"{name}:secret\n" for name in USERS))
    compiled = compile_rules(parse_rules(RULES, "rules.toml", lambda name: name), USERS)
    settings = {
        **AT_ONCE,
        "transport/auth/usrpwd/dictionary_file": str(users),
        "access_control": compiled.access_control,
    }
    with Router([LOOPBACK], settings=settings) as router:
        yield router


def settings_of(user: str) -> dict[str, str]:
    where = "transport/auth/usrpwd"
    return {f"{where}/user": user, f"{where}/password": "secret"}


def client_of(router: Router, user: str) -> zenoh.Session:
    options = {"connect": router.endpoints, "settings": settings_of(user)}
    return zenoh.open(zonal.config("client", **options))


class Ear:
    """Hears everything that its router lets through, perhaps several times."""

    def __init__(self, session: zenoh.Session, *keys: str) -> None:
        self.samples: list[tuple[str, str]] = []
        # On the thread of the link: others would tell of the last message before those before it.
        hear = zenoh.handlers.Callback(self._hear, indirect=False)
        self._subscribers = [session.declare_subscriber(key, hear) for key in keys]

    def _hear(self, sample: zenoh.Sample) -> None:
        self.samples.append((str(sample.key_expr), sample.payload.to_string()))

    def heard(self, text: str) -> set[str]:
        """The keys of messages with this payload."""
        return {key for key, payload in self.samples if payload == text}


NASTY = ("**", "**/@s2/**", "**/@mgrs/**", "**/@bloom/**", "**/@json/**", "**/@to/**",
         "**/@s2/**/@to/**", "**/@mgrs/**/@to/**", "city/air/@s2/**", "city/**/@s2/2/**",
         "@zonal/**", "@/**", "**/@adv/**", "**/@s2/**/@adv/**")  # fmt: skip


def keys_from(place: Point, fence: Circle | None = None) -> list[str]:
    """What a message from a place may be put under."""
    keys = [key for kind in (S2, MGRS) for key in message_keys("city/air", place, fence, kind)]
    blurred = message_keys("city/air", cell_of(place, 12), fence, S2)
    exact = "" if fence else f"{message_keys('city/air', place, None, S2)[0]}/=abc"
    return [*keys, *blurred, *filter(None, [exact])]


@pytest.fixture(scope="module")
def flow(router: Router) -> Iterator[tuple[zenoh.Session, Ear, Ear]]:
    """The admin, an ear of the milanese that wants everything, and one of the admin beside it."""
    admin, milanese = client_of(router, "admin"), client_of(router, "milanese")
    exact = [key for key in keys_from(BERLIN) if "*" not in key]
    listening = client_of(router, "admin")
    ear, control = Ear(milanese, *NASTY, *exact), Ear(listening, *NASTY)
    eventually(lambda: _reaches(admin, "city/air/@s2/2/03/**", control))
    yield admin, ear, control
    for session in (milanese, admin, listening):
        session.close()


def _reaches(session: zenoh.Session, key: str, ear: Ear) -> bool:
    session.put(key, "try")
    return bool(ear.samples)


_ends = itertools.count()


def arrived(session: zenoh.Session, *ears: Ear) -> None:
    """Waits until messages put before this have arrived: the order of a link is kept."""
    text = f"end {next(_ends)}"
    (last,) = message_keys("end", Point(45.47, 9.2), None, S2)
    session.put(last, text, congestion_control=BLOCK)
    for ear in ears:
        eventually(lambda ear=ear: ear.heard(text))


def test_whoever_may_hear_milano_gets_no_byte_from_berlin(
    flow: tuple[zenoh.Session, Ear, Ear],
) -> None:
    admin, ear, control = flow
    near, far = Circle(DUOMO, radius_m=500), Circle(BERLIN, radius_m=500)
    from_milano = keys_from(DUOMO) + keys_from(DUOMO, near) + keys_from(DUOMO, far)
    from_berlin = keys_from(BERLIN) + keys_from(BERLIN, near) + keys_from(BERLIN, far)
    elsewhere = ["city/air", "city/**", "**", "city/air/@s2/**", "city/air/@s2/**/@to/**",
                 "city/air/@to/1/22/**", "city/air/@json/p_1_x", "city/air/@s2/2/**",
                 "city/air/@mgrs/**", "@zonal/retained/x", "@zonal/**"]  # fmt: skip
    elsewhere += message_keys("city/air", DUOMO, None, encoding_named("bloom"))
    before = len(ear.samples)
    for key in (*from_milano, *from_berlin, *elsewhere):
        admin.put(key, "secret", congestion_control=BLOCK)
        admin.delete(key, congestion_control=BLOCK)
    arrived(admin, ear, control)
    assert ear.heard("secret") == set(from_milano)
    assert {key for key, _ in ear.samples[before:] if "end" not in key} == set(from_milano)
    assert control.heard("secret") == {*from_milano, *from_berlin, *elsewhere} - {
        "@zonal/retained/x", "@zonal/**"
    }  # fmt: skip


def test_whoever_may_publish_in_milano_reaches_nobody_from_berlin(
    router: Router, flow: tuple[zenoh.Session, Ear, Ear]
) -> None:
    _, _, control = flow
    with client_of(router, "milanese") as milanese:
        near = Circle(DUOMO, radius_m=500)
        allowed = keys_from(DUOMO) + keys_from(DUOMO, near)
        forbidden = [*keys_from(BERLIN), *keys_from(BERLIN, near), "city/air", "**", "**/@s2/**",
                     "city/air/@s2/**/@to/**", "city/air/@json/p_1_x", "@zonal/x"]  # fmt: skip
        for key in (*forbidden, *allowed):
            milanese.put(key, "milanese", congestion_control=BLOCK)
        arrived(milanese, control)
        assert control.heard("milanese") == set(allowed)
        fenced = milanese.declare_publisher(message_keys("city/air", DUOMO, near, S2)[0])
        for key in (forbidden[0], allowed[0]):
            publisher = milanese.declare_publisher(key)
            if key == allowed[0]:  # it is told that somebody listens
                eventually(lambda publisher=publisher: publisher.matching_status.matching)
            publisher.put("declared")
        assert not fenced.matching_status.matching  # but not that somebody is there
        arrived(milanese, control)
        assert control.heard("declared") == {allowed[0]}


def test_a_fence_that_a_rule_demands_is_demanded(
    router: Router, flow: tuple[zenoh.Session, Ear, Ear]
) -> None:
    _, _, control = flow
    with client_of(router, "mayor") as mayor:
        inside = message_keys("city/news", DUOMO, Circle(DUOMO, radius_m=300), S2)
        outside = message_keys("city/news", DUOMO, Circle(BERLIN, radius_m=300), S2)
        unfenced = message_keys("city/news", DUOMO, None, S2)
        other = message_keys("other", DUOMO, Circle(DUOMO, radius_m=300), S2)
        for key in (*outside, *unfenced, "city/news/@to/**", *other, *inside):
            mayor.put(key, "mayor", congestion_control=BLOCK)
        eventually(lambda: inside[-1] in control.heard("mayor"))
        assert control.heard("mayor") == set(inside)


def test_what_is_denied_is_not_reached_by_a_wildcard(
    router: Router, flow: tuple[zenoh.Session, Ear, Ear]
) -> None:
    admin, _, control = flow
    with client_of(router, "guest") as guest, client_of(router, "guest") as listening:
        ear = Ear(listening, *NASTY)
        eventually(lambda: _reaches(admin, "city/air", ear))
        (berlin,) = message_keys("city/air", BERLIN, None, S2)
        (milano,) = message_keys("city/air", DUOMO, None, S2)
        for session, name in ((guest, "guest"), (admin, "admin")):
            for key in (milano, "city/air/@s2/**", "city/air/@s2/2/**", "**/@s2/**", berlin):
                session.put(key, name, congestion_control=BLOCK)
            eventually(lambda name=name: berlin in control.heard(name) & ear.heard(name))
            assert ear.heard(name) == {berlin}
        assert control.heard("guest") == {berlin}


def test_questions_are_answered_from_where_one_may_ask(
    router: Router, flow: tuple[zenoh.Session, Ear, Ear]
) -> None:
    admin, _, _ = flow
    (milano,), (berlin,) = (message_keys("s", place, None, S2) for place in (DUOMO, BERLIN))
    asked: list[str] = []

    def answer(query: zenoh.Query) -> None:
        asked.append(str(query.key_expr))
        query.reply(milano, b"Milano")
        query.reply(berlin, b"Berlin")

    answering = admin.declare_queryable("s/@s2/**", answer)
    with client_of(router, "milanese") as milanese, client_of(router, "stranger") as stranger:

        def answers(session: zenoh.Session, key: str) -> list[str]:
            options = {"timeout": 2.0, "consolidation": zenoh.ConsolidationMode.NONE}
            return [
                reply.ok.payload.to_string()
                for reply in session.get(key, accept_replies=zenoh.ReplyKeyExpr.ANY, **options)
                if reply.ok is not None
            ]

        assert eventually(lambda: answers(milanese, "s/@s2/**")) == ["Milano"]
        assert answers(milanese, berlin) == ["Milano"]
        asked.clear()
        assert answers(stranger, "s/@s2/**") == []
        assert asked == []
    answering.undeclare()


def test_who_is_there_is_told_of_milano_only(
    router: Router, flow: tuple[zenoh.Session, Ear, Ear]
) -> None:
    admin, _, _ = flow
    (milano,), (berlin,) = (message_keys("who", place, None, S2) for place in (DUOMO, BERLIN))
    tokens = [admin.liveliness().declare_token(key) for key in (milano, berlin)]
    with client_of(router, "milanese") as milanese, client_of(router, "milanese") as asking:
        seen: list[str] = []
        milanese.liveliness().declare_subscriber(
            "who/@s2/**", lambda sample: seen.append(str(sample.key_expr)), history=True
        )
        eventually(lambda: milano in seen)
        found = [str(r.ok.key_expr) for r in asking.liveliness().get("**/@s2/**") if r.ok]
        assert found == [milano]
        assert seen == [milano]
    for token in tokens:
        token.undeclare()


def open_as(router: Router, user: str) -> zonal.Session:
    options = {"connect": router.endpoints, "settings": settings_of(user)}
    return zonal.open(zonal.config("client", **options), position=DUOMO)


@pytest.mark.parametrize("user", ["admin", "milanese"])
@pytest.mark.parametrize("encoding", ["s2", "mgrs", "bloom", "json"])
def test_sessions_put_hear_ask_and_find_each_other(
    router: Router, encoding: str, user: str
) -> None:
    if user == "milanese" and encoding not in {"s2", "mgrs"}:
        return  # keys that do not say a place cannot be allowed by area
    near = Circle(DUOMO, radius_m=1000)
    topic = f"all/{encoding}/{user}"
    with open_as(router, user) as here, open_as(router, user) as there:
        heard: list[str] = []
        there.declare_subscriber(
            topic, lambda sample: heard.append(sample.text), area=near, encoding=encoding
        )

        def sent() -> bool:
            here.put(topic, "open", location=DUOMO, encoding=encoding, congestion_control=BLOCK)
            here.put(
                topic,
                "fenced",
                location=DUOMO,
                encoding=encoding,
                geofence=near,
                congestion_control=BLOCK,
            )
            return {*heard} == {"open", "fenced"}

        eventually(sent)
        here.declare_queryable(
            topic, lambda query: query.reply(topic, "yes", location=DUOMO, encoding=encoding),
            area=near, encoding=encoding,
        )  # fmt: skip
        asked = eventually(lambda: list(there.get(topic, area=near, encoding=encoding)))
        assert [sample.text for sample in asked] == ["yes"]
        token = here.liveliness().declare_token(topic, location=DUOMO, encoding=encoding)
        eventually(lambda: there.liveliness().get(topic, area=near, encoding=encoding))
        token.undeclare()


def test_a_late_subscriber_gets_what_a_memory_holds_of_its_area(router: Router) -> None:
    with open_as(router, "admin") as admin, open_as(router, "milanese") as milanese:
        publishers = [
            admin.declare_publisher("late", location=place, memory=Memory(10))
            for place in (BERLIN, DUOMO)
        ]
        for publisher, name in zip(publishers, ("Berlin", "Milano"), strict=True):
            publisher.put(name)
        heard: list[str] = []
        milanese.declare_subscriber(
            "late", lambda sample: heard.append(sample.text), history=PastMessages()
        )
        eventually(lambda: "Milano" in heard)
        assert set(heard) == {"Milano"}


def test_location_aware_sessions_work_within_their_rules(router: Router) -> None:
    with open_as(router, "milanese") as milanese, open_as(router, "admin") as admin:
        heard: list[str] = []
        own: list[str] = []
        milanese.declare_subscriber(
            "news", lambda sample: heard.append(sample.text), area=Circle(DUOMO, radius_m=800_000)
        )
        admin.declare_subscriber(
            "own", lambda sample: own.append(sample.text), area=Circle(DUOMO, radius_m=1000)
        )
        publisher = milanese.declare_publisher("own", location=DUOMO)
        fencing = milanese.declare_publisher("own", geofence=Circle(DUOMO, radius_m=500))

        def news() -> bool:
            for name, place in (("far", Point(46.0, 9.2)), ("near", DUOMO)):
                admin.put("news", name, location=place, congestion_control=BLOCK)
            publisher.put("x")
            fencing.put("fenced", location=DUOMO)
            return len(heard) > 3 and {*own} == {"x", "fenced"}

        eventually(news)
        assert set(heard) == {"near"}


def test_nobody_without_a_rule_gets_or_sends_anything(
    router: Router, flow: tuple[zenoh.Session, Ear, Ear]
) -> None:
    admin, _, control = flow
    with client_of(router, "stranger") as stranger, client_of(router, "stranger") as listening:
        ear = Ear(listening, *NASTY)
        for key in keys_from(DUOMO):
            stranger.put(key, "stranger", congestion_control=BLOCK)
            admin.put(key, "stranger's ear", congestion_control=BLOCK)
        arrived(admin, control)
        assert ear.samples == []
        assert control.heard("stranger") == set()


def test_what_a_router_cannot_enforce_is_said() -> None:
    text = """
[[rule]]
who = "alice"
allow = ["publish", "subscribe"]
precision_m = 500

[[rule]]
who = "bob"
allow = ["subscribe", "publish"]
from = "CIRCLE (9.19 45.4642, 2000)"

[[rule]]
who = "carol"
allow = "subscribe"
topics = ["city/#", "$SYS/#"]

[[rule]]
who = "carol"
deny = "subscribe"
topics = "city/secret/#"
"""
    compiled = compile_rules(parse_rules(text, "rules.toml", lambda name: name))
    notes = " | ".join(compiled.notes)
    assert "cannot blur" in notes
    assert "blur their places themselves" in notes
    assert "does not know where users are (from)" in notes
    assert "counts as its publisher's position" in notes
    assert "city/secret/**" in notes
    rules = {rule["id"]: rule for rule in compiled.access_control["rules"]}
    assert not any(name.startswith("alice may subscribe") for name in rules)
    assert any(rule["permission"] == "deny" for rule in rules.values())
    json.dumps(compiled.access_control)


def test_a_file_of_rules_stays_small(tmp_path: Path) -> None:
    (tmp_path / "r").write_text(RULES)
    compiled = compile_rules(parse_rules(RULES, "rules.toml", lambda name: name), USERS)
    assert max(len(rule["key_exprs"]) for rule in compiled.access_control["rules"]) < 5000
