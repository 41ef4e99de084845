"""Payloads into typed columns, and a reason for every row that does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it
from pyspark.sql.pandas.functions import arrow_udf

from zonal.errors import DeclarationError
from zonal.pipeline.flat_payloads import LONGEST, read_plain, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import Column, DataFrame
    from pyspark.sql._typing import UserDefinedFunctionLike

    from zonal.pipeline.payloads import Field, PayloadDeclaration, TopicSchema

MAX_AGE_S = 31 * 86_400.0
"""How long a message may have been under way, as if it came from somebody's memory."""
_CORRUPT = "_zonal_corrupt"
_PLAIN = "_zonal_plain"


def decode(
    messages: DataFrame,
    declaration: PayloadDeclaration,
    *,
    max_skew_s: float = 60.0,
    max_age_s: float = MAX_AGE_S,
    beside: Mapping[str, Column] | None = None,
) -> DataFrame:
    """Add `time`, `device`, a column per declared field, and `reason` (null where a row is good).

    Nothing is dropped: what to do with a row that has a reason is the caller's decision. Topics
    that nobody declared keep their payload and get no fields. `beside` are columns that are added
    first: what Python finds out for them it finds out in the same turn, in which rows are moved
    there and back.
    """
    clashes = sorted(set(declaration.fields) & {*messages.columns, *(beside or {})})
    if clashes:
        raise DeclarationError(f"field {clashes[0]} has the name of a column of the log")
    parsed = messages.withColumns(
        {
            **(beside or {}),
            **{
                f"_parsed_{index}": F.when(_concerns(declaration, index), _parse(topic, payload))
                for index, (topic, payload) in enumerate(_payloads(declaration))
            },
        }
    )
    columns = {
        "time": F.coalesce("timestamp", "received"),
        "device": F.coalesce(*_devices(declaration), F.col("source")),
        "reason": _once(
            F.coalesce(
                _misplaced(),
                _ahead(max_skew_s),
                _behind(max_age_s),
                *(_misfit(declaration, index) for index in range(len(declaration.topics))),
            )
        ),
        **{name: _field(declaration, name) for name in declaration.fields},
    }
    helpers = [f"_parsed_{index}" for index in range(len(declaration.topics))]
    return parsed.withColumns(columns).drop(*helpers)


def _payloads(declaration: PayloadDeclaration) -> Iterator[tuple[TopicSchema, Column]]:
    """Each topic with the payloads that may be plain ones of it."""
    short = F.length("payload") <= LONGEST
    for index, topic in enumerate(declaration.topics):
        yield topic, F.when(_concerns(declaration, index) & short, F.col("payload"))


def _once(column: Column) -> Column:
    """The same column, which a condition on it finds computed.

    Spark would move the condition to where rows are read, and there parse a payload anew for each
    check of it. What it does not take for deterministic stays where it is.
    """
    return F.when(F.spark_partition_id() >= 0, column)


def _concerns(declaration: PayloadDeclaration, index: int) -> Column:
    """Whether a row is decoded by this declared topic: the first that matches decides."""
    condition = topic_matches(declaration.topics[index]) & (F.col("kind") == "put")
    for earlier in declaration.topics[:index]:
        condition &= ~topic_matches(earlier)
    return condition


def topic_matches(topic: TopicSchema) -> Column:
    """Whether a row's topic is one of those that a declaration is about."""
    column = F.col("topic")
    below = topic.topic.removesuffix("/**")
    if "*" in below:
        return column.rlike(topic.pattern)
    # A regular expression would be asked anew for every row.
    same = column == below
    return same if below == topic.topic else same | column.startswith(f"{below}/")


def _parse(topic: TopicSchema, payload: Column) -> Column:
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    text = F.col("payload").cast("string")
    parsed = F.from_json(text, f"{topic.ddl}, `{_CORRUPT}` string", options)
    schema = schema_of(topic)
    if schema is None:
        return parsed
    # Asked for within the expression, not in a column before it: Spark would copy all rows once
    # more to give it its name, and asks Python once for what is equal.
    plain = _reader(schema, topic.ddl)(payload)
    fields = [plain[field.name].alias(field.name) for field in topic.fields]
    fitting = F.lit(None).cast("string").alias(_CORRUPT)
    return F.when(plain[_PLAIN], F.struct(*fields, fitting)).otherwise(parsed)


