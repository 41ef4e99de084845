"""Where the table of a Spark command goes: onto the terminal, or into a folder of Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Master = Annotated[
    str | None, typer.Option(help="Spark's master; else that of spark-submit, else local[*].")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="A folder for Parquet.")]
Overwrite = Annotated[bool, typer.Option(help="Replace what is in the output folder.")]


def finish(frame: DataFrame, output: Path | None, *, overwrite: bool) -> None:
    """Show the table, or write it."""
    if output is None:
        frame.show(50, truncate=40)
        return
    frame.write.mode("overwrite" if overwrite else "errorifexists").parquet(str(output.absolute()))
    typer.echo(f"written to {output}")
