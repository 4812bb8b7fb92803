"""What `admercs.inspect` shows of a fitted detector fits together and agrees with its scores."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from admercs import ADMERCS, Method, inspect
from admercs.datasets import make_electric_vehicles, make_synth_i


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return make_synth_i(2).X[:400]


def test_rows_end_where_the_nodes_send_them(rows: np.ndarray) -> None:
    model = ADMERCS().fit(rows)
    nodes, found = inspect.tree_nodes(model), inspect.leaves(model, rows)
    assert any(node.children for node in nodes)
    roots = {node.target: node for node in nodes if node.parent is None}
    assert set(roots) == {column.name for column in model.columns_}
    for tree, column in enumerate(model.columns_):
        root = roots[column.name]
        for row, leaf in zip(rows, found[:, tree], strict=True):
            node = root
            while node.children:
                value = row[int(str(node.split_on).removeprefix("x"))]
                node = nodes[node.children[int(value > node.threshold)]]
            assert node.number == leaf


def test_nodes_count_the_rows_of_their_leaves() -> None:
    cars = make_electric_vehicles(0, 300)
    model = ADMERCS().fit(cars.table)
    nodes = inspect.tree_nodes(model)
    count = np.bincount(inspect.leaves(model, cars.table).ravel(), minlength=len(nodes))
    for node in nodes:
        below = sum(nodes[child].n_rows for child in node.children)
        assert node.n_rows == (below if node.children else count[node.number])
        assert all(nodes[child].parent == node.number for child in node.children)


def test_likelihoods_are_what_the_paper_sums(rows: np.ndarray) -> None:
    method = Method.paper("Synth-I").change({"evidence.gamma_delta": 1.0})
    model = ADMERCS(method=method, n_iter=1).fit(rows)
    log_omega = inspect.likelihoods(model, rows)
    assert (log_omega <= 0).all()
    np.testing.assert_allclose(log_omega.sum(axis=1), model.score_samples(rows), atol=1e-12)


@pytest.mark.parametrize("look", [inspect.leaves, inspect.likelihoods])
def test_an_unfitted_detector_is_refused(look, rows: np.ndarray) -> None:
    with pytest.raises(NotFittedError):
        look(ADMERCS(), rows)
