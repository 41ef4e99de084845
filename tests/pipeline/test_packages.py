"""What Spark fetches when it first starts."""

from __future__ import annotations

import threading
from pathlib import Path

import pyspark
import pytest

from network import eventually
from zonal.pipeline.jobs import delta_packages, package_conf
from zonal.pipeline.jobs.packages import fetching


@pytest.fixture(autouse=True)
def own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def conf_of(folder: Path) -> dict[str, str]:
    return {"spark.jars.ivy": str(folder), **package_conf({}, s3=False)}


def test_packages_fit_this_pyspark_and_the_users_own_come_along() -> None:
    (delta,) = delta_packages()
    assert f"delta-spark_{pyspark.__version__.rpartition('.')[0]}_" in delta
    conf = package_conf({"spark.jars.packages": "a:b:1", "spark.jars.excludes": "c:d"}, s3=True)
    packages = conf["spark.jars.packages"].split(",")
    assert packages[0] == delta
    assert packages[-1] == "a:b:1"
    (hadoop,) = (one.rpartition(":")[2] for one in packages if ":hadoop-aws:" in one)
    jars = Path(pyspark.__file__).parent / "jars"
    assert (jars / f"hadoop-client-api-{hadoop}.jar").exists()
    assert conf["spark.jars.excludes"].endswith(",c:d")


def test_progress_is_told_and_one_at_a_time_fetches(tmp_path: Path) -> None:
    conf, told, others = conf_of(tmp_path / "ivy"), list[str](), list[str]()
    entered = threading.Event()

    def another() -> None:
        with fetching(conf, others.append):
            entered.set()

    with fetching(conf, told.append):
        waiting = threading.Thread(target=another)
        waiting.start()
        (tmp_path / "ivy" / "cache").mkdir(parents=True)
        (tmp_path / "ivy" / "cache" / "part").write_bytes(bytes(2_500_000))
        eventually(lambda: told[-1] == "fetching Spark's packages: 2.5 MB so far")
        assert not entered.is_set()
    assert entered.wait(20)
    waiting.join()


def test_what_is_there_is_not_spoken_of(tmp_path: Path) -> None:
    conf, told = conf_of(tmp_path), list[str]()
    group, name, version = delta_packages()[0].split(":")
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"{group}_{name}-{version}.jar").touch()
    with fetching(conf, told.append):
        assert told == []
