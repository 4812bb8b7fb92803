"""The table: columns and their kinds, raw values, bin codes."""

from admercs.table.bins import Binning as Binning
from admercs.table.columns import Column as Column
from admercs.table.frame import read_frame as read_frame
from admercs.table.prepared import Prepared as Prepared
from admercs.table.schema import Schema as Schema
from admercs.table.schema import learn_schema as learn_schema
from admercs.table.summary import merge_summaries as merge_summaries
from admercs.table.summary import summarise as summarise
