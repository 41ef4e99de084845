"""Messages in an encoding that a user registered reach MQTT clients: by area and by fence."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import aiomqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

import zonal
from network import router_row
from own_encodings import DecimalGrid, Quarters, registered
from zonal.broker import Options, Service, Settings
from zonal.geo import Box, Point

DUOMO, MONZA = Point(45.4642, 9.1900), Point(45.5845, 9.2744)


@pytest.fixture(params=[DecimalGrid(), Quarters()], ids=lambda encoding: encoding.name)
def name(request: pytest.FixtureRequest) -> Iterator[str]:
    with registered(request.param) as name:
        yield name


def properties(kind: int, **pairs: str) -> Properties:
    made = Properties(kind)
    made.UserProperty = list(pairs.items())
    return made


async def test_a_session_reaches_mqtt_clients_by_place_and_fence(name: str) -> None:
    with router_row(2) as routers:
        options = Options(port=0, connect=routers[1].endpoints, settings=Settings(sys_interval=0))
        config = zonal.config("client", connect=routers[0].endpoints)
        session = await asyncio.to_thread(zonal.open, config, encoding=name)
        async with Service(options) as service:
            heard = await _heard_near_the_duomo(service, session)
        await asyncio.to_thread(session.close)
    assert set(heard) == {"fenced", "from here"}


async def _heard_near_the_duomo(service: Service, session: zonal.Session) -> list[str]:
    milano = Box(45.4, 9.1, 45.5, 9.25)
    phone = aiomqtt.Client(
        "127.0.0.1", service.ports["mqtt"], protocol=aiomqtt.ProtocolVersion.V5,
        properties=properties(PacketTypes.CONNECT, location=f"{DUOMO.lat},{DUOMO.lon}"),
    )  # fmt: skip

    def put() -> None:
        session.put("t", "from elsewhere", location=MONZA)
        session.put("t", "not for us", location=DUOMO, geofence=Box(45.5, 9.2, 45.6, 9.3))
        session.put("t", "fenced", location=DUOMO, geofence=milano)
        session.put("t", "from here", location=DUOMO)

    heard: list[str] = []
    async with asyncio.timeout(20), phone:
        await phone.subscribe("t", properties=properties(PacketTypes.SUBSCRIBE, around="2km"))
        listening = aiter(phone.messages)
        coming = asyncio.ensure_future(anext(listening))
        while set(heard) < {"fenced", "from here"}:
            await asyncio.to_thread(put)
            await asyncio.wait([coming], timeout=0.1)
            while coming.done():
                payload = coming.result().payload
                assert isinstance(payload, bytes)
                heard.append(payload.decode())
                coming = asyncio.ensure_future(anext(listening))
                await asyncio.sleep(0)
        coming.cancel()
    return heard
