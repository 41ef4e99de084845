from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.errors import DeclarationError
from zonal.pipeline import Field, PayloadDeclaration, TopicSchema
from zonal.pipeline.jobs.decoding import topic_matches
from zonal.pipeline.payloads import key_pattern

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

chunks = st.sampled_from(["a", "b", "ab", "a.b"])
topics = st.lists(chunks, min_size=1, max_size=4).map("/".join)
expressions = st.lists(
    st.one_of(chunks, st.sampled_from(["*", "**", "a$*"])), min_size=1, max_size=4
).map("/".join)


@examples(500)
@given(expressions, topics)
def test_the_pattern_matches_exactly_what_zenoh_matches(expression: str, topic: str) -> None:
    canonical = str(zenoh.KeyExpr.autocanonize(expression))
    expected = zenoh.KeyExpr(canonical).intersects(zenoh.KeyExpr(topic))
    assert bool(re.search(key_pattern(canonical), topic)) == expected


def test_a_job_asks_for_topics_as_zenoh_does(spark: SparkSession) -> None:
    expressions = ["a", "a/**", "a/b/**", "**", "a/*", "**/b", "a/**/b", "a/a$*"]
    sent = ["a", "b", "ab", "a/b", "ab/b", "a/ab", "a/b/a", "b/a/b"]
    rows = spark.createDataFrame([(topic,) for topic in sent], "topic STRING")
    schemas = [TopicSchema(one, (Field("x", "int"),)) for one in expressions]
    found = rows.select("topic", *(topic_matches(one).alias(one.topic) for one in schemas))
    for row in found.collect():
        topic, *answers = row
        wanted = [zenoh.KeyExpr(one).intersects(zenoh.KeyExpr(topic)) for one in expressions]
        assert answers == wanted, topic


def test_a_declaration_is_read_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(
        """
        [topics."city/air/**"]
        device = "station"
        [topics."city/air/**".fields]
        station = "string"
        pm10 = { type = "double", required = true, min = 0, max = 2000 }
        """
    )
    declaration = PayloadDeclaration.from_file(path)
    assert declaration.topics == (
        TopicSchema(
            "city/air/**",
            (Field("station", "string"), Field("pm10", "double", required=True, min=0, max=2000)),
            "station",
        ),
    )
    assert declaration.measures == ("pm10",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "cannot be read as TOML"),
        ("x = 1", "a declaration has"),
        ('[topics."a"]', "no table of fields"),
        ('[topics."a//b".fields]\nx = "int"', "no key expression"),
        ('[topics."a".fields]\nx = "number"', "type 'number' is not one of"),
        ('[topics."a".fields]\n"x y" = "int"', "letters, digits"),
        ('[topics."a".fields]\nx = { type = "string", min = 1 }', "only numbers"),
        ('[topics."a".fields]\nx = { min = 1 }', "has no type"),
        ('[topics."a"]\ndevice = "y"\n[topics."a".fields]\nx = "int"', "'y' is no field"),
        ('[topics."a".fields]\nx = "int"\n[topics."b".fields]\nx = "string"', "one column for it"),
    ],
)
def test_a_wrong_declaration_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(DeclarationError, match=message):
        PayloadDeclaration.from_file(path)
