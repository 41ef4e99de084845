"""What the tests of both distributions share: hypothesis profiles, and a Spark for them all."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from property_examples import load_profile

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Generator, Iterator

    from pyspark.sql import SparkSession

SOURCES = [str(Path(__file__).parent / each) for each in ("src", "lab/src")]

load_profile()

# A JVM that lives for minutes gains nothing from its second compiler, which takes half its time,
# and to verify Spark's own classes takes a seventh of its start. With one compiler it has room for
# 48 MB of code unless told otherwise, and sweeps out what it soon compiles again.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
)


class SparkHolder:
    """One Spark for many tests, since starting it is most of a small job's time.

    When its Java process has died, or a test has stopped it, the next test gets a new one.
    """

    def __init__(self, warehouse: Path) -> None:
        self._conf = {
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.warehouse.dir": str(warehouse),
            "spark.driver.memory": "1g",
            "spark.ui.enabled": "false",
            "spark.databricks.delta.snapshotPartitions": "1",
            # Plans run once here: quick to compile is better than quick.
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.adaptive.enabled": "false",
            # What a stream without work asks its source a hundred times a second takes a core.
            "spark.sql.streaming.pollingDelay": "100ms",
        }
        self._session: SparkSession | None = None

    def session(self) -> SparkSession:
        """A Spark that lives."""
        from zonal.pipeline.jobs import open_spark

        if self._session is None or not self.is_alive:
            self.close()
            self._session = open_spark("local[2]", conf=self._conf)
        return self._session

    @property
    def java(self) -> subprocess.Popen[bytes]:
        """The Java process that works for this one."""
        from pyspark import SparkContext

        process: subprocess.Popen[bytes] = SparkContext._gateway.proc  # type: ignore[union-attr]  # noqa: SLF001
        return process

    @property
    def is_alive(self) -> bool:
        """Whether there is a Spark that can be used."""
        if self._session is None or self._session.sparkContext._jsc is None:  # noqa: SLF001
            return False
        return self.java.poll() is None

    def abandon(self) -> None:
        """Have it replaced: the next session is on a Java process of its own."""
        if self._session is not None:
            self.java.kill()
            self.java.wait(30)

    def close(self) -> None:
        """Stop it; of one whose Java process has died, PySpark forgets everything."""
        if self._session is None:
            return
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        context, has_java = self._session.sparkContext, self.java.poll() is None
        # Whatever a dead Java process left unread is taken for an answer: anything may be raised.
        unreadable = contextlib.nullcontext() if has_java else contextlib.suppress(Exception)
        with unreadable, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._session.stop()
        if not has_java:
            context.stop()  # again, now that it knows of no Java
            with contextlib.suppress(Exception):
                SparkContext._gateway.shutdown()  # type: ignore[union-attr]  # noqa: SLF001
            SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
            SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001
        self._session = None


@pytest.fixture(scope="session")
def spark_holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkHolder]:
    """The Spark of the whole test run, for `spark` and for tests that harm it."""
    os.environ["PYTHONPATH"] = os.pathsep.join([*SOURCES, os.environ.get("PYTHONPATH", "")])
    holder = SparkHolder(tmp_path_factory.mktemp("warehouse"))
    yield holder
    holder.close()


@pytest.fixture
def spark(spark_holder: SparkHolder) -> SparkSession:
    """A Spark that lives, mostly the one that the test before has used."""
    return spark_holder.session()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """What a test reads of the log is as it was written, whatever ran before in its process.

    pytest hands its handlers to all loggers that do not propagate, and PySpark's give them a format
    of their own, for good; import-linter's configuration disables the loggers that there are.
    """
    logs: Any = item.config.pluginmanager.get_plugin("logging-plugin")
    for handler in (logs.caplog_handler, logs.report_handler):
        handler.setFormatter(logs.formatter)
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("zonal") and isinstance(logger, logging.Logger):
            logger.disabled = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """No test uses the Spark that a failed one has used.

    One whose time was up has left an answer unread, and all later ones would get wrong answers.
    """
    del call
    report = yield
    holder = getattr(item, "funcargs", {}).get("spark_holder")
    if report.failed and holder is not None:
        holder.abandon()
    return report
