"""Data to try the detector on: generated tables with known anomalies, and loaders."""

from admercs.datasets.campos import CAMPOS, CAMPOS_HD, load_campos, load_campos_hd
from admercs.datasets.dirty import DirtyTable, list_dirty, load_dirty
from admercs.datasets.folder import DamagedFileError, DataNotFoundError, data_folder
from admercs.datasets.hics import HICS_DIMENSIONS, load_hics
from admercs.datasets.labelled import LabelledArray, LabelledTable
from admercs.datasets.oddbench import OddBenchSet, list_oddbench, load_oddbench
from admercs.datasets.orders import ORDER_ERRORS, make_orders
from admercs.datasets.patterns import PATTERNS, draw_pattern
from admercs.datasets.real_tables import TABLES, load_table
from admercs.datasets.synthetic import (
    make_synth_c,
    make_synth_cs,
    make_synth_i,
    synth_c,
    synth_cs,
    synth_i,
)
from admercs.datasets.vehicles import make_electric_vehicles
from admercs.datasets.wrong import ERRORS, WrongValues, exchange_values, insert_errors

__all__ = [
    "CAMPOS",
    "CAMPOS_HD",
    "ERRORS",
    "HICS_DIMENSIONS",
    "ORDER_ERRORS",
    "PATTERNS",
    "TABLES",
    "DamagedFileError",
    "DataNotFoundError",
    "DirtyTable",
    "LabelledArray",
    "LabelledTable",
    "OddBenchSet",
    "WrongValues",
    "data_folder",
    "draw_pattern",
    "exchange_values",
    "insert_errors",
    "list_dirty",
    "list_oddbench",
    "load_campos",
    "load_campos_hd",
    "load_dirty",
    "load_hics",
    "load_oddbench",
    "load_table",
    "make_electric_vehicles",
    "make_orders",
    "make_synth_c",
    "make_synth_cs",
    "make_synth_i",
    "synth_c",
    "synth_cs",
    "synth_i",
]
