"""`zonal rules`: what is wrong with rules, what they decide, what a router makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
import zenoh

from zonal.cli.notation import AREA_HELP, given, parse_area, parse_point
from zonal.cli.options import JsonLines
from zonal.errors import CommandError
from zonal.geo import Area, Point, cover, outline, planar_of
from zonal.session import read_users
from zonal.trust import Action, HearingVerdict, Rules, Verdict, compile_rules, read_rules

app = typer.Typer(help="Check rules by place, explain and compile them.", no_args_is_help=True)

RULES = Path("rules.toml")
_FILE = typer.Argument(help="The rules.")
_NOBODY = "anonymous"
_NOT_OVER_ZENOH = (
    "not at a Zenoh router: wildcards of Zenoh stand for no level that begins with '@', so a rule "
    "has to name it"
)


@app.command()
def check(file: Annotated[Path, _FILE] = RULES, json_lines: JsonLines = False) -> None:
    """Say what is wrong with rules, with line and key, and what routers cannot do of them."""
    rules = read_rules(file)
    notes = compile_rules(rules).notes
    if json_lines:
        told = {"rules": len(rules.rules), "users": sorted(rules.users), "notes": notes}
        typer.echo(json.dumps({"file": str(file), **told}))
        return
    named = f"{len(rules.rules)} rules that name {len(rules.users)} users"
    typer.echo(f"{file} is right: {named}, {len(rules.positions)} about positions.")
    for note in notes:
        typer.echo(f"At a Zenoh router: {note}")


@app.command(name="compile")
def compile_(
    file: Annotated[Path, _FILE] = RULES,
    user: Annotated[
        list[str] | None,
        typer.Option(help="A user whom the rules do not name, for '*'; repeatable."),
    ] = None,
    users: Annotated[
        Path | None, typer.Option(exists=True, help="The router's users: user:password lines.")
    ] = None,
    cells: Annotated[
        int, typer.Option(min=6, help="How many cells an area becomes at the most.")
    ] = 128,
    encoding: Annotated[
        list[str] | None,
        typer.Option(help="Encodings to allow by area; repeatable. By default s2 and mgrs."),
    ] = None,
    json_lines: JsonLines = False,
) -> None:
    """Print the access control of a stock Zenoh router that does what rules say.

    It is JSON, as routers read it; what they cannot do is told on standard error. With --json it
    is one line, and has what they cannot do as well.
    """
    known = [*(user or ()), *(() if users is None else read_users(users))]
    rules = read_rules(file)
    kinds = tuple(encoding or ("s2", "mgrs"))
    compiled = compile_rules(rules, known, max_cells=cells, encodings_of_areas=kinds)
    notes = [*compiled.notes, *_margins(rules, cells)]
    document = {"access_control": compiled.access_control}
    if json_lines:
        typer.echo(json.dumps({**document, "notes": notes}))
        return
    typer.echo(json.dumps(document, indent=2))
    for note in notes:
        typer.echo(note, err=True)


@app.command()
def explain(
    user: Annotated[str, typer.Argument(help="Who acts; 'anonymous' is one without a name.")],
    action: Annotated[str, typer.Argument(help="What is done: publish, subscribe or query.")],
    topic: Annotated[str, typer.Argument(help="The topic, or a filter.")],
    rules: Annotated[Path, typer.Option(help="The rules.")] = RULES,
    at: Annotated[str | None, typer.Option(help="The message's place: 45.4642,9.19.")] = None,
    area: Annotated[str | None, typer.Option(help=AREA_HELP)] = None,
    to: Annotated[str | None, typer.Option(help="The message's fence: an area.")] = None,
    position: Annotated[str | None, typer.Option(help="Where the user is: 45.46,9.19.")] = None,
    client: Annotated[str, typer.Option(help="Its MQTT client identifier, for %c.")] = "",
    json_lines: JsonLines = False,
) -> None:
    """Say what is decided, and by which rule.

    With --at, subscribe and query are asked for one message from there. Ends with status 1 where
    it is refused.
    """
    if action not in set(Action):
        raise CommandError(f"{action!r} is none of {', '.join(Action)}")
    act = Action(action)
    if act is Action.PUBLISH and area is not None:
        raise CommandError("a message has a place (--at) and a fence (--to), no --area")
    if act is not Action.PUBLISH and to is not None:
        raise CommandError("--to is the fence of a message: it is for publish")
    known, name = read_rules(rules), None if user == _NOBODY else user
    verdict = _decided(
        known, name, act, topic,
        given(at, parse_point), given(area or to, parse_area), given(position, parse_point), client,
    )  # fmt: skip
    note = _NOT_OVER_ZENOH if verdict.allowed and _is_hidden(known, name, act, topic) else None
    if json_lines:
        typer.echo(json.dumps({**_as_json(verdict), "note": note}))
    else:
        _tell(verdict)
        if note is not None:
            typer.echo(note)
    if not verdict.allowed:
        raise typer.Exit(1)


def _decided(
    rules: Rules, user: str | None, action: Action, topic: str, place: Point | None,
    area: Area | None, position: Point | None, client: str,
) -> Verdict:  # fmt: skip
    if action is Action.PUBLISH:
        return rules.may_publish(user, topic, place, area, position=position, client=client)
    if place is not None:
        return rules.may_receive(
            user, topic, place, position=position, client=client, action=action
        )
    ask = rules.may_hear if action is Action.SUBSCRIBE else rules.may_ask
    return ask(user, topic, area, position=position, client=client)


def _is_hidden(rules: Rules, user: str | None, action: Action, topic: str) -> bool:
    """Whether wildcards of rules stand for a topic over MQTT and REST, but not over Zenoh."""
    if not any(level.startswith("@") for level in topic.split("/")):
        return False
    asked = _key_expression(topic)
    return not any(
        _key_expression(each).includes(asked)
        for rule in rules.of(user, action)
        if rule.allows
        for each in rule.topics
    )


def _key_expression(topic: str) -> zenoh.KeyExpr:
    words = {"+": "*", "#": "**"}
    return zenoh.KeyExpr.autocanonize("/".join(words.get(each, each) for each in topic.split("/")))


def _tell(verdict: Verdict) -> None:
    word = "allowed" if verdict.allowed else "refused"
    by = f" by {verdict.rule}" if verdict.rule else ""
    said = f": {verdict.reason}" if verdict.reason else ""
    typer.echo(f"{word}{by}{said}")
    if verdict.precision_m is not None:
        typer.echo(f"places are told to {verdict.precision_m:g} m")
    if isinstance(verdict, HearingVerdict) and verdict.narrowed and verdict.area is not None:
        typer.echo(f"what is left lies in {verdict.area.to_wkt()[:200]}")


def _as_json(verdict: Verdict) -> dict[str, Any]:
    told: dict[str, Any] = {
        "allowed": verdict.allowed,
        "rule": verdict.rule,
        "reason": verdict.reason,
        "precision_m": verdict.precision_m,
    }
    if isinstance(verdict, HearingVerdict):
        told["narrowed"] = verdict.narrowed
        told["area"] = None if verdict.area is None else verdict.area.to_geojson()
    return told


def _margins(rules: Rules, cells: int) -> list[str]:
    """How much larger the cells are than each area."""
    told = []
    for rule in rules.rules:
        if rule.area is None or not rule.allows:
            continue
        size = _size(rule.area)
        covered = sum(map(_size, map(outline, cover(rule.area, cells, max_level=20))))
        if size:
            told.append(f"{rule.name}: its cells are {covered / size:.2f} times its area")
    return told


def _size(area: Area) -> float:
    """An area in square degrees, for comparison with others near by."""
    try:
        return float(planar_of(area).area)
    except ValueError:
        return 0.0
