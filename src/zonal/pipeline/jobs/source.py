"""`format("zonal")`: rows become messages on the live network. The log is `format("delta")`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pyspark.sql.datasource import DataSource

from zonal.errors import DeclarationError
from zonal.pipeline.jobs.sink import ZonalStreamWriter, ZonalWriter

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_READ_DELTA = 'format("zonal") writes; the log is a Delta table: read it with format("delta")'


class ZonalDataSource(DataSource):
    """The format that Spark knows by the name `zonal`."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "zonal"

    def schema(self) -> str:
        """The columns that a message cannot do without; a sink takes those of the rows."""
        return "topic STRING, payload BINARY"

    def reader(self, schema: StructType) -> NoReturn:  # noqa: ARG002 - Spark's signature
        """Refused: the log is a Delta table."""
        raise DeclarationError(_READ_DELTA)

    def streamReader(self, schema: StructType) -> NoReturn:  # noqa: ARG002, N802 - Spark's
        """Refused: the log is a Delta table."""
        raise DeclarationError(_READ_DELTA)

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
