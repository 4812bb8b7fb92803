"""Data to try the detector on: generated tables with known anomalies, and loaders."""

from admercs.datasets.labelled import LabelledArray, LabelledTable
from admercs.datasets.vehicles import make_electric_vehicles

__all__ = ["LabelledArray", "LabelledTable", "make_electric_vehicles"]
