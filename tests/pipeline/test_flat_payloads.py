from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

from zonal.pipeline import Field, TopicSchema
from zonal.pipeline.flat_payloads import read_plain, schema_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPIC = TopicSchema(
    "t",
    (
        Field("pm10", "double"),
        Field("station", "string"),
        Field("n", "bigint"),
        Field("small", "int"),
        Field("on", "boolean"),
    ),
)
SCHEMA = schema_of(TOPIC)
PLAIN = (
    b'{"pm10":1.5,"station":"a","n":3,"small":-4,"on":true}',
    b'{ "pm10" : 5 , "x" : [1, "y", null] }',
    b'{"station":"citt\xc3\xa0 \\u00e0 \\/\\n\\ud83d\\ude00"}',
    b"{}",
    b'{"pm10":null,"on":false}',
    b'{"pm10":-0.0,"n":-9223372036854775808,"small":2147483647}',
    b'{"pm10":0.1234567890123456789012345678901234567890e-5}',
    b'{\n"n":\t7\r}',
    b'{"pm10":1e-999}',
)
OTHERS = (
    b"",
    b"{",
    b"no JSON",
    b"[1]",
    b' {"n":1}',
    b'{"n":1} ',
    b'{"n":1}{"n":2}',
    b'{"x":{"n":1}}',
    b'{"station":"}"}',
    b"{'n':1}",
    b'{"pm10":"5"}',
    b'{"station":5}',
    b'{"n":1.0}',
    b'{"n":9223372036854775808}',
    b'{"small":2147483648}',
    b'{"n":1,"n":2}',
    b'{"pm10":NaN}',
    b'{"pm10":Inf}',
    b'{"pm10":-INF}',
    b'{"x":Inf}',
    b'{"pm10":1e999}',
    b'{"pm10":01}',
    b'{"pm10":' + b"1" * 1001 + b"}",
    b'{"station":"\xff"}',
    b'{"station":"\\ud800"}',
    b'{"station":"a\tb"}',
    b'{"station":"open}',
    b'\xef\xbb\xbf{"n":1}',
    b'{"n":1,}',
    b'{"n":1 /* one */}',
    b'{"on":"true"}',
)


def mutilated(count: int) -> list[bytes]:
    """Payloads of which some have a byte more, less or another."""
    chance = random.Random(7)
    alphabet = b"{}[]\",:\\/ \t\n0123456789.eE+-ntrufalsNI'\x00\x80\xff"
    found = []
    for _ in range(count):
        payload = bytearray(chance.choice((*PLAIN, *OTHERS)))
        for _ in range(chance.randrange(3)):
            at = chance.randrange(len(payload) + 1)
            payload[at : at + chance.randrange(2)] = bytes(
                chance.choices(alphabet, k=chance.randrange(2))
            )
        found.append(bytes(payload))
    return found


def by_spark(spark: SparkSession, payloads: list[bytes]) -> list[tuple[object, ...] | None]:
    """The fields, and what was corrupt, as Spark's own parser finds them."""
    rows = spark.createDataFrame([(bytearray(one),) for one in payloads], "payload BINARY")
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "corrupt"}
    text = F.col("payload").cast("string")
    parsed = F.from_json(text, f"{TOPIC.ddl}, corrupt string", options)
    return [row[0] and tuple(row[0]) for row in rows.select(parsed).collect()]


def test_what_is_read_as_plain_is_what_spark_reads(spark: SparkSession) -> None:
    assert SCHEMA is not None
    payloads = [*PLAIN, *OTHERS, *mutilated(6000)]
    expected = by_spark(spark, payloads)
    read = 0
    for one, wanted in zip(payloads, expected, strict=True):
        columns, plain = read_plain(pa.array([one], pa.binary()), SCHEMA)
        if plain[0]:
            read += 1
            found = tuple(column[0].as_py() for column in columns)
            assert wanted is not None, one
            assert repr(found) == repr(wanted[:-1]), one
            assert wanted[-1] is None, one
    assert read > 500


@pytest.mark.parametrize("payload", PLAIN)
def test_common_payloads_are_plain(payload: bytes) -> None:
    assert SCHEMA is not None
    assert read_plain(pa.array([payload], pa.binary()), SCHEMA).plain.all()


@pytest.mark.parametrize("payload", OTHERS)
def test_what_parsers_read_differently_is_not_plain(payload: bytes) -> None:
    assert SCHEMA is not None
    assert not read_plain(pa.array([payload], pa.binary()), SCHEMA).plain.any()


def test_among_many_payloads_each_keeps_its_row() -> None:
    assert SCHEMA is not None
    chance = np.random.default_rng(3)
    others = (*OTHERS, None)
    whole = [
        others[chance.integers(len(others))] if chance.random() < 0.002 else b'{"n":%d}' % number
        for number in range(20_000)
    ]
    for first, size in ((0, 20_000), (1, 4096), (777, 1), (0, 0)):
        part = pa.array(whole, pa.binary()).slice(first, size)
        columns, plain = read_plain(part, SCHEMA)
        assert plain.mean() > 0.5 if size > 1 else True
        numbers = columns[2].to_pylist()
        for row, number in enumerate(numbers):
            if plain[row]:
                assert number == first + row
            else:
                assert number is None


def test_a_topic_with_a_time_is_left_to_spark() -> None:
    assert schema_of(TopicSchema("t", (Field("at", "timestamp"),))) is None
