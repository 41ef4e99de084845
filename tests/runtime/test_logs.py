"""The log of a process: text or JSON, bounded, without passwords and exact places."""

from __future__ import annotations

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonal.errors import ConfigurationError
from zonal.geo import Point
from zonal.keys import encoding_named, place_key
from zonal.runtime import SparingLog, configure_logging
from zonal.runtime.logs import JsonLines, TextLines, discreet


def record(text: str, *values: object) -> logging.LogRecord:
    return logging.LogRecord("zonal.test", logging.INFO, "f", 1, text, values, None)


def test_values_with_names_are_members_of_the_object() -> None:
    told = {"event": "came", "user": "anna", "level": "not ours"}
    read = json.loads(JsonLines().format(record("%(user)r came", told)))
    assert read["message"] == "'anna' came"
    assert read["event"] == "came"
    assert read["level"] == "info"
    assert read["time"].endswith("Z")
    assert list(read)[:4] == ["time", "level", "logger", "message"]


@given(st.text(), st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_whatever_is_logged_is_one_line_of_json(text: str, values: dict[str, object]) -> None:
    line = JsonLines().format(record("%(_)s", {"_": text, **values}))
    assert "\n" not in line
    assert json.loads(line)["logger"] == "zonal.test"


@given(st.floats(-90, 90), st.floats(-180, 180), st.sampled_from([",", ", ", " "]))
def test_no_place_is_finer_than_a_kilometre(lat: float, lon: float, between: str) -> None:
    line = TextLines("%(message)s").format(record(f"he is at {lat:.5f}{between}{lon:.5f}."))
    assert line == f"he is at {float(f'{lat:.5f}'):.2f}{between}{float(f'{lon:.5f}'):.2f}."
    assert discreet("45.46425,9.2") == "45.46,9.2"
    assert discreet(f"{Point(45.46425, 9.19437)!r}") == "Point(lat=45.46, lon=9.19)"
    assert discreet('{"latitude": 45.46425, "longitude": 9.19437}').count("5.46425") == 0
    assert discreet(f"[{lat:.1f}, {lon:.4f}]") == f"[{lat:.1f}, {float(f'{lon:.4f}'):.2f}]"


@pytest.mark.parametrize("text", ["192.168.1.168, 10.100.2.3", "took 0.123 s", "1.234.567, 8.901"])
def test_what_is_no_place_stays(text: str) -> None:
    assert discreet(text) == text


@pytest.mark.parametrize("encoding", ["s2", "mgrs", "bloom", "json"])
def test_a_location_key_says_its_topic_alone(encoding: str) -> None:
    key = place_key("city/air", Point(45.46427, 9.19), encoding_named(encoding))
    assert discreet(f"dropped {key!r}: why") == f"dropped 'city/air/@{encoding}/…': why"
    assert discreet("@/1234/router and @zonal/x") == "@/1234/router and @zonal/x"


def test_passwords_in_addresses_are_not_shown() -> None:
    shown = discreet("mqtts://anna:top-secret@host:8883/x and postgresql://zonal:pw@db/z")
    assert shown == "mqtts://anna:***@host:8883/x and postgresql://zonal:***@db/z"


def test_a_flood_is_cut_short_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    log = SparingLog(logging.getLogger("zonal.flood"))
    with caplog.at_level(logging.INFO, "zonal.flood"):
        for _ in range(1_000):
            log.write(logging.INFO, "%(who)s", {"who": "x"}, 100.0)
        assert len(caplog.records) == 200
        log.write(logging.INFO, "%(who)s", {"who": "x"}, 101.0)
    assert "800 lines like the next" in caplog.records[-2].getMessage()


def test_levels_and_formats_that_there_are_not_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="no log level"):
        configure_logging("loud")
    with pytest.raises(ConfigurationError, match="no log format"):
        configure_logging(format="xml")
