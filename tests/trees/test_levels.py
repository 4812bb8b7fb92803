"""Trees grown level by level from pieces of a table are the trees grown from the whole table."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from admercs.datasets import make_electric_vehicles
from admercs.table import bin_table, learn_schema, prepare, read_frame, summarise
from admercs.trees.grow import Growing, Layout
from admercs.trees.growth import TreeSettings, grow_forest, join_trees, prepare_target
from admercs.trees.histograms import code_offsets
from admercs.trees.levels import (
    Level,
    count_level,
    find_turns,
    merge_counts,
    next_level,
    no_counts,
)


@pytest.mark.parametrize("criterion", ["distribution", "variance", "paper"])
@pytest.mark.parametrize("max_depth", [0, 3, 10])
def test_pieces_grow_the_trees_of_the_whole(criterion: str, max_depth: int) -> None:
    frame = read_frame(make_electric_vehicles(random_state=1).table)
    schema = learn_schema(summarise(frame), warn=False)
    table = prepare(frame, schema)
    binning, codes = bin_table(table, schema)
    settings = TreeSettings(criterion, max_depth, 0.02, "auto")
    whole, leaves = grow_forest(
        codes, binning.edges, binning.n_codes, schema.used, table.column, settings
    )
    layout = Layout(code_offsets(binning.n_codes), binning.is_nominal)
    cuts = [0, 7, 7, 300, table.n_rows]
    trees, code_counts = [], []
    for m, column in enumerate(schema.used):
        target = prepare_target(
            settings, column, codes[m], int(binning.n_codes[m]), lambda m=m: table.column(m)
        )
        code_counts.append(target.code_counts)
        level = Level(Growing(m, target.rules, layout))
        while not level.is_done:
            sketch, pieces = level.sketch(), []
            turns = sketch.turns()
            for start, stop in pairwise(cuts):
                counts = no_counts(sketch)
                count_level(
                    codes[:, start:stop], target.values[start:stop].take, sketch, turns, counts
                )
                pieces.append(counts)
            level = next_level(level, merge_counts(pieces))
        nodes, _ = level.tree.finished()
        found = find_turns(nodes, layout).walk(codes)
        np.testing.assert_array_equal(found, leaves.number[m])
        trees.append(nodes)
    grown = join_trees(trees, binning.edges, binning.is_nominal, code_counts, settings)
    for name in whole._fields:
        np.testing.assert_array_equal(getattr(grown, name), getattr(whole, name), err_msg=name)
