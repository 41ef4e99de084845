"""`zonal router`: a stock Zenoh router."""

from __future__ import annotations

import json
import logging
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from zonal.cli.connection import metrics_served
from zonal.cli.options import LOCAL_ROUTER, Insecure, JsonLines, Metrics, MetricsToken
from zonal.cli.shared import shared
from zonal.cli.stopping import stop_event
from zonal.cli.zenoh_log import ZenohLog
from zonal.runtime import Family, Reloads, figures, figures_of
from zonal.session import Router, Security, read_users
from zonal.trust import compile_rules, read_rules

logger = logging.getLogger(__name__)


def router(
    listen: Annotated[
        list[str],
        typer.Option(
            "--listen", "-l", help="Endpoint to listen on; repeatable. Port 0 takes a free one."
        ),
    ] = LOCAL_ROUTER,
    connect: Annotated[
        list[str] | None,
        typer.Option("--connect", "-e", help="Another router to join; repeatable."),
    ] = None,
    scouting: Annotated[bool, typer.Option(help="Let others find it by multicast.")] = False,
    rules: Annotated[
        Path | None,
        typer.Option(exists=True, help="What users may do, as far as keys say (rules.toml)."),
    ] = None,
    metrics: Metrics = None,
    metrics_token: MetricsToken = None,
    insecure: Insecure = False,
    json_lines: JsonLines = False,
) -> None:
    """Run a stock Zenoh router until Ctrl-C."""
    stop = stop_event()
    with ExitStack() as stack:
        log = stack.enter_context(ZenohLog())
        security, json5 = shared().security, shared().json5
        allowed = _Allowed(rules, security)
        running = stack.enter_context(
            Router(
                listen,
                connect=connect or (),
                scouting=scouting,
                security=security,
                json5=json5,
                insecure=insecure,
                settings=allowed.settings(),
            )
        )
        log.on_refused = running.visits.refuse
        running.visits.on_came = log.came
        running.watch_visits()
        reloads = stack.enter_context(Reloads())
        reloads.on_hangup()
        own = [] if json5 is None else [json5]
        watched = [*security.files, *own, *allowed.files]
        reloads.watch(
            "users, rules and certificates", watched, lambda: running.reload(allowed.settings())
        )
        stack.enter_context(
            metrics_served(metrics, metrics_token, lambda: router_page(running), insecure=insecure)
        )
        if json_lines:
            typer.echo(json.dumps({"endpoints": running.endpoints}))
        else:
            typer.echo(f"Stock Zenoh router on {', '.join(running.endpoints)}; Ctrl-C stops it.")
        stop.wait()


@dataclass
class _Allowed:
    """The rules of a router's users as Zenoh's settings, read whenever they are asked for."""

    path: Path | None
    security: Security
    files: tuple[Path, ...] = ()

    def settings(self) -> dict[str, Any]:
        """Its access control; what it cannot do of the rules is logged."""
        if self.path is None:
            return {}
        rules = read_rules(self.path)
        self.files = (self.path, *map(Path, rules.files))
        known = () if self.security.users is None else read_users(Path(self.security.users))
        compiled = compile_rules(rules, known)
        for note in compiled.notes:
            logger.warning("%s: %s", self.path, note)
        return {"access_control": compiled.access_control}


def router_page(running: Router) -> str:
    """The router's figures for Prometheus."""
    visits = running.visits
    family = Family("gauge", "Who is connected.", ("kind",))
    kinds: dict[tuple[str, ...], float] = {
        (kind,): float(count) for kind, count in running.kinds.items()
    }
    told = [
        ("connections", "counter", "Connections that were let in.", visits.came),
        ("connections_ended", "counter", "Connections that ended.", visits.left),
        ("connections_refused", "counter", "Connections that were not let in.", visits.refused),
    ]
    sessions = "\n".join(figures("zonal_router_sessions", family, kinds))
    return f"{sessions}\n{figures_of('zonal_router', told)}"
