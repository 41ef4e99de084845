"""Which commands there are: our own, and those that other distributions add by an entry point.

A distribution adds a command with an entry point in the group `zonal.commands`:

```toml
[project.entry-points."zonal.commands"]
hello = "my_package.hello:app"   # a function, or a `typer.Typer` with several commands
```

Our own modules import what only their command needs inside of it, so that nobody waits for Spark
to publish a message. Others are imported when their command is used, or asked for its help.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import typer

from zonal.cli.broker import app as broker
from zonal.cli.demo import demo
from zonal.cli.encode import encode
from zonal.cli.get import get
from zonal.cli.history import history
from zonal.cli.mesh import app as mesh
from zonal.cli.pipeline import app as pipeline
from zonal.cli.pub import pub
from zonal.cli.record import record
from zonal.cli.router import router
from zonal.cli.serve import serve
from zonal.cli.sub import sub
from zonal.errors import CommandError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "zonal.commands"
"""The group of entry points by which a distribution adds a command."""

_KNOWN_ELSEWHERE = {"lab": ("zonal-lab", "experiments on emulated networks")}
"""Commands that are not in this distribution, and what to install for them."""


COMMANDS: dict[str, Any] = {
    "router": router,
    "pub": pub,
    "sub": sub,
    "get": get,
    "encode": encode,
    "serve": serve,
    "broker": broker,
    "record": record,
    "pipeline": pipeline,
    "history": history,
    "mesh": mesh,
    "demo": demo,
}
"""Our own commands, in the order of `zonal --help`."""


def command_names() -> list[str]:
    """All commands: our own, then by name those that other distributions add."""
    return [*COMMANDS, *sorted(_added())]


def load_command(name: str) -> Any:
    """The function or `typer.Typer` behind a name; None for an unknown name.

    Raises `CommandError` for a command that is not installed or cannot be loaded.
    """
    if name in COMMANDS:
        return COMMANDS[name]
    if entry := _added().get(name):
        return _loaded(entry)
    if name in _KNOWN_ELSEWHERE:
        distribution, holds = _KNOWN_ELSEWHERE[name]
        raise CommandError(
            f"'zonal {name}' ({holds}) is in a distribution of its own: pip install {distribution}"
        )
    return None


def _added() -> dict[str, EntryPoint]:
    """The entry points of other distributions; ours cannot be replaced."""
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in COMMANDS}


def _loaded(entry: EntryPoint) -> Any:
    distribution = entry.dist.name if entry.dist else "another distribution"
    try:
        target = entry.load()
    except Exception as error:  # whatever a module of others does when it is imported
        raise CommandError(
            f"'zonal {entry.name}' of {distribution} cannot be loaded: {error}"
        ) from error
    if not (isinstance(target, typer.Typer) or callable(target)):
        raise CommandError(
            f"'zonal {entry.name}' of {distribution} is {target!r}, "
            "which is neither a function nor a typer.Typer"
        )
    return target
