"""What Spark raises inside a batch, in a form that Spark itself can read when a query is stopped.

A stopped query looks for the name of an interruption in the error of its batch, by a regular
expression that recurses once per character (`StreamExecution.PROXY_ERROR`, Spark 2.4 to 4.3). The
Java stack trace that Py4J writes into its errors is long enough to overflow the thread's stack,
so the query would end by a StackOverflowError instead of the stop that was asked for.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # ships no types
from pyspark.errors.exceptions.captured import CapturedException

from zonal.errors import SparkError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOGGER = logging.getLogger(__name__)
# The classes that Spark looks for, and the words that must stand before them.
_INTERRUPTIONS = (
    "java.lang.InterruptedException",
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedByInterruptException",
)
_BEFORE = "py4j.protocol.Py4JJavaError: An error occurred while calling"


@contextmanager
def readable_errors() -> Iterator[None]:
    """An interruption becomes a short SparkError; any other error of Java's keeps its text.

    Never with the original as its cause: Py4J would write that into the message, too.
    """
    try:
        yield
    except (Py4JJavaError, CapturedException) as error:
        name = _interruption_in(error)
        if name is not None:
            _LOGGER.debug("a batch was interrupted: %s", error)
            raise SparkError(f"{_BEFORE} a batch: {name}") from None
        if isinstance(error, Py4JJavaError):
            raise SparkError(str(error)) from None
        raise


def _interruption_in(error: Py4JJavaError | CapturedException) -> str | None:
    """The class of the interruption among the causes of Java's error, if there is one."""
    cause = error.java_exception if isinstance(error, Py4JJavaError) else error._origin  # noqa: SLF001
    while cause is not None:
        name: str = cause.getClass().getName()
        if name in _INTERRUPTIONS:
            return name
        cause = cause.getCause()
    return None
