from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from zonal_lab.errors import EmulationError, PlanError
from zonal_lab.experiment import Outcome, Results, judge
from zonal_lab.peers import EXPERIMENT, get_programs, lacking, message_table
from zonal_lab.peers.compiled import compiled, load_source, output_of
from zonal_lab.peers.fences import run_fences
from zonal_lab.peers.getting import version_got
from zonal_lab.peers.joins_data import MESSAGES, write_tables
from zonal_lab.peers.joins_work import run_joins
from zonal_lab.peers.plan import NAMES, WORKS, PeerCase, PeersPlan
from zonal_lab.peers.programs import BROKERS, MissingProgramError, Programs
from zonal_lab.peers.resp import RespClient
from zonal_lab.peers.rest_work import REQUESTS, run_rest
from zonal_lab.peers.samples import METRICS, Compared
from zonal_lab.peers.things import run_things
from zonal_lab.peers.trial import MISSING, PeersTrial
from zonal_lab.peers.use_case import run_use_case
from zonal_lab.peers.words import TITLES

NOWHERE = Programs()
PLAN = PeersPlan(rounds=5, works=("things", "mqtt"))
WHOLE = PeersPlan(rounds=5)


def results_of(
    folder: Path, figure: float, *, missing: str = "", plan: PeersPlan = PLAN, run: PeersPlan = PLAN
) -> Results:
    """Ours is 1 everywhere, everybody else's what is given; `run` is what was done of a plan."""
    results = Results(folder)
    results.begin("peers", plan)
    for case in run.cases():
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


def test_one_run_of_all_works_is_one_page_that_begins_with_who_is_better(tmp_path: Path) -> None:
    page = EXPERIMENT.report(results_of(tmp_path, 2.0, plan=WHOLE, run=WHOLE), tmp_path).read_text()
    titles = [line for line in page.splitlines() if line.startswith("## ")]
    own = titles[titles.index("## What each does better than we do") :]
    assert own[1:-1] == [f"## {TITLES[work]}" for work in WORKS]
    better = page.partition(own[0])[2].partition(own[1])[0]
    assert all(f"| {NAMES[system]} |" in better for system in NAMES if system != "zonal")


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
    (tmp_path / "built").write_text("from\nits source\n")
    trial = PeersTrial(PeersPlan(rounds=1), tmp_path)
    assert trial.prepare(Results(tmp_path))["built"] == "from its source"
    if not Programs().has("rumqttd"):
        with trial.stage(PeerCase("mqtt", "rumqttd", 0)) as run:
            assert run(PeerCase("mqtt", "rumqttd", 0)).figures == {
                MISSING: "there is no rumqttd here"
            }


def served(answer: bytes, *, stays: bool = False) -> int:
    """A server that says this to whoever comes, in small pieces; where it stays, it goes last."""
    door = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        guest, _ = door.accept()
        with guest:
            guest.recv(1000)
            for start in range(0, len(answer), 3):
                guest.sendall(answer[start : start + 3])
            while stays and guest.recv(1000):
                pass

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


def answers_counted(folder: Path, answers: bytes, *told: str) -> dict[str, float]:
    """What the load in C finds in these answers."""
    load = compiled(load_source("resp_load.c", folder), folder)
    (folder / "questions").write_text("ONE a b\tTWO c\nTHREE\n")
    words = [load, str(served(answers, stays=True)), str(folder / "questions"), *told]
    found: dict[str, float] = json.loads(output_of(words))
    return found


def test_the_load_counts_the_items_of_lists_and_of_those_behind_a_cursor(tmp_path: Path) -> None:
    redis = b"*2\r\n*2\r\n$1\r\na\r\n*1\r\n:1\r\n*2\r\n$1\r\nb\r\n*0\r\n"
    tile38 = b"*2\r\n:0\r\n*3\r\n$1\r\na\r\n$-1\r\n$2\r\n\r\n\r\n"
    found = answers_counted(tmp_path, redis + tile38, "2", "0", "0")
    assert (found["questions"], found["items"]) == (2, 5)
    # Of the first question the first answer has too few, and it warms up alone.
    found = answers_counted(tmp_path, b"*0\r\n" + redis + tile38, "1", "1", "1")
    assert (found["questions"], found["items"]) == (1, 3)
    with pytest.raises(EmulationError, match="resp_load"):
        answers_counted(tmp_path, b"+OK\r\n-no\r\n", "2", "0", "0")


def test_tables_of_a_join_are_the_same_each_time(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_tables(tmp_path / name, messages=300, subscriptions=20, geolife=None)
    (tmp_path / "walk.plt").write_text("head\n" * 6 + "39.95,116.38,0\n" * 3)
    table = message_table(300, None)
    assert pq.read_table(tmp_path / "a" / MESSAGES).equals(table)
    assert (tmp_path / "a" / MESSAGES).read_bytes() == (tmp_path / "b" / MESSAGES).read_bytes()
    assert not message_table(300, None, seed=2).equals(table)
    near = message_table(300, tmp_path)["latitude"].to_numpy()
    assert abs(near - 39.95).max() < 0.02


@pytest.mark.slow
def test_our_join_of_deliveries_is_measured_once_warm() -> None:
    found = run_joins("zonal", NOWHERE, None, messages=400, subscriptions=50, seed=1)
    assert found["deliveries"] > 0
    assert found["cpu_s"] > 0
    with pytest.raises(MissingProgramError, match="sedona"):
        run_joins("sedona", NOWHERE, None, messages=4, subscriptions=1, seed=1)


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


def test_programs_are_got_once_and_those_of_ones_own_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = tmp_path / "path" / "go"
    client.parent.mkdir()
    client.write_text('#!/bin/sh\nmkdir -p "$GOBIN" && echo "$2" > "$GOBIN/nats-server"\n')
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{client.parent}:{os.environ['PATH']}")
    folder = tmp_path / "programs"
    assert list(get_programs(folder, ["nats-server"])) == ["nats-server: got 2.15.2"]
    assert "nats-server/v2@v2.15.2" in Path(Programs(folder).find("nats-server")).read_text()
    assert list(get_programs(folder, ["nats-server"])) == ["nats-server: 2.15.2 is there"]
    assert version_got(folder, "nats-server") == "2.15.2"
    (folder / "build" / "nats-server" / "version").write_text("2.0.0")
    assert list(get_programs(folder, ["nats-server"])) == ["nats-server: got 2.15.2"]
    (folder / "rumqttd").write_text("mine")
    assert list(get_programs(folder, ["rumqttd"])) == ["rumqttd: there, of your own"]
    with pytest.raises(PlanError, match="no recipe for tile38-server"):
        list(get_programs(folder, ["tile38-server"]))


def test_what_cannot_be_got_does_not_keep_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zenohd").write_text("mine")
    monkeypatch.setenv("PATH", str(tmp_path))
    lines = get_programs(tmp_path, ["nats-server", "zenohd", "aedes"])
    assert next(lines) == "nats-server: go: No such file or directory"
    assert next(lines).startswith("zenohd: there, of your own, but without libzenoh_plugin_rest")
    assert next(lines).startswith("aedes: npm:")
    with pytest.raises(EmulationError, match="not got: nats-server, zenohd, aedes"):
        next(lines)
    assert (tmp_path / "zenohd").read_text() == "mine"
    assert (
        "redis-server: not there; Debian's redis-server" in list(lacking(tmp_path))
        or Path("/usr/sbin/redis-server").exists()
    )


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
