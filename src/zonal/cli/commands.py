"""Which commands there are: our own, and those that other distributions add by an entry point.

A distribution adds a command with an entry point in the group `zonal.commands`:

```toml
[project.entry-points."zonal.commands"]
lab = "zonal_lab.command:app"   # a function, or a `typer.Typer` with several commands
```

Modules are imported when their command is used, so that nobody waits for Spark to say hello.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, NamedTuple

from zonal.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

GROUP = "zonal.commands"
"""The group of entry points by which a distribution adds a command."""

_KNOWN_ELSEWHERE = {"lab": ("zonal-lab", "experiments on emulated networks")}
"""Commands that are not in this distribution, and what to install for them."""


class Command(NamedTuple):
    """A command by name: what `zonal --help` says of it, and how it is imported."""

    name: str
    help: str
    load: Callable[[], Any]


def _router() -> Any:
    from zonal.cli.router import router

    return router


def _pub() -> Any:
    from zonal.cli.pub import pub

    return pub


def _sub() -> Any:
    from zonal.cli.sub import sub

    return sub


def _get() -> Any:
    from zonal.cli.get import get

    return get


def _encode() -> Any:
    from zonal.cli.encode import encode

    return encode


def _serve() -> Any:
    from zonal.cli.serve import serve

    return serve


def _broker() -> Any:
    from zonal.cli.broker import app

    return app


def _record() -> Any:
    from zonal.cli.record import record

    return record


def _pipeline() -> Any:
    from zonal.cli.pipeline import app

    return app


def _history() -> Any:
    from zonal.cli.history import history

    return history


def _mesh() -> Any:
    from zonal.cli.mesh import app

    return app


def _demo() -> Any:
    from zonal.cli.demo import demo

    return demo


COMMANDS = (
    Command("router", "Run a stock Zenoh router.", _router),
    Command("pub", "Publish messages from a place.", _pub),
    Command("sub", "Subscribe to a topic in an area.", _sub),
    Command("get", "Query a topic in an area.", _get),
    Command("encode", "Show the location keys of a point or an area.", _encode),
    Command("serve", "REST, live events and the map.", _serve),
    Command("broker", "The MQTT 5 geo broker.", _broker),
    Command("record", "Record messages into a durable log.", _record),
    Command("pipeline", "Spark jobs: lake, aggregates, alerts, ….", _pipeline),
    Command("history", "What was said here, and when.", _history),
    Command("mesh", "Publish/subscribe where there are no routers.", _mesh),
    Command("demo", "A city on a map: sensors, cars, phones, a cloud.", _demo),
)


def added_commands() -> list[Command]:
    """The commands of other distributions, by name; ours cannot be replaced."""
    ours = {command.name for command in COMMANDS}
    found = {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in ours}
    return [_added(found[name]) for name in sorted(found)]


def missing_command(name: str) -> Command | None:
    """A command that is known to be in a distribution that is not installed, or None."""
    if name not in _KNOWN_ELSEWHERE:
        return None
    distribution, holds = _KNOWN_ELSEWHERE[name]

    def refuse() -> Any:
        raise CommandError(
            f"'zonal {name}' ({holds}) is in a distribution of its own: pip install {distribution}"
        )

    return Command(name, f"Needs {distribution}.", refuse)


def _added(entry: EntryPoint) -> Command:
    distribution = entry.dist.name if entry.dist else "another distribution"

    def load() -> Any:
        try:
            return entry.load()
        except (ImportError, AttributeError) as error:
            raise CommandError(
                f"'zonal {entry.name}' of {distribution} cannot be loaded: {error}"
            ) from error

    return Command(entry.name, f"A command of {distribution}.", load)
