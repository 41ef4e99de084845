"""`format("zonal")`, the live network: messages become rows of a stream, rows become messages.

The log and the lake are Delta tables: `format("delta")` reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pyspark.sql.datasource import DataSource

from zonal.errors import DeclarationError
from zonal.pipeline.jobs.live import ZonalStreamReader
from zonal.pipeline.jobs.sink import ZonalStreamWriter, ZonalWriter
from zonal.pipeline.schema import LOG_SCHEMA, ddl

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class ZonalDataSource(DataSource):
    """The format that Spark knows by the name `zonal`."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "zonal"

    def schema(self) -> str:
        """The columns of the log; a sink takes those of the rows."""
        return ddl(LOG_SCHEMA)

    def reader(self, schema: StructType) -> NoReturn:  # noqa: ARG002 - Spark's signature
        """Refused: what was is in the log."""
        raise DeclarationError(
            'format("zonal") is the live network: spark.readStream; a log is a Delta table: '
            'spark.read.format("delta")'
        )

    def streamReader(self, schema: StructType) -> ZonalStreamReader:  # noqa: ARG002, N802 - Spark's
        """Subscribe, with a log behind it."""
        return ZonalStreamReader(self.options)

    def writer(self, schema: StructType, overwrite: bool) -> ZonalWriter:  # noqa: ARG002
        """Publish the rows of a batch."""
        return ZonalWriter(self.options, schema)

    def streamWriter(  # noqa: N802 - Spark's name
        self,
        schema: StructType,
        overwrite: bool,  # noqa: ARG002 - the network has nothing to overwrite
    ) -> ZonalStreamWriter:
        """Publish the rows of a stream."""
        return ZonalStreamWriter(self.options, schema)
