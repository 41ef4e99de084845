"""Runs conformance cases, packets with expectations from data files, against any broker's port.

A case's steps are lines: who, and what it does or what happens to it.

    a > 10 #( 'MQTT' 05 02 0000 %() '~a' )    a sends bytes
    a < 20 #( 00 00 .. )                      the next packet that a receives
    a joins | joins4 | keeps | returns | …    packets that have names, in macros.toml
    a listens FILTER QOS                      a subscribes, and is answered
    a closes 81 82                            the broker closes; it may say why, with these codes
    a silent                                  nothing comes
    a drops                                   a's network connection fails
    wait 1.2                                  seconds pass

Bytes are hexadecimal; 'text' has its length before it, "text" has not; #( ) has a remaining length
before it, %( ) a property length. `~` in a text is unique to the case, `@` is who. In what is
expected `..` is anything, `??` any byte, {81|82} one of these.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "conformance"
TOKEN = re.compile(
    r"""\s*(?:(?P<text>'[^']*')|(?P<raw>"[^"]*")|(?P<open>[#%]\()|(?P<close>\))|(?P<any>\.\.)"""
    r"""|(?P<one>\?\?)|(?P<choice>\{[0-9a-f|]+\})|(?P<hex>(?:[0-9a-f]{2})+))"""
)
PATIENCE = 4.0
SILENCE = 0.3


@dataclass(frozen=True)
class Case:
    """What a broker must do, shown by an exchange of packets."""

    name: str
    statements: tuple[str, ...]
    steps: tuple[str, ...]
    file: str


class Failed(Exception):  # noqa: N818 - not an error of ours
    """A broker did something else."""


