"""Which commands there are: our own, and those that other distributions add by an entry point.

A distribution adds a command with an entry point in the group `zonal.commands`:

```toml
[project.entry-points."zonal.commands"]
hello = "my_package.hello:app"   # a function, or a `typer.Typer` with several commands
```

A module is imported when its command is used, or when `zonal --help` asks it for its help: nobody
waits for Spark to publish a message.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import typer

from zonal.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

GROUP = "zonal.commands"
"""The group of entry points by which a distribution adds a command."""

_KNOWN_ELSEWHERE = {"lab": ("zonal-lab", "experiments on emulated networks")}
"""Commands that are not in this distribution, and what to install for them."""


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


def _watch() -> Any:
    from zonal.cli.watch import watch

    return watch


def _encode() -> Any:
    from zonal.cli.encode import encode

    return encode


def _serve() -> Any:
    from zonal.cli.serve import serve

    return serve


def _token() -> Any:
    from zonal.cli.token import token

    return token


def _broker() -> Any:
    from zonal.cli.broker import app

    return app


def _rules() -> Any:
    from zonal.cli.rules import app

    return app


def _store() -> Any:
    from zonal.cli.store import store

    return store


def _record() -> Any:
    from zonal.cli.record import record

    return record


def _pipeline() -> Any:
    from zonal.cli.pipeline import app

    return app


def _history() -> Any:
    from zonal.cli.history import history

    return history


def _export() -> Any:
    from zonal.cli.export import export

    return export


def _sql() -> Any:
    from zonal.cli.sql import sql

    return sql


def _attest() -> Any:
    from zonal.cli.attest import app

    return app


def _keys() -> Any:
    from zonal.cli.keys import app

    return app


def _mesh() -> Any:
    from zonal.cli.mesh import app

    return app


def _demo() -> Any:
    from zonal.cli.demo import demo

    return demo


def _feed() -> Any:
    from zonal.cli.feed import feed

    return feed


def _replay() -> Any:
    from zonal.cli.replay import replay

    return replay


def _config() -> Any:
    from zonal.cli.config import app

    return app


def _doctor() -> Any:
    from zonal.cli.doctor import doctor

    return doctor


def _completion() -> Any:
    from zonal.cli.completion import completion

    return completion


COMMANDS: dict[str, Callable[[], Any]] = {
    "router": _router,
    "pub": _pub,
    "sub": _sub,
    "get": _get,
    "watch": _watch,
    "encode": _encode,
    "serve": _serve,
    "token": _token,
    "broker": _broker,
    "rules": _rules,
    "store": _store,
    "record": _record,
    "pipeline": _pipeline,
    "history": _history,
    "replay": _replay,
    "feed": _feed,
    "export": _export,
    "sql": _sql,
    "attest": _attest,
    "keys": _keys,
    "mesh": _mesh,
    "demo": _demo,
    "config": _config,
    "doctor": _doctor,
    "completion": _completion,
}
"""Our own commands: how each is imported, in the order of `zonal --help`."""


EXTRAS = {
    "serve": "web",
    "token": "web",
    "broker": "broker",
    "record": "pipeline",
    "pipeline": "pipeline",
    "history": "pipeline",
    "replay": "pipeline",
    "export": "pipeline",
    "sql": "sql",
    "feed": "feeds",
    "attest": "trust",
    "keys": "trust",
    "demo": "demo",
}
"""The extra of our distribution that a command needs."""


def missing_extra(name: str | None, error: ModuleNotFoundError) -> CommandError | None:
    """What to tell where a command needs a package of an extra that is not installed."""
    extra = EXTRAS.get(name or "")
    if extra is None or error.name is None or error.name.startswith("zonal"):
        return None
    needed = error.name.partition(".")[0]
    return CommandError(f"'zonal {name}' needs {needed}: pip install 'zonal[{extra}]'")


def command_names() -> list[str]:
    """All commands: our own, then by name those that other distributions add."""
    return [*COMMANDS, *sorted(_added())]


def load_command(name: str) -> Any:
    """The function or `typer.Typer` behind a name, imported now; None for an unknown name.

    Raises `CommandError` for a command that is not installed or cannot be loaded.
    """
    if name in COMMANDS:
        return COMMANDS[name]()
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
