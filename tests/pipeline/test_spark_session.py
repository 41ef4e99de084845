"""The tests' own Spark: one that dies takes no other test with it."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Apart from the other tests on Spark: PySpark mixes up objects of two Java processes in one run.
pytestmark = [pytest.mark.slow, pytest.mark.group("killed-spark")]


def test_a_spark_whose_java_was_killed_is_of_no_use(spark_holder: Any) -> None:
    spark = spark_holder.session()
    assert spark.range(3).count() == 3
    os.kill(spark_holder.java.pid, signal.SIGKILL)
    spark_holder.java.wait(30)
    with pytest.raises((ConnectionError, Py4JError)):
        spark.range(3).count()
    assert not spark_holder.is_alive


def test_the_next_test_gets_one_that_works(spark: SparkSession) -> None:
    assert spark.range(3).count() == 3
    assert spark.read.format("zonal")


def test_one_that_was_interrupted_before_its_answer_is_replaced(spark_holder: Any) -> None:
    spark = spark_holder.session()

    class TimeIsUp(BaseException):
        """As pytest-timeout ends a test: Py4J does not notice that it reads no answer."""

    def interrupt(*_: object) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGUSR1, interrupt)
    timer = threading.Timer(0.5, signal.pthread_kill, (threading.get_ident(), signal.SIGUSR1))
    try:
        timer.start()
        with pytest.raises(TimeIsUp):
            spark._jvm.java.lang.Thread.sleep(60_000)
    finally:
        signal.signal(signal.SIGUSR1, before)
    spark_holder.abandon()  # as after a failed test
    assert spark_holder.session().range(3).count() == 3


def test_one_that_was_stopped_is_replaced_too(spark_holder: Any) -> None:
    first = spark_holder.session()
    first.stop()
    second = spark_holder.session()
    assert second is not first
    assert second.range(3).count() == 3
    assert spark_holder.session() is second
