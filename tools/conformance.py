"""Runs the conformance cases against brokers, lists differences, and writes the page about ours.

tools/conformance.py                      our broker and Mosquitto, side by side
tools/conformance.py --port 1883          whatever listens there
tools/conformance.py --write              docs/mqtt-conformance.md from cases and tests
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import contextlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import conformance  # noqa: E402 - it stands beside the tests, which use it too

if TYPE_CHECKING:
    from collections.abc import Iterator

    Shown = dict[str, list[tuple[str, str]]]

PAGE = ROOT / "docs" / "mqtt-conformance.md"
NUMBER = re.compile(r"(?:3\.1\.1/)?MQTT-\d+\.\d+\.\d+-\d+")
OLDER = "3.1.1/"


def main() -> int:
    """Exit status 1 where our broker, or the one that was named, fails a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, help="of a broker that runs")
    parser.add_argument("--write", action="store_true", help="write the page, run nothing")
    options = parser.parse_args()
    if options.write:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if options.port is not None:
        return report({"this broker": run(options.host, options.port)})
    results = {}
    with our_broker() as port:
        results["zonal"] = run("127.0.0.1", port)
    if shutil.which("mosquitto", path=f"{sys.path[0]}:/usr/sbin:/usr/bin:/usr/local/bin"):
        with mosquitto() as port:
            results["mosquitto"] = run("127.0.0.1", port)
    return report(results)


def run(host: str, port: int) -> dict[conformance.Case, str | None]:
    """What a broker did wrong, by case."""
    return asyncio.run(conformance.run_all(host, port))


def report(results: dict[str, dict[conformance.Case, str | None]]) -> int:
    """Prints what each did wrong; whether the first of them did anything."""
    for name, found in results.items():
        wrong = {case: problem for case, problem in found.items() if problem is not None}
        print(f"{name}: {len(found) - len(wrong)} of {len(found)} cases passed")
        for case, problem in wrong.items():
            print(f"  {case.name} [{', '.join(case.statements)}]\n      {problem}")
    first = next(iter(results.values()))
    return int(any(problem is not None for problem in first.values()))


@contextlib.contextmanager
def our_broker() -> Iterator[int]:
    """Our broker in a process of its own."""
    command = [sys.executable, "-m", "zonal", "broker", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            found = re.search(r"mqtt://[^:]+:(\d+)", process.stdout.readline())
            assert found is not None
            yield int(found[1])
        finally:
            process.terminate()


@contextlib.contextmanager
def mosquitto() -> Iterator[int]:
    """Mosquitto as Debian ships it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(f"listener {port} 127.0.0.1\nallow_anonymous true\nlog_type none\n")
        file.flush()
        path = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
        with subprocess.Popen([path, "-c", file.name], stderr=subprocess.DEVNULL) as process:  # noqa: S603
            try:
                deadline = time.monotonic() + 10
                while time.monotonic() < deadline:
                    with contextlib.suppress(OSError):
                        socket.create_connection(("127.0.0.1", port), 0.2).close()
                        break
                    time.sleep(0.02)
                yield port
            finally:
                process.terminate()


# The page


def page() -> str:
    """The page about our broker, from what shows each statement."""
    shown = shown_by_cases()
    for number, tests in shown_by_tests().items():
        shown[number] += tests
    known = tomllib.loads((conformance.FOLDER / "statements.toml").read_text())
    rows, total, missing = _rows(known["mqtt5"], shown)
    older = {number.removeprefix(OLDER): what for number, what in shown.items() if OLDER in number}
    older_rows, older_total, older_missing = _rows(known["mqtt311"], older)
    head = (conformance.FOLDER / "page.md").read_text(encoding="utf-8")
    return head.format(
        cases=len(conformance.cases()), total=total, open=missing or "none", rows=rows,
        older=older_rows, older_total=older_total, older_open=older_missing or "none",
    )  # fmt: skip


def _rows(known: dict[str, Any], shown: Shown) -> tuple[str, int, int]:
    """The rows of a version's table, how many there are, and how many of them are open."""
    numbers = [
        f"{section}-{n}"
        for section, count in known["sections"].items()
        for n in range(1, count + 1)
        if f"{section}-{n}" not in known["missing"]
    ]
    rows, missing = [], 0
    for number in numbers:
        what = shown.get(f"MQTT-{number}", [])
        if what:
            rows.append(_row(f"MQTT-{number}", what))
        elif number in known["clients"]:
            rows.append(f"| MQTT-{number} | a client's to keep | |")
        else:
            rows.append(f"| MQTT-{number} | **open** | |")
            missing += 1
    return "\n".join(rows), len(numbers), missing


def _row(number: str, what: list[tuple[str, str]]) -> str:
    says = "; ".join(dict.fromkeys(text for text, _ in what))
    where = ", ".join(dict.fromkeys(f"`{place}`" for _, place in what))
    return f"| {number} | {says} | {where} |"


def shown_by_cases() -> Shown:
    """What the data files show, by statement."""
    found: Shown = defaultdict(list)
    for case in conformance.cases():
        for statement in case.statements:
            found[statement].append((case.name.removeprefix("3.1.1: "), f"{case.file}.toml"))
    return found


def shown_by_tests() -> Shown:
    """What tests show whose docstrings name statements, by statement."""
    found: Shown = defaultdict(list)
    for path in sorted((ROOT / "tests" / "broker").glob("test_*.py")):
        prefix = OLDER if path.stem == "test_version_311" else ""
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                text = node.name.removeprefix("test_").replace("_", " ").capitalize()
                for number in NUMBER.findall(ast.get_docstring(node) or ""):
                    found[prefix + number].append((text, path.name))
    return found


if __name__ == "__main__":
    sys.exit(main())
