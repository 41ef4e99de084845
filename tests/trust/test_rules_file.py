from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonal.errors import RulesError
from zonal.geo import Box, Circle, Point
from zonal.trust import Action, Rules, parse_rules, read_rules

MILANO = Box(45.38, 9.04, 45.54, 9.28)
WHOLE = """
[groups]
patrol = ["alice", "bob"]

[areas]
milano = "milano.geojson"
centre = "CIRCLE (9.19 45.4642, 2000)"

[[rule]]
name = "patrol hears Milano"
who = ["patrol", "carol"]
allow = ["subscribe", "query"]
topics = ["city/#"]
area = "milano"
precision_m = 500

[[rule]]
who = "anonymous"
deny = "publish"
from = "centre"
to = "POLYGON ((9 45, 10 45, 10 46, 9 46, 9 45))"

[[positions]]
who = "*"
max_speed_m_s = 60
implausible = "refuse"
"""


def _read(name: str) -> str:
    if name != "milano.geojson":
        raise FileNotFoundError(2, "No such file", name)
    return json.dumps({"type": "Feature", "properties": {}, "geometry": MILANO.to_geojson()})


def rules(text: str) -> Rules:
    return parse_rules(text, "rules.toml", _read)


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(WHOLE)
    (tmp_path / "milano.geojson").write_text(_read("milano.geojson"))
    first, second = read_rules(tmp_path / "rules.toml").rules
    assert first.who.names == {"alice", "bob", "carol"}
    assert first.actions == {Action.SUBSCRIBE, Action.QUERY}
    assert first.area is not None
    assert first.area.bounds == MILANO
    assert (first.name, first.precision_m) == ("patrol hears Milano", 500.0)
    assert second.who.anonymous
    assert not second.allows
    assert second.origin == Circle(Point(45.4642, 9.19), radius_m=2000)
    assert second.name == "rule 2, line 17"
    (moving,) = rules(WHOLE).positions
    assert (moving.max_speed_m_s, moving.refuse) == (60.0, True)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[[rule]]\nwho = 'a'\nallow = 'shout'", 3, "rule allow: 'shout' is none of publish"),
        ("[[rule]]\nwho = 'a'", 1, "either allow or deny"),
        ("[[rule]]\nallow = 'publish'", 1, "needs who"),
        ("[[rule]]\nwho='a'\nallow='publish'\n\n[[rule]]\nwho='b'\ndeny='publish'\nspeed=3", 8,
         "rule speed: is none of"),
        ("[[rule]]\nwho='a'\nallow='publish'\ntopics = ['a/#/b']", 4, "rule topics: 'a/#/b'"),
        ("[[rule]]\nwho='a'\nallow='publish'\narea = 'rome.geojson'", 4, "cannot be read"),
        ("[[rule]]\nwho='a'\nallow='publish'\narea = 'ROMA'", 4, "well-known text"),
        ("[[rule]]\nwho='a'\nallow='subscribe'\nto = 'milano.geojson'", 4, "rule to: is about"),
        ("[[rule]]\nwho='a'\nallow='publish'\nprecision_m = -5", 4, "positive number"),
        ("[groups]\nx = ['z']\n\ny = ['x']\n", 4, "'x' is no user"),
        ("[areas]\na = 'b'\nb = 'a'\n", 2, "names itself"),
        ("[[positions]]\nwho = '*'", 1, "max_speed_m_s or max_jump_m"),
        ("[rules]\n", 1, "is none of groups, areas, rule, positions"),
        ("[alice]\npublish = ['city/#']\n", 1, '[[rule]] with who = "alice"'),
        ("[[rule]]\nwho = \n", 2, "line 2"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_line_and_key(text: str, line: int, said: str) -> None:
    with pytest.raises(RulesError, match=f"line {line}") as raised:
        rules(text)
    assert said in str(raised.value)


_VALUES = st.recursive(
    st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.floats(allow_nan=False)),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(["who", "allow", "deny", "topics", "area", "from", "to",
                                        "precision_m", "name", "x"]), _VALUES))  # fmt: skip
def test_whatever_is_written_is_read_or_refused(table: dict[str, object]) -> None:
    text = "[[rule]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
    with contextlib.suppress(RulesError):
        rules(text)
