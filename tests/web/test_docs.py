"""Every example of docs/rest.md, as it is printed there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from network import eventually
from served import Web, WebWith
from zonal import Point
from zonal.session import Query
from zonal.web import grant_for

DOCS = Path(__file__).parents[2] / "docs"
REST = (DOCS / "rest.md").read_text()
EXAMPLES = re.findall(r"```sh\n(.*?)\n```", REST, re.DOTALL)

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


def shell(command: str, url: str, token: str = "") -> str:
    done = subprocess.run(
        ["bash", "-c", command.replace("curl ", "curl -sS --fail-with-body ", 1)],
        env={"PATH": "/usr/bin:/bin", "ZONAL": url, "TOKEN": token},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    known = {0: "", 22: "an HTTP error", 28: "the stream was cut off by --max-time"}
    assert done.returncode in known, done.stderr
    return done.stdout


def examples(text: str) -> list[str]:
    found = [example for example in EXAMPLES if text in example]
    assert found, f"no example with {text!r}"
    return found


def test_there_are_examples_of_every_operation() -> None:
    for text in (
        "PUT",
        "POST",
        "DELETE",
        "event-stream",
        "_time",
        "/metrics",
        "Bearer",
        "geofence",
    ):
        examples(text)


def test_put_post_and_delete_examples(web: Web) -> None:
    samples: list[tuple[str, str]] = []
    with web.sensor.declare_subscriber("city/**", fenced=True) as everything:
        published = [
            example for text in ("-X PUT", "-X POST", "-X DELETE")
            for example in examples(text) if "Bearer" not in example
        ]  # fmt: skip
        eventually(lambda: shell(published[0], web.url) == "" and everything.try_recv())
        while everything.recv(timeout=0.5):
            pass
        for example in published:
            assert shell(example, web.url) == ""
            sample = everything.recv(timeout=15)
            assert sample is not None, example
            samples.append((sample.key, str(sample.geofence)))
            assert sample.location is not None
            assert sample.is_blurred == ("precision" in example)
    fences = {fence for key, fence in samples if key == "city/alert"}
    assert len(fences) == 1, "`geofence` and `shape` write the same fence"


def test_the_stream_example_shows_what_the_page_shows(web: Web) -> None:
    (stream,) = examples("text/event-stream")
    (put, *_) = examples("-X PUT")
    stop = threading.Event()

    def publish() -> None:
        while not stop.wait(0.3):
            shell(put, web.url)

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        text = shell(stream, web.url)
    finally:
        stop.set()
        thread.join()
    events = dict(re.findall(r"event: (\w+)\ndata: (.*)\n", text))
    shown = dict(re.findall(r"event: (\w+)\ndata: (.*)\n", REST))
    assert events.keys() == shown.keys()
    for name, data in shown.items():
        assert json.loads(events[name]).keys() == json.loads(data).keys()
    assert json.loads(events["PUT"])["value"] == {"pm10": 21}


def test_query_examples_answer_as_shown(web: Web) -> None:
    asked: list[str] = []

    def answer(query: Query) -> None:
        with query:
            asked.append(str(query.parameters))
            query.reply(
                "city/air", '{"pm10":21}', location=Point(45.4642, 9.19),
                content_encoding="application/json",
            )  # fmt: skip

    box, history = (examples(text)[0] for text in ("shape=box", "_time"))
    shown = json.loads(next(iter(re.findall(r"```json\n(\[.*?\])\n```", REST, re.DOTALL))))
    with web.sensor.declare_queryable("city/air", answer):
        eventually(lambda: json.loads(shell(box, web.url)))
        for example in (box, history):
            (reply,) = json.loads(shell(example, web.url))
            reply.pop("source", None)
            assert {**reply, "timestamp": None} == shown[0]
    assert asked[-1].startswith("_time=[now(-1h)..]")


def test_the_error_example_answers_as_shown(web: Web) -> None:
    (example,) = (e for e in EXAMPLES if e.endswith('shape=circle"'))
    (shown,) = re.findall(r"```json\n(\{.*?\})\n```", REST, re.DOTALL)
    assert json.loads(shell(example, web.url)) == json.loads(shown)


def test_the_metrics_example_has_every_counter_of_the_table(web: Web) -> None:
    text = shell(examples("/metrics")[0], web.url)
    named = set(re.findall(r"`(zonal_\w+)`", REST.partition("## Counters")[2]))
    told = set(re.findall(r"# TYPE (\w+) ", text))
    assert named == told


def test_the_token_example(web_with: WebWith) -> None:
    web = web_with(tokens=(grant_for("secret", "anna", write=("city/**",)),))
    put, *_ = examples("Bearer")
    assert shell(put, web.url, "secret") == ""
    for example in examples("Bearer"):
        assert json.loads(shell(example, web.url, "wrong"))["status"] == 401


def test_every_parameter_is_described() -> None:
    from zonal.web.vocabulary import ALIASES, PARAMETERS

    table = REST.partition("## Parameters")[2].partition("## Errors")[0]
    assert all(f"`{name}`" in table for name in (*PARAMETERS, *ALIASES))


def test_figures_that_pages_show_exist() -> None:
    for page in ("rest.md", "demo.md"):
        for figure in re.findall(r"\]\((figures/.*?)\)", (DOCS / page).read_text()):
            assert (DOCS / figure).is_file(), figure