def _reader(schema: pa.Schema, ddl: str) -> UserDefinedFunctionLike:
    """A function that reads plain payloads: a struct of the fields and whether it was one."""

    def read(payloads: pa.Array) -> pa.Array:
        columns, plain = read_plain(payloads.cast(pa.binary()), schema)
        return pa.StructArray.from_arrays([*columns, pa.array(plain)], [*schema.names, _PLAIN])

    # Spark's parser makes a reader with a buffer of 8 KB for each payload.
    reader: UserDefinedFunctionLike = arrow_udf(read, f"{ddl}, {_PLAIN} boolean")  # type: ignore[call-overload]
    return reader


def _field(declaration: PayloadDeclaration, name: str) -> Column:
    holders = [
        F.col(f"_parsed_{index}.{name}")
        for index, topic in enumerate(declaration.topics)
        if name in {field.name for field in topic.fields}
    ]
    return F.coalesce(*holders)


def _devices(declaration: PayloadDeclaration) -> list[Column]:
    return [
        F.col(f"_parsed_{index}.{topic.device}").cast("string")
        for index, topic in enumerate(declaration.topics)
        if topic.device
    ]


def _misplaced() -> Column:
    """A location is whole and on the globe, or absent."""
    lat, lon = F.col("latitude"), F.col("longitude")
    half = lat.isNull() != lon.isNull()
    # Spark orders NaN above every number, so these comparisons catch it.
    outside = (lat > 90) | (lat < -90) | (lon > 180) | (lon < -180)
    text = F.format_string("location (%s, %s) is outside the world", lat, lon)
    return F.when(half | outside, text)


def _ahead(max_skew_s: float) -> Column:
    """A clock in the future would move every window and watermark with it."""
    ahead = F.col("timestamp").cast("double") - F.col("received").cast("double")
    text = F.format_string("time stamp is %.0f s after its reception", ahead)
    return F.when(ahead > max_skew_s, text)


def _behind(max_age_s: float) -> Column:
    """Silver has a folder for each day: who may choose any day makes as many as there are."""
    behind = F.col("received").cast("double") - F.col("timestamp").cast("double")
    text = F.format_string("time stamp is %.0f s before its reception", behind)
    return F.when(behind > max_age_s, text)


def _misfit(declaration: PayloadDeclaration, index: int) -> Column:
    topic = declaration.topics[index]
    parsed = F.col(f"_parsed_{index}")
    limits = [_limit(field, parsed[field.name]) for field in topic.fields]
    broken = F.when(parsed[_CORRUPT].isNotNull(), _cause(topic, parsed))
    nothing = F.when(parsed.isNull(), F.lit("payload is no JSON object"))
    return F.when(_concerns(declaration, index), F.coalesce(nothing, broken, *limits))


def _cause(topic: TopicSchema, parsed: Column) -> Column:
    """Why a payload could not be parsed as declared; computed for such rows alone."""
    text = F.col("payload").cast("string")
    no_object = F.get_json_object(text, "$").isNull() | ~F.trim(text).startswith("{")
    reasons = [F.when(no_object, F.lit("payload is no JSON object"))]
    for field in topic.fields:
        there = F.get_json_object(text, f"$.{field.name}")
        message = F.concat(F.lit(f"field {field.name}: "), there, F.lit(f" is no {field.type}"))
        reasons.append(F.when(parsed[field.name].isNull() & there.isNotNull(), message))
    known = ", ".join(field.name for field in topic.fields)
    return F.coalesce(*reasons, F.lit(f"payload does not fit the fields {known}"))


def _limit(field: Field, value: Column) -> Column:
    missing = F.when(value.isNull(), F.lit(f"field {field.name} is missing"))
    checks = [missing] if field.required else []
    if field.min is not None:
        checks.append(F.when(value < field.min, _beyond(field, value, f"below {field.min:g}")))
    if field.max is not None:
        checks.append(F.when(value > field.max, _beyond(field, value, f"above {field.max:g}")))
    return F.coalesce(*checks) if checks else F.lit(None).cast("string")


def _beyond(field: Field, value: Column, limit: str) -> Column:
    return F.concat(F.lit(f"field {field.name}: "), value.cast("string"), F.lit(f" is {limit}"))