def variable(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def parse(text: str, unique: str, *, pattern: bool) -> bytes:
    """Bytes to send, or a pattern of bytes: of what `#( )` holds only the body, without length."""
    position, stack = 0, [(b"", "")]
    quote = re.escape if pattern else bytes
    text = text.strip()
    while position < len(text):
        found = TOKEN.match(text, position)
        if found is None:
            raise ValueError(f"cannot read {text[position:]!r} in {text!r}")
        position = found.end()
        data, opener = stack[-1]
        if found["open"]:
            stack.append((b"", found["open"][0]))
            continue
        if found["close"]:
            stack.pop()
            outer, outer_opener = stack[-1]
            if not pattern:
                data = variable(len(data)) + data
            elif opener == "%":
                exact = b"(?" not in data
                length = re.escape(variable(_size(data))) if exact else b"(?s:.+?)"
                data = length + data
            stack[-1] = (outer + data, outer_opener)
            continue
        if found["text"]:
            value = found["text"][1:-1].replace("~", unique).encode().decode("unicode_escape")
            raw = value.encode("latin-1") if "\\x" in found["text"] else value.encode()
            piece = quote(len(raw).to_bytes(2, "big") + raw)
        elif found["raw"]:
            piece = quote(found["raw"][1:-1].replace("~", unique).encode())
        elif found["any"]:
            piece = b"(?s:.*)"
        elif found["one"]:
            piece = b"(?s:.)"
        elif found["choice"]:
            choices = found["choice"][1:-1].split("|")
            piece = b"(?:" + b"|".join(re.escape(bytes.fromhex(c)) for c in choices) + b")"
        else:
            piece = quote(bytes.fromhex(found["hex"]))
        stack[-1] = (data + piece, opener)
    return stack[0][0]


def _size(pattern: bytes) -> int:
    """The length of what an exact pattern matches."""
    return len(re.sub(rb"\\(.)", rb"\1", pattern, flags=re.DOTALL))


def cases(folder: Path = FOLDER) -> list[Case]:
    """All cases of the data files."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        if path.name in {"macros.toml", "statements.toml"}:
            continue
        for case in tomllib.loads(path.read_text()).get("case", []):
            steps = tuple(line.strip() for line in case["steps"].strip().splitlines())
            found.append(Case(case["name"], tuple(case["statements"]), steps, path.stem))
    return found


MACROS: dict[str, str] = tomllib.loads((FOLDER / "macros.toml").read_text())


@dataclass
class Actor:
    """One client of a case."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    seen: list[str] = field(default_factory=list)

    async def packet(self) -> tuple[int, bytes]:
        """The next packet: its first byte and its body."""
        first = (await self.reader.readexactly(1))[0]
        size = shift = 0
        while True:
            part = (await self.reader.readexactly(1))[0]
            size |= (part & 0x7F) << shift
            shift += 7
            if part < 0x80:
                break
        body = await self.reader.readexactly(size)
        self.seen.append(f"{first:02x} {body.hex()}")
        return first, body


async def run(case: Case, host: str, port: int) -> str | None:
    """What a broker did wrong; None where the case passed."""
    actors: dict[str, Actor] = {}
    unique = f"z{secrets.token_hex(3)}"
    step = ""
    try:
        for step in case.steps:
            if step and not step.startswith("#"):
                await _step(step, actors, unique, host, port)
    except Failed as failed:
        return f"{step}: {failed}"
    except (asyncio.IncompleteReadError, ConnectionError):
        return f"{step}: the connection was closed"
    except TimeoutError:
        return f"{step}: nothing came"
    finally:
        for actor in actors.values():
            actor.writer.transport.abort()
    return None


async def _step(step: str, actors: dict[str, Actor], unique: str, host: str, port: int) -> None:
    who, _, rest = step.partition(" ")
    if who == "wait":
        await asyncio.sleep(float(rest))
        return
    if who not in actors:
        actors[who] = Actor(*await asyncio.open_connection(host, port))
    actor = actors[who]
    verb, _, argument = rest.strip().partition(" ")
    for word in sorted(MACROS, key=len, reverse=True):
        argument = re.sub(rf"\b{word}\b", MACROS[word], argument)
    argument = argument.replace("@", who)
    if verb == ">":
        actor.writer.write(parse(argument, unique, pattern=False))
        with contextlib.suppress(ConnectionError):
            await actor.writer.drain()
    elif verb == "<":
        await _expect(actor, argument, unique)
    elif verb == "closes":
        await _closes(actor, {int(code, 16) for code in argument.split()})
    elif verb == "silent":
        await _silent(actor)
    elif verb == "drops":
        actor.writer.transport.abort()
        del actors[who]
        await asyncio.sleep(0.05)
    elif verb == "listens":
        pattern, qos = argument.split()
        await _step(f"{who} > 82 #( 7777 %() {pattern} 0{qos} )", actors, unique, host, port)
        await _step(f"{who} < 90 #( 7777 %(..) 0{qos} )", actors, unique, host, port)
    else:
        for each in MACROS[verb].split(";"):
            await _step(f"{who} {each.strip()}", actors, unique, host, port)


async def _expect(actor: Actor, pattern: str, unique: str) -> None:
    head, _, _ = pattern.strip().partition(" ")
    body = parse(pattern.strip()[len(head) :], unique, pattern=True)
    wanted = re.compile(parse(head, unique, pattern=True))
    async with asyncio.timeout(PATIENCE):
        first, data = await actor.packet()
    if not wanted.fullmatch(bytes((first,))) or not re.compile(body).fullmatch(data):
        raise Failed(f"came {actor.seen[-1]}")


async def _closes(actor: Actor, codes: set[int]) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            first, body = await actor.packet()
            code = body[1] if first == 0x20 and len(body) > 1 else (body[0] if body else 0)
            if first not in {0x20, 0xE0} or code not in codes:
                raise Failed(f"came {actor.seen[-1]}")
            await actor.packet()
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    raise Failed(f"it stays open; came {actor.seen[-1]}")


async def _silent(actor: Actor) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SILENCE):
            await actor.packet()
        raise Failed(f"came {actor.seen[-1]}")


async def run_all(host: str, port: int, *, together: int = 32) -> dict[Case, str | None]:
    """What a broker did wrong, by case."""
    gate = asyncio.Semaphore(together)

    async def one(case: Case) -> str | None:
        async with gate:
            return await run(case, host, port)

    known = cases()
    return dict(zip(known, await asyncio.gather(*map(one, known)), strict=True))
