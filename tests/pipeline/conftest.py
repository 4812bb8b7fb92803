"""A real cluster of two worker processes, shared by all tests."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import distributed
import pytest


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as active,
    ):
        yield active
