"""A session that nobody closed ends with the interpreter, exit code 0."""

from __future__ import annotations

import subprocess
import sys

import pytest

from zonal.session import Router

PROGRAM = """
import threading
import time
import zonal

def busy(*_):
    time.sleep(0.001)

def here():
    if threading.current_thread() is not threading.main_thread():
        time.sleep(1000)

session = zonal.open(zonal.config("client", connect=[{endpoint!r}]), position=(45.46, 9.19))
other = zonal.open(zonal.config("client", connect=[{endpoint!r}]), position=(45.46, 9.19))
{kept}
for number in range(300):
    other.put("exit/a", "x", geofence=zonal.Circle(radius_m=100))
    other.put("exit/a", {{"number": number}})
other.get("exit/a", lambda reply: None, timeout=1)
print("end", flush=True)
"""

KEPT = {
    "nothing": "",
    "subscriber": "kept = session.declare_subscriber('exit/**')",
    "callback": "session.declare_subscriber('exit/**', busy, area='CIRCLE (9.19 45.46, 500)')",
    "queryable": "session.declare_queryable('exit/**', busy, area=zonal.Circle(radius_m=500))",
    "token": "token = session.liveliness().declare_token('exit/a')",
    "presence": "session.liveliness().declare_subscriber('exit/**', busy, history=True)",
    "publisher": "kept = session.declare_publisher('exit/a', memory=zonal.Memory(cache=10))",
    "recovery": "kept = session.declare_subscriber('exit/a', busy, recovery=zonal.Recovery())",
    "gone": "session.declare_subscriber('exit/**', busy); del session",
    "stuck callback": "session.declare_subscriber('exit/**', lambda _: time.sleep(1000))",
    "router": "router = zonal.Router(['tcp/127.0.0.1:0'])",
    "position": "session.declare_position_handler(0.05, lambda: (45.46, 9.19)); "
    "session.declare_subscriber('exit/**', busy, area=zonal.Circle(radius_m=500))",
    "stuck position": "session.declare_subscriber('exit/**', area=zonal.Circle(radius_m=500)); "
    "session.declare_position_handler(0.05, lambda: here() or (45.46, 9.19))",
    "fence": "session.declare_fence('exit/**', zonal.Circle(radius_m=500), busy)",
    "nearest": "session.get('exit/a', busy, nearest=3)",
    "stuck nearest": "session.declare_queryable('exit/a', lambda query: time.sleep(1000)); "
    "other.get('exit/a', busy, nearest=3)",
}


@pytest.mark.parametrize("kept", KEPT)
def test_an_unclosed_session_ends_with_the_interpreter(routers: list[Router], kept: str) -> None:
    program = PROGRAM.format(endpoint=routers[0].endpoints[0], kept=KEPT[kept])
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stdout == "end\n", ran.stderr
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
