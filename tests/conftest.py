from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder with the real tables, or skip the test."""
    here = Path(__file__).parents[1]
    folder = Path(os.environ.get("ADMERCS_DATA", here.parent / "shared" / "data"))
    if not (folder / "zoo.csv").exists():
        pytest.skip(f"the real tables are not in {folder}; set ADMERCS_DATA to their folder")
    return folder
