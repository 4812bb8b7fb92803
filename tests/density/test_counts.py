import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admercs.density.counts import (
    FAR,
    ONE,
    count_codes,
    count_values,
    merge_values,
    node_counts,
)
from admercs.density.grids import lay_grids

from .tools import make_forest, plan_one


def slots_by_walking(forest, target, plan):
    """Climb from each leaf to the root and note the nodes that are slots."""
    slot_of = {int(node): slot for slot, node in enumerate(plan.nodes)}
    return [
        [slot_of[node] for node in forest.path(int(leaf)) if node in slot_of]
        for leaf in forest.leaves(target)
    ]


def slots_by_plan(plan):
    return [slots_of_leaf(plan, leaf).tolist() for leaf in range(plan.n_leaves)]


def slots_of_leaf(plan, leaf):
    return np.flatnonzero((plan.leaf_start <= leaf) & (leaf < plan.leaf_stop))


def test_slots_are_the_scorers_and_the_root():
    # Tree 0 has nodes 0 … 8; leaves 2 and 3 are scored by their ancestor 1.
    forest = make_forest(5, 1)
    plan = plan_one(forest, scorers={2: 1, 3: 1})
    assert plan.nodes.tolist() == [0, 1, 5, 7, 8]
    assert slots_by_plan(plan) == slots_by_walking(forest, 0, plan)
    stump = plan_one(forest, 1)
    assert stump.nodes.tolist() == [9]
    assert slots_by_plan(stump) == [[0]]


def test_every_leaf_finds_its_slots_in_larger_trees():
    forest = make_forest(23, 64, 7)
    for target in range(3):
        plan = plan_one(forest, target)
        assert slots_by_plan(plan) == slots_by_walking(forest, target, plan)


@pytest.fixture(scope="module")
def case():
    """Five leaves, a root and an inner node as slots; heavy tails, missing and extreme values."""
    forest = make_forest(5)
    plan = plan_one(forest, scorers={2: 1})
    rng = np.random.default_rng(3)
    x = rng.standard_t(1.5, size=3000)
    x[rng.random(3000) < 0.05] = np.nan
    x[:3] = 1e300, -1e300, 1e15
    leaves = rng.choice(forest.leaves(0), size=3000).astype(np.int32)
    n_slots = len(plan.nodes)
    n = np.full(n_slots, 600)
    grids = lay_grids(np.linspace(-1, 1, n_slots), np.linspace(3, 9, n_slots), n)
    return plan, grids, x, leaves


def plain_counts(plan, grids, x, leaves):
    """Weight per (slot, cell), one row at a time."""
    total = {}
    for value, leaf in zip(x, leaves, strict=True):
        if np.isnan(value):
            continue
        index = plan.leaf_index[leaf - plan.first_node]
        for slot in slots_of_leaf(plan, index):
            u = (value - grids.left[slot]) * (1 / grids.width[slot])
            u = min(max(u, -FAR), FAR)
            cell = int(np.floor(u))
            upper = int((u - cell) * ONE + 0.5)
            for where, weight in ((cell, ONE - upper), (cell + 1, upper)):
                if weight:
                    total[int(slot), where] = total.get((int(slot), where), 0) + weight
    return total


def as_dict(counts):
    slots = np.repeat(np.arange(len(counts.ptr) - 1), np.diff(counts.ptr))
    return {
        (int(s), int(c)): int(w) for s, c, w in zip(slots, counts.cell, counts.weight, strict=True)
    }


def assert_same(a, b):
    for left, right in zip(a, b, strict=True):
        np.testing.assert_array_equal(left, right)


def test_counts_are_those_of_a_plain_loop(case):
    plan, grids, x, leaves = case
    counts = count_values(x, leaves, plan, grids)
    assert as_dict(counts) == plain_counts(plan, grids, x, leaves)
    for slot in range(len(plan.nodes)):
        cells = counts.cell[counts.ptr[slot] : counts.ptr[slot + 1]]
        assert np.all(np.diff(cells) > 0)


@settings(max_examples=20)
@given(cuts=st.lists(st.integers(0, 3000), max_size=6), seed=st.integers(0, 99))
def test_pieces_in_any_order_add_up_to_the_whole(case, cuts, seed):
    plan, grids, x, leaves = case
    order = np.random.default_rng(seed).permutation(len(x))
    pieces = np.split(order, sorted(cuts))
    merged = merge_values([count_values(x[p], leaves[p], plan, grids) for p in pieces])
    assert_same(merged, count_values(x, leaves, plan, grids))


def test_sharing_a_row_between_two_cells_keeps_the_mean(case):
    plan, grids, _, leaves = case
    x = np.random.default_rng(0).normal(size=len(leaves))
    counts = count_values(x, leaves, plan, grids)
    root = slice(counts.ptr[0], counts.ptr[1])
    mean = np.average(counts.cell[root], weights=counts.weight[root])
    assert grids.left[0] + mean * grids.width[0] == pytest.approx(x.mean(), abs=1e-4)


def test_codes_of_a_node_are_the_sum_over_its_leaves(case):
    plan, _, _, leaves = case
    codes = np.random.default_rng(1).integers(0, 6, size=len(leaves)).astype(np.uint8)
    by_leaf = count_codes(codes, leaves, plan, 6)
    np.testing.assert_array_equal(
        by_leaf,
        count_codes(codes[:10], leaves[:10], plan, 6)
        + count_codes(codes[10:], leaves[10:], plan, 6),
    )
    by_slot = node_counts(plan, by_leaf)
    np.testing.assert_array_equal(by_slot[0], np.bincount(codes, minlength=6))
    inner = np.isin(plan.leaf_index[leaves - plan.first_node], [0, 1])
    np.testing.assert_array_equal(by_slot[1], np.bincount(codes[inner], minlength=6))


def test_joined_codes_keep_missing_apart():
    plan = plan_one(make_forest(1))
    codes = np.array([0, 1, 2, 3, 4, 5], dtype=np.uint16)
    counts = count_codes(codes, np.zeros(6, np.int32), plan, 4, shift=1)
    assert counts.tolist() == [[1, 2, 2, 1]]
