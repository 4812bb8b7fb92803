"""The recipe of docs/scale.md: scoring a Spark table with a saved model."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.datasets import make_electric_vehicles

if not os.environ.get("ADMERCS_SPARK"):
    pytest.skip("takes a minute: make spark runs it", allow_module_level=True)
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, which is not installed here", allow_module_level=True)
pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed: make spark installs it")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("admercs")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    yield session
    session.stop()


def score(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    # This is what the documentation shows; it runs on Spark's workers.
    from pyspark import SparkFiles

    from admercs import ADMERCS

    model = ADMERCS.load(SparkFiles.get("cars.admercs"))
    for batch in batches:
        yield batch.assign(score=model.anomaly_score(batch), anomaly=model.predict(batch) < 0)


@pytest.mark.timeout(280)
def test_scores_on_spark_are_those_in_memory(spark: Any, tmp_path: Path) -> None:
    table = make_electric_vehicles(random_state=2).table
    table = table if isinstance(table, pd.DataFrame) else pd.DataFrame(table)
    table.to_parquet(tmp_path / "cars.parquet", index=False)
    model = ADMERCS().fit(table)
    model.save(tmp_path / "cars.admercs")

    cars = spark.read.parquet(str(tmp_path / "cars.parquet")).repartition(3)
    spark.sparkContext.addFile(str(tmp_path / "cars.admercs"))
    fields = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in cars.schema)
    scored = cars.mapInPandas(score, f"{fields}, score double, anomaly boolean")

    found = np.sort([row["score"] for row in scored.select("score").collect()])
    np.testing.assert_array_equal(found, np.sort(model.scores_))
    assert scored.filter("anomaly").count() == (model.predict(table) < 0).sum()
