"""The table: columns and their kinds, raw values, bin codes."""

from admercs.table.bins import Binning
from admercs.table.columns import Column
from admercs.table.frame import Frame, read_frame
from admercs.table.prepared import Prepared, prepare
from admercs.table.schema import Schema, learn_schema
from admercs.table.summary import TableSummary, merge_summaries, summarise

__all__ = [
    "Binning",
    "Column",
    "Frame",
    "Prepared",
    "Schema",
    "TableSummary",
    "learn_schema",
    "merge_summaries",
    "prepare",
    "read_frame",
    "summarise",
]
