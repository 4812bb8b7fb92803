import numpy as np
import pytest

from admercs.density.counts import count_codes, node_counts
from admercs.density.grids import code_shift, place_grids, tail_share

from .tools import SHAPES, count_one, encode, make_forest, plan_one, quantile_edges


def place(x, n_bins=255):
    edges = quantile_edges(x, n_bins)
    shift = code_shift(len(edges) + 1)
    plan = plan_one(make_forest(1))
    codes = count_codes(
        encode(x, edges), np.zeros(len(x), np.int32), plan, (len(edges) >> shift) + 2, shift
    )
    return place_grids(node_counts(plan, codes), edges, (x.min(), x.max()), shift)


@pytest.mark.parametrize("n_bins", [255, 4000])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_central_range_spans_most_of_the_data(shape, n_bins):
    x = SHAPES[shape](np.random.default_rng(0), 5000)
    grids = place(x, n_bins)
    low, high = np.quantile(x, [0.01, 0.99])
    assert grids.central[0] == pytest.approx(high - low, rel=0.15)


def test_small_samples_may_hold_two_extreme_values():
    x = np.append(np.random.default_rng(0).normal(size=28), [1e6, 1e7])
    assert 2 < place(x).central[0] < 10


def test_a_narrow_cluster_gets_a_grid_of_its_own():
    rng = np.random.default_rng(0)
    x = np.concatenate((rng.normal(0, 1e-6, 900), rng.normal(0, 1, 100)))
    edges = np.array([-3.0, -1.0, 1.0, 3.0])  # all too coarse to see the cluster
    plan, leaves = plan_one(make_forest(1)), np.zeros(1000, np.int32)
    codes = node_counts(plan, count_codes(encode(x, edges), leaves, plan, 6))
    grids = place_grids(codes, edges, (x.min(), x.max()))
    assert grids.central[0] > 1
    _, fitting, _ = count_one(np.concatenate((np.full(900, 5.0) + x[:900], [4.0, 6.0])))
    assert fitting.central[0] == pytest.approx(4.65e-6, rel=0.2)


def test_few_rows_get_few_cells():
    sizes = [int(count_one(np.random.default_rng(0).normal(size=n))[1].size[0]) for n in (20, 5000)]
    assert sizes == [768, 6144]
    assert tail_share(np.array([1.0])) == 0.25


def test_cells_are_no_narrower_than_what_floats_tell_apart():
    x = np.full(400, 1.55)
    x[::3] = np.nextafter(1.55, 0)
    x[-1] = 1.55 + 2e-16
    grids = place(x)
    assert (grids.width >= np.spacing(1.0)).all()
    steps = grids.left[0] + np.arange(20) * grids.width[0]
    assert (np.diff(steps) > 0).all()
