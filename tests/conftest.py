from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says nothing on a machine that does other work, too.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder with the real tables, or skip the test."""
    here = Path(__file__).parents[1]
    folder = Path(os.environ.get("ADMERCS_DATA", here.parent / "shared" / "data"))
    if not (folder / "zoo.csv").exists():
        pytest.skip(f"the real tables are not in {folder}; set ADMERCS_DATA to their folder")
    return folder
