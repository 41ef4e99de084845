"""A plain Zenoh client among brokers that have a secret tries to pose as one of them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import zenoh

import zonal
from broker_phones import Phone, brokers, linked, until
from network import plain_client
from zonal.broker.envelope import CODE, HEAD, MAGIC, seal
from zonal.broker.message import Message
from zonal.broker.retained_elsewhere import ASKED, CHANGED, QUESTION, WHEN
from zonal.keys import location_of
from zonal.session import GeoContext

DUOMO, BERLIN = "45.4642,9.1900", "52.5200,13.4050"
MILANO = "POLYGON ((9.0 45.3, 9.4 45.3, 9.4 45.6, 9.0 45.6, 9.0 45.3))"


@pytest.fixture(scope="module")
def routers() -> Iterator[list[zonal.Router]]:
    with zonal.Router(["tcp/127.0.0.1:0"]) as router:
        yield [router]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("what only brokers know\n")
    return path


class Enemy:
    """Hears everything that travels, and sends what it likes."""

    def __init__(self, router: zonal.Router) -> None:
        self.zenoh = plain_client(router)
        self.heard: list[zenoh.Sample] = []
        for key in ("**", "**/@s2/**", "**/@to/**", "**/@s2/**/@to/**", "@zonal/**"):
            self.zenoh.declare_subscriber(key, self.heard.append)

    def of(self, topic: str, payload: str) -> list[zenoh.Sample]:
        """What it heard of a message."""
        return [
            sample
            for sample in self.heard
            if str(sample.key_expr).startswith(topic) and payload in sample.payload.to_string()
        ]

    def again(self, sample: zenoh.Sample, key: str | None = None) -> None:
        """Sends what it heard once more, with a time stamp of its own."""
        self.zenoh.put(
            key or str(sample.key_expr), sample.payload, attachment=sample.attachment,
            timestamp=self.zenoh.new_timestamp(),
        )  # fmt: skip

    def close(self) -> None:
        self.zenoh.close()


async def test_no_attack_on_brokers_with_a_secret_gets_through(
    routers: list[zonal.Router], secret: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        brokers(routers, (0, 0), secret) as (one, two),
        Phone(one, "sender", DUOMO) as a,
        Phone(two, "milanese", DUOMO) as b,
        Phone(two, "berliner", BERLIN) as c,
    ):
        enemy = Enemy(routers[0])
        with contextlib.closing(enemy):
            await b.subscribe("t/#")
            await b.subscribe("$SYS/#")
            await c.subscribe("t/#")
            await c.subscribe("#")
            await linked(a, b, "t/x")
            await a.publish("t/x", "real", location=DUOMO, geofence=MILANO)
            await until(lambda: "real" in b.payloads() and enemy.of("t/x", "real"))
            (real, *_) = enemy.of("t/x", "real")
            assert real.attachment is not None
            context = GeoContext.from_bytes(
                real.attachment.to_bytes(), location_of(str(real.key_expr))
            )
            envelope = context.user
            assert envelope is not None
            assert envelope.startswith(MAGIC)

            # What was heard, once more; under another topic; for everybody instead of Milano.
            enemy.again(real)
            enemy.again(real, str(real.key_expr).replace("t/x", "t/y"))
            for fence in (None, zonal.Everywhere()):
                freed = GeoContext(1, 2, zonal.Point(45.4642, 9.19), fence, None, True, envelope)
                key = "t/x/@to/**" if fence else "t/x/@s2/2/03/30/03/12/03/11/13/10/30/23"
                enemy.zenoh.put(key, real.payload, attachment=freed.to_bytes())
            enemy.zenoh.put("t/x", real.payload, attachment=envelope)
            # Messages of the enemy's own, as of this broker: without a code, with a made-up one.
            _, broker, number, when = HEAD.unpack_from(envelope)
            for ahead in range(1, 2000):
                fake = seal(Message("t/x", b"forged", 1), broker, number + ahead, when)
                enemy.zenoh.put("t/x", b"forged", attachment=fake + bytes(CODE) * (ahead % 2))
            # The brokers' own topics.
            enemy.zenoh.put("%24SYS/broker/version", b"forged")
            enemy.zenoh.put("%24zonal/location", b"forged")

            await a.publish("t/x", "after", location=DUOMO, geofence=MILANO)
            await a.publish("t/x", "end")
            await until(lambda: "end" in b.payloads() and "end" in c.payloads())
            heard = [text for text in b.payloads() if not text.startswith("link")]
            assert heard == ["real", "after", "end"]
            assert "real" not in c.payloads()
            assert "forged" not in c.payloads()
            assert "not marked with the brokers' secret" in caplog.text


async def test_retained_messages_are_for_brokers_alone(
    routers: list[zonal.Router], secret: Path
) -> None:
    async with (
        brokers(routers, (0, 0), secret) as (one, two),
        Phone(one, "keeper") as a,
        Phone(two, "asker") as b,
        Phone(two, "other") as c,
    ):
        enemy = Enemy(routers[0])
        with contextlib.closing(enemy):
            questions: list[tuple[str, bytes]] = []

            def lie(query: zenoh.Query) -> None:
                attached = query.attachment
                questions.append((str(query.key_expr), attached.to_bytes() if attached else b""))
                with query:
                    query.reply("@zonal/answer", b"forged" * 10)

            enemy.zenoh.declare_queryable("@zonal/retained/**", lie)
            await a.client.publish("kept/a", "the plan", qos=1, retain=True)
            async with asyncio.timeout(15):
                while not b.heard or not questions:
                    await b.subscribe("kept/#")
                    await asyncio.sleep(0.1)
            assert set(b.payloads()) == {"the plan"}

            def asked(key: str, attachment: bytes | None) -> list[bytes]:
                replies = enemy.zenoh.get(
                    key, attachment=attachment, target=zenoh.QueryTarget.ALL, timeout=2,
                    accept_replies=zenoh.ReplyKeyExpr.ANY,
                    consolidation=zenoh.ConsolidationMode.NONE,
                    allowed_destination=zenoh.Locality.REMOTE,
                )  # fmt: skip
                return [reply.ok.payload.to_bytes() for reply in replies if reply.ok is not None]

            # Without a mark, with one of another question: nothing. What was overheard, at once:
            # only bytes that tell neither topic nor payload.
            key, question = questions[0]
            assert len(question) > QUESTION.size
            for attempt in (None, b"", bytes(40), question[:-1]):
                assert await asyncio.to_thread(asked, key, attempt) == []
            assert await asyncio.to_thread(asked, f"{ASKED}/**", question) == []
            overheard = await asyncio.to_thread(asked, key, question)
            assert overheard
            assert all(b"plan" not in each and b"kept" not in each for each in overheard)

            # A note of a stranger deletes nothing.
            for note in (WHEN.pack(time.time() + 10), WHEN.pack(time.time() + 10) + bytes(16)):
                enemy.zenoh.put(f"{CHANGED}/kept/a", note)
            await c.subscribe("kept/a")
            await until(lambda: c.heard)
            assert one.broker.retained.get("kept/a") is not None

            # Nor does a stranger take a place in a shared group.
            token = enemy.zenoh.liveliness().declare_token(f"@zonal/share/{'0' * 20}/{7:016x}/1/-")
            await c.subscribe("$share/g/jobs")
            ours, theirs = one.broker.distributor.groups, two.broker.distributor.groups
            assert ours is not None
            assert theirs is not None
            await until(lambda: ours.elsewhere)
            assert ours.elsewhere.keys() == theirs.announced.keys()
            token.undeclare()


async def test_without_a_secret_a_stranger_still_cannot_use_numbers_up(
    routers: list[zonal.Router],
) -> None:
    async with (
        brokers(routers, (0, 0)) as (one, two), Phone(one, "a") as a, Phone(two, "b") as b,
    ):  # fmt: skip
        enemy = Enemy(routers[0])
        with contextlib.closing(enemy):
            await b.subscribe("t")
            await linked(a, b, "t")
            await a.publish("t", "real")
            await until(lambda: enemy.of("t", "real"))
            attachment = enemy.of("t", "real")[0].attachment
            assert attachment is not None
            _, broker, number, when = HEAD.unpack_from(attachment.to_bytes())
            for ahead in range(1, 200):
                fake = seal(Message("t", b"forged", 1), broker, number + ahead, when)
                enemy.zenoh.put("t", b"forged", attachment=fake)
            await until(lambda: b.payloads().count("forged") == 199)
            await a.publish("t", "after")
            await until(lambda: "after" in b.payloads())
