"""Rules from a TOML file, with errors that name the line and the key.

```toml
[groups]
patrol = ["alice", "bob"]

[areas]
milano = "milano.geojson"             # a file beside this one, WKT, or another area's name

[[rule]]
who = "patrol"                        # users, groups, "*" (everyone with a name), "anonymous"
allow = ["subscribe", "query"]        # or deny; publish, subscribe, query
topics = ["city/#"]                   # %u is the user, %c the client identifier
area = "milano"                       # about where
from = "milano"                       # from where: the position of whoever acts
to = "milano"                         # to whom: the fence of a message
precision_m = 500                     # how finely places are told

[[positions]]
who = "*"
max_speed_m_s = 60
max_jump_m = 5000
implausible = "refuse"                # or "count"
```
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

from zonal.errors import GeometryError, RulesError, TopicError
from zonal.geo import Area, area_from_geojson, area_from_wkt
from zonal.trust.patterns import check_pattern
from zonal.trust.plausibility import Plausible
from zonal.trust.rules import Action, Rule, Rules
from zonal.trust.who import Who

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

EVERYONE, ANONYMOUS = "*", "anonymous"
_TOP = ("groups", "areas", "rule", "positions")
_RULE = (
    "name", "who", "allow", "deny", "topics", "area", "from", "to", "precision_m",
)  # fmt: skip
_POSITIONS = ("name", "who", "max_speed_m_s", "max_jump_m", "implausible")
_OLD = ("publish", "subscribe")


def read_rules(path: Path) -> Rules:
    """The rules of a file; areas in files are looked for beside it. Raises `RulesError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RulesError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RulesError(f"{path} is not text in UTF-8") from error
    rules = parse_rules(text, str(path), lambda name: (path.parent / name).read_text("utf-8"))
    return replace(rules, files=tuple(str(path.parent / name) for name in rules.files))


def parse_rules(text: str, name: str, read: Callable[[str], str]) -> Rules:
    """Rules from text.

    Args:
        text: TOML.
        name: what errors call it.
        read: the content of a file that the text names.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RulesError(f"{name}: {error}") from error
    return _Reader(name, text, document, read).rules()


@dataclass
class _Reader:
    name: str
    text: str
    document: dict[str, Any]
    read: Callable[[str], str]
    _areas: dict[str, Area] = field(default_factory=dict)
    _groups: dict[str, frozenset[str]] = field(default_factory=dict)
    _files: list[str] = field(default_factory=list)

    def rules(self) -> Rules:
        for key, value in self.document.items():
            if key not in _TOP:
                self._refuse_top(key, value)
        self._read_groups()
        for name in self._table("areas"):
            self._named_area(name, ())
        rules = tuple(self._rule(number, table) for number, table in self._tables("rule"))
        moving = tuple(self._moving(n, table) for n, table in self._tables("positions"))
        return Rules(rules, moving, tuple(self._files))

    # Parts

    def _rule(self, number: int, table: dict[str, Any]) -> Rule:
        at = _At("rule", number)
        self._check_keys(at, table, _RULE)
        given = [key for key in ("allow", "deny") if key in table]
        if len(given) != 1:
            self._fail(at, given[-1] if given else "", "needs either allow or deny, a list of "
                       f"{', '.join(Action)}")  # fmt: skip
        verb = given[0]
        actions = self._strings(at, verb, table[verb])
        for action in actions:
            if action not in set(Action):
                self._fail(at, verb, f"{action!r} is none of {', '.join(Action)}")
        topics = self._strings(at, "topics", table.get("topics", ["#"]))
        for topic in topics:
            try:
                check_pattern(topic)
            except TopicError as error:
                self._fail(at, "topics", str(error))
        if "to" in table and any(action != Action.PUBLISH for action in actions):
            self._fail(at, "to", "is about messages that are published: a rule of its own")
        if "precision_m" in table and verb == "deny":
            self._fail(at, "precision_m", "belongs to a rule that allows")
        return Rule(
            name=self._called(at, table),
            who=self._who(at, table),
            allows=verb == "allow",
            actions=frozenset(map(Action, actions)),
            topics=topics,
            area=self._area(at, "area", table),
            origin=self._area(at, "from", table),
            audience=self._area(at, "to", table),
            precision_m=self._number(at, "precision_m", table),
        )

    def _moving(self, number: int, table: dict[str, Any]) -> Plausible:
        at = _At("positions", number)
        self._check_keys(at, table, _POSITIONS)
        word = table.get("implausible", "count")
        if word not in {"count", "refuse"}:
            self._fail(at, "implausible", f'is "count" or "refuse", not {word!r}')
        speed = self._number(at, "max_speed_m_s", table)
        jump = self._number(at, "max_jump_m", table)
        if speed is None and jump is None:
            self._fail(at, "", "needs max_speed_m_s or max_jump_m")
        return Plausible(
            name=self._called(at, table), who=self._who(at, table), max_speed_m_s=speed,
            max_jump_m=jump, refuse=word == "refuse",
        )  # fmt: skip

    def _called(self, at: _At, table: dict[str, Any]) -> str:
        name = table.get("name", f"{at.table} {at.number + 1}, line {self._line(at, '')}")
        if not isinstance(name, str) or not name:
            self._fail(at, "name", "is a text")
        return name

    def _who(self, at: _At, table: dict[str, Any]) -> Who:
        if "who" not in table:
            self._fail(at, "", 'needs who: users, groups, "*" or "anonymous"')
        names = self._strings(at, "who", table["who"])
        users = frozenset[str]().union(
            *(self._groups.get(name, {name}) for name in names if name not in {EVERYONE, ANONYMOUS})
        )
        return Who(names=users, everyone=EVERYONE in names, anonymous=ANONYMOUS in names)

    def _read_groups(self) -> None:
        for name, members in self._table("groups").items():
            at = _At("groups", 0)
            if name in {EVERYONE, ANONYMOUS}:
                self._fail(at, name, "is no name for a group: it has a meaning of its own")
            users = self._strings(at, name, members)
            for user in users:
                if user in {EVERYONE, ANONYMOUS} or user in self._table("groups"):
                    self._fail(at, name, f"{user!r} is no user; groups consist of users")
            self._groups[name] = frozenset(users)

    def _area(self, at: _At, key: str, table: dict[str, Any]) -> Area | None:
        written = table.get(key)
        if written is None:
            return None
        if not isinstance(written, str) or not written:
            self._fail(at, key, "is the name of an area or of a GeoJSON file, or well-known text")
        return self._read_area(at, key, written, ())

    def _named_area(self, name: str, on_the_way: tuple[str, ...]) -> Area:
        at, written = _At("areas", 0), self._table("areas")[name]
        if name in on_the_way:
            self._fail(at, name, "names itself")
        if not isinstance(written, str) or not written:
            self._fail(at, name, "is the name of a GeoJSON file, or well-known text")
        if name not in self._areas:
            self._areas[name] = self._read_area(at, name, written, (*on_the_way, name))
        return self._areas[name]

    def _read_area(self, at: _At, key: str, written: str, on_the_way: tuple[str, ...]) -> Area:
        if written in self._table("areas"):
            return self._named_area(written, on_the_way)
        if not re.search(r"\.(geo)?json$", written, re.IGNORECASE):
            try:
                return area_from_wkt(written)
            except GeometryError as error:
                self._fail(at, key, f"{written[:60]!r} is neither the name of an area, nor a "
                           f"file *.geojson, nor well-known text: {error}")  # fmt: skip
        if written not in self._areas:
            try:
                self._areas[written] = area_from_geojson(self.read(written))
                self._files.append(written)
            except OSError as error:
                self._fail(at, key, f"{written!r} cannot be read: {error.strerror}")
            except (UnicodeDecodeError, GeometryError) as error:
                self._fail(at, key, f"{written!r}: {error}")
        return self._areas[written]

    # Values

    def _tables(self, name: str) -> list[tuple[int, dict[str, Any]]]:
        tables = self.document.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self._fail(_At(name, 0), "", f"is written [[{name}]]")
        return list(enumerate(tables))

    def _table(self, name: str) -> dict[str, Any]:
        table = self.document.get(name, {})
        if not isinstance(table, dict):
            self._fail(_At(name, 0), "", f"is a table: [{name}]")
        return table

    def _strings(self, at: _At, key: str, value: Any) -> tuple[str, ...]:
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not values:
            self._fail(at, key, "is a text, or a list of some")
        if not all(isinstance(each, str) and each for each in values):
            self._fail(at, key, "is a text, or a list of some; none is empty")
        return tuple(values)

    def _number(self, at: _At, key: str, table: Mapping[str, Any]) -> float | None:
        value = table.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e8:
            self._fail(at, key, f"is a positive number, not {value!r}")
        return float(value)

    def _check_keys(self, at: _At, table: dict[str, Any], known: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                self._fail(at, key, f"is none of {', '.join(known)}")

    # Errors

    def _refuse_top(self, key: str, value: Any) -> NoReturn:
        if isinstance(value, dict) and value and set(value) <= set(_OLD):
            what = f'who = "{key}", allow = {list(value)} and topics = […]'
            self._fail(_At(key, 0), "", f"since 0.2.0 this is written [[rule]] with {what}")
        self._fail(_At(key, 0), "", f"is none of {', '.join(_TOP)}")

    def _fail(self, at: _At, key: str, what: str) -> NoReturn:
        where = f"{self.name}, line {self._line(at, key)}"
        title = f"[{at.table}]" if at.table in {"groups", "areas"} else at.table
        raise RulesError(f"{where}: {title}{f' {key}' if key else ''}: {what}") from None

    def _line(self, at: _At, key: str) -> int:
        """The line of a key in a table, or of the table; by its looks, since TOML tells none."""
        lines = self.text.splitlines()
        header = re.compile(rf"\s*\[\[?\s*[\"']?{re.escape(at.table)}[\"']?\s*\]\]?")
        starts = [n for n, line in enumerate(lines) if header.match(line)]
        if not starts:
            plain = re.compile(rf"\s*[\"']?{re.escape(at.table)}[\"']?\s*[.=]")
            return next((n + 1 for n, line in enumerate(lines) if plain.match(line)), 1)
        start = starts[min(at.number, len(starts) - 1)]
        wanted = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
        for number in range(start + 1, len(lines) if key else start + 1):
            if wanted.match(lines[number]):
                return number + 1
            if re.match(r"\s*\[\[?\s*[\w\"']", lines[number]):
                break
        return start + 1


@dataclass(frozen=True)
class _At:
    """A table of the file: its name, and which of several."""

    table: str
    number: int
