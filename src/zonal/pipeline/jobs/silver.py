"""Bronze to silver: messages decoded and placed in zones, bad rows with a reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own guide gives it
from pyspark.sql.pandas.functions import arrow_udf

from zonal.errors import DeclarationError
from zonal.pipeline.cells import parent_sql
from zonal.pipeline.jobs.decoding import MAX_AGE_S, decode
from zonal.pipeline.payloads import WIDENINGS, PayloadDeclaration
from zonal.pipeline.schema import LOG_COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from zonal.pipeline.zones import Zones

# The lake's partitions: a day, and a cell of about 100 km.
REGION_LEVEL = 6
PARTITIONS = ("date", "region")
_MESSAGE_COLUMNS = ("time", *LOG_COLUMNS, "device", "zone", "reason")


@dataclass(frozen=True)
class SilverPlan:
    """How messages become silver."""

    declaration: PayloadDeclaration = field(default_factory=PayloadDeclaration)
    zones: Zones | None = None
    max_skew_s: float = 60.0
    max_age_s: float = MAX_AGE_S


def refine(messages: DataFrame, plan: SilverPlan) -> DataFrame:
    """Rows of the log into rows of silver and quarantine: those with a `reason` are the latter.

    Works on a stream and on a batch alike; keeps every row. A condition by which files shall be
    left out (topic, time) belongs on `messages`.
    """
    decoded = decode(
        messages,
        plan.declaration,
        max_skew_s=plan.max_skew_s,
        max_age_s=plan.max_age_s,
        beside={"zone": _zone(plan.zones)},
    )
    # A payload's field may be called `device`: it is that column then.
    return decoded.select(*dict.fromkeys((*_MESSAGE_COLUMNS, *plan.declaration.fields)))


def join_zones(messages: DataFrame, zones: Zones | None) -> DataFrame:
    """Add the column `zone`: the name of the zone that a message was sent in, or null."""
    return messages.withColumn("zone", _zone(zones))


def _zone(zones: Zones | None) -> Column:
    if zones is None:
        return F.lit(None).cast("string")

    def zone_of(lats: pa.Array, lons: pa.Array) -> pa.Array:
        return _zone_names(lats, lons, zones)

    located: Column = arrow_udf(zone_of, "string")(F.col("latitude"), F.col("longitude"))  # type: ignore[call-overload]  # by its type hints
    return located


def lake_partitions() -> dict[str, Column]:
    """The columns that name a silver file's folder: where and when, coarsely."""
    # The token of the cell: hexadecimal without zeros at the end. A cell of level 6 has 16 bits;
    # `translate` instead of `lower`, which asks for the rules of all languages, row by row.
    head = f"shiftrightunsigned({parent_sql('cell', REGION_LEVEL)}, 48)"
    region = F.expr(f"rtrim('0', translate(lpad(hex({head}), 4, '0'), 'ABCDEF', 'abcdef'))")
    return {
        "date": F.to_date("time"),
        "region": F.coalesce(region, F.lit("none")),
    }


def as_stored(rows: DataFrame, known: StructType | None) -> DataFrame:
    """Rows with the types that the table has: a narrower number becomes what is stored.

    New columns are Delta's matter. Raises `DeclarationError` for a type that does not fit.
    """
    types = {column.name: column.dataType for column in known.fields} if known else {}
    changed = {}
    for column in rows.schema.fields:
        old = types.get(column.name)
        if old is None or old == column.dataType:
            continue
        change = (column.dataType.simpleString(), old.simpleString())
        if change not in WIDENINGS:
            raise DeclarationError(
                f"field {column.name} is {change[1]} in the lake and declared as {change[0]}: "
                "give the new field another name"
            )
        changed[column.name] = F.col(column.name).cast(old)
    return rows.withColumns(changed) if changed else rows


def _zone_names(lats: pa.Array, lons: pa.Array, zones: Zones) -> pa.Array:
    names = pa.array([*zones.names, None], pa.string())
    index = _built(zones).locate(_floats(lats), _floats(lons))
    return names.take(pa.array(np.where(index < 0, len(zones.names), index)))


@lru_cache(maxsize=8)
def _built(zones: Zones) -> Zones:
    """The same zones as last time in this worker: building the tree once is enough."""
    return zones


def _floats(column: pa.Array) -> NDArray[np.float64]:
    values: NDArray[np.float64] = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return values
