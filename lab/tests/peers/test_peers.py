from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from zonal_lab.errors import EmulationError, PlanError
from zonal_lab.experiment import Outcome, Results, judge
from zonal_lab.peers import EXPERIMENT
from zonal_lab.peers.fences import run_fences
from zonal_lab.peers.plan import PeerCase, PeersPlan
from zonal_lab.peers.programs import BROKERS, MissingProgramError, Programs
from zonal_lab.peers.resp import RespClient
from zonal_lab.peers.rest_work import REQUESTS, run_rest
from zonal_lab.peers.samples import METRICS, Compared
from zonal_lab.peers.things import run_things
from zonal_lab.peers.trial import MISSING, PeersTrial
from zonal_lab.peers.use_case import run_use_case

NOWHERE = Programs()
PLAN = PeersPlan(rounds=5, works=("things", "mqtt"))
WHOLE = PeersPlan(rounds=5)


def results_of(
    folder: Path, figure: float, *, missing: str = "", plan: PeersPlan = PLAN
) -> Results:
    """Ours is 1 everywhere, everybody else's what is given."""
    results = Results(folder)
    results.begin("peers", plan)
    for case in PLAN.cases():
        figures: dict[str, object] = {}
        for metric in METRICS:
            if metric.work == case.work:
                *way, last = metric.keys
                inner = figures
                for key in way:
                    inner = inner.setdefault(key, {})  # type: ignore[assignment]
                inner[last] = 1.0 if case.system == "zonal" else figure
        figures["circle_hits"] = 7.0
        if case.system == missing:
            figures = {MISSING: "there is none"}
        results.add(case, Outcome(figures))
    return results


def test_systems_take_turns() -> None:
    cases = list(PLAN.cases())
    assert cases[0] == PeerCase("things", "zonal", 0)
    assert [each.system for each in cases if each.work == "things" and each.round == 1] == [
        "tile38", "redis", "postgis", "zonal",
    ]  # fmt: skip
    with pytest.raises(PlanError, match="unknown works"):
        PeersPlan(works=("juggling",))
    some = PeersPlan(rounds=1, works=("mqtt", "rest"), systems=("zonal", "zenoh-rest"))
    assert [(each.work, each.system) for each in some.cases()] == [
        ("mqtt", "zonal"), ("rest", "zonal"), ("rest", "zenoh-rest"),
    ]  # fmt: skip


def test_the_page_says_who_is_better_and_by_how_much(tmp_path: Path) -> None:
    results = results_of(tmp_path, 2.0, missing="rumqttd")
    page = EXPERIMENT.report(results, tmp_path).read_text()
    assert "Not to be had where this was run: rumqttd (there is none)." in page
    # Twice as much is better where more is better, and worse elsewhere.
    assert "| Redis | 2, 9 of 11 | new things × 2.0; moves × 2.0 |" in page
    assert "| new things | 1.00 /s | **2.00 /s** | **2.00 /s** | **2.00 /s** |" in page
    assert (tmp_path / "peers-things.png").stat().st_size > 5000


def test_a_figure_that_wavers_is_called_neither_better_nor_worse(tmp_path: Path) -> None:
    found = Compared(results_of(tmp_path, 1.0))
    assert not any(
        test(metric, "redis")
        for metric in METRICS
        for test in (found.surely_better, found.surely_worse)
    )


def test_claims_are_on_what_was_planned(tmp_path: Path) -> None:
    part = list(judge(EXPERIMENT.claims(results_of(tmp_path / "a", 2.0))))
    assert {each.claim.where for each in part} == {"store"}
    assert {each.words for each in part} == {"holds"}
    whole = list(judge(EXPERIMENT.claims(results_of(tmp_path / "b", 2.0, plan=WHOLE))))
    (index,) = (each for each in whole if each.claim.where == "index")
    assert index.words == "cannot be told"


def test_a_program_that_is_not_here_is_a_missing_case(tmp_path: Path) -> None:
    (tmp_path / "nats-server").write_text("")
    assert Programs(tmp_path).find("nats-server") == str(tmp_path / "nats-server")
    with pytest.raises(MissingProgramError, match="there is no tile39"):
        NOWHERE.find("tile39")
    trial = PeersTrial(PeersPlan(rounds=1), tmp_path)
    if not Programs().has("rumqttd"):
        with trial.stage(PeerCase("mqtt", "rumqttd", 0)) as run:
            assert run(PeerCase("mqtt", "rumqttd", 0)).figures == {
                MISSING: "there is no rumqttd here"
            }


def served(answer: bytes) -> int:
    """A server that says this to whoever comes, in small pieces."""
    door = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        guest, _ = door.accept()
        with guest:
            guest.recv(1000)
            for start in range(0, len(answer), 3):
                guest.sendall(answer[start : start + 3])

    threading.Thread(target=serve, daemon=True).start()
    return int(door.getsockname()[1])


def test_answers_of_every_kind_are_read_in_pieces() -> None:
    client = RespClient(served(b"*4\r\n$5\r\nhe\r\nl\r\n:7\r\n$-1\r\n+OK\r\n-no\r\n"))
    assert client.call("PING") == [b"he\r\nl", 7, None, b"OK"]
    with pytest.raises(EmulationError, match="the server says: no"):
        client.answer()
    with pytest.raises(EmulationError, match="closed"):
        client.answer()
    client.close()


def test_our_border_among_fences_tells_of_entries() -> None:
    found = run_fences("zonal", NOWHERE, 300, 300, 1)
    assert found["events_a_step"] > 0
    assert found["step_cpu_us"] > 0


def test_our_web_server_is_put_to_and_asked_by_many(tmp_path: Path) -> None:
    found = run_rest("zonal", NOWHERE, seconds=0.2)
    assert list(found) == list(REQUESTS)
    assert all(each["per_s"] > 0 and each["p99_us"] >= each["p50_us"] for each in found.values())
    with pytest.raises(MissingProgramError, match=r"libzenoh_plugin_rest\.so"):
        run_rest("zenoh-rest", Programs(tmp_path), seconds=0.2)


def test_clients_that_are_elsewhere_each_time_hear_one_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("zonal_lab.peers.use_case.WARM_S", 0.2)
    found = run_use_case("zonal", NOWHERE, clients=20, seconds=0.5)
    # Everybody hears at least what it publishes itself.
    assert found["deliveries_each"] >= 0.9
    assert found["arrivals_per_s"] > 0


@pytest.mark.skipif(not NOWHERE.has("redis-server"), reason="there is no redis-server")
def test_redis_and_our_store_find_the_same(tmp_path: Path) -> None:
    del tmp_path
    ours, theirs = (run_things(each, NOWHERE, 300, 20, 1) for each in ("zonal", "redis"))
    for name in ("circle_hits", "nearest_hits"):
        assert ours[name] == theirs[name]


def test_every_broker_is_started_on_its_port(tmp_path: Path) -> None:
    (tmp_path / "zenohd").write_text("")
    for program, command in BROKERS.values():
        (tmp_path / Path(program).name).write_text("")
        words = command(Programs(tmp_path), 12345, tmp_path)
        written = "".join(
            path.read_text()
            for path in tmp_path.iterdir()
            if path.suffix in {".conf", ".toml", ".yaml", ".mjs", ".json5"}
        )
        assert "12345" in " ".join(words) + written
