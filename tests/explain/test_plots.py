"""Plots return axes that say what they show."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from admercs import ADMERCS
from admercs.datasets import make_orders
from admercs.explain import Explanations
from admercs.explain.access import ModelAccess
from admercs.explain.plots import (
    plot_cells,
    plot_context,
    plot_reason,
    plot_row,
    telling_attributes,
)
from tests.pipeline.test_find_contexts import HIDDEN, corners

DATES = {"ordered", "shipped"}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_every_reason_can_be_drawn(model, table) -> None:
    reasons = [reason for row in model.top(table, 4, top=3) for reason in row.reasons]
    assert len(reasons) > 6
    for reason in reasons:
        ax = plot_reason(model.model_, reason)
        assert ax.get_title(loc="left").replace("\n", " ") == reason.text
        assert ax.get_xlabel()
        ax.figure.canvas.draw()
        plt.close(ax.figure)


def test_a_broken_relation_is_shown_by_the_column_of_the_wrong_value() -> None:
    orders = make_orders(0, 1000, as_frame="pandas").table
    model = ADMERCS().fit(orders)
    reasons = [r for row in model.top(orders, 10) for r in row.reasons if r.kind == "relation"]
    assert {reason.target for reason in reasons} >= {"total (EUR)", "weight (kg)"}
    for reason in reasons:
        ax = plot_reason(model.model_, reason)
        assert ax.get_xlabel() == reason.target
        mark = ax.lines[-1].get_xdata()[0]
        is_far = "far to" in ax.get_legend_handles_labels()[1][-1]
        assert is_far or reason.target in DATES or mark == pytest.approx(reason.value)
        plt.close(ax.figure)


def test_the_picture_shows_the_stretch_where_the_rows_are(model, table) -> None:
    pay = "pay (kEUR)"
    reasons = [reason for row in model.top(table, 20, top=3) for reason in row.reasons]
    odd = [r for r in reasons if r.target == pay and r.typical and r.typical.kind == "intervals"]
    span = table[pay].max() - table[pay].min()
    assert odd
    for reason in odd:
        ax = plot_reason(model.model_, reason)
        low, high = ax.get_xlim()
        assert low < reason.value < high
        assert high - low < 3 * span
        # The whole table can be seen beside a narrow context.
        assert all(max(line.get_ydata()) == pytest.approx(1) for line in ax.lines[:-1])
        plt.close(ax.figure)


def test_new_rows_with_missing_and_unseen_values_can_be_drawn(model, table) -> None:
    row = table.iloc[[5]].astype({"age": float}).assign(job="astronaut", age=None)
    drawn = set()
    for reason in model.explain(row.astype({"age": float}), top=None)[0].reasons:
        ax = plot_reason(model.model_, reason)
        ax.figure.canvas.draw()
        drawn.add((reason.target, reason.value_text))
    assert drawn >= {("age", "missing"), ("job", "astronaut")}


def test_a_row_shows_its_reasons_side_by_side(model, table) -> None:
    row = model.top(table, 1)[0]
    axes = plot_row(model.model_, row)
    assert len(axes) == len(row.reasons)
    axes[0].figure.canvas.draw()
    with pytest.raises(ValueError, match="there are no reasons to show for row"):
        plot_row(model.model_, model.explain(table.head(1), top=0)[0])


def test_contexts_show_their_members(model, table) -> None:
    leaf = model.explain(table.head(1), top=1)[0].reasons[0].context
    ax = plot_context(model.model_, model.describe_context(leaf), table)
    ax.figure.canvas.draw()
    assert ax.get_title(loc="left")
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    others, members = ax.collections
    assert len(members.get_offsets()) == model.describe_context(leaf).n
    assert len(others.get_offsets()) + len(members.get_offsets()) == len(table)


def test_members_without_a_value_are_shown_too(model, table) -> None:
    leaves = {
        reason.context
        for row in model.explain(table, top=None)
        for reason in row.reasons
        if any(condition.missing for condition in reason.conditions)
    }
    assert leaves
    for leaf in sorted(leaves)[:4]:
        ax = plot_context(model.model_, model.describe_context(leaf), table)
        for points in ax.collections:
            assert not np.ma.getmaskarray(points.get_offsets()).any()


def test_a_condition_that_parts_nothing_is_not_shown() -> None:
    everyone = np.ones(4, dtype=bool)
    holds = {7: everyone, 1: np.array([0, 0, 1, 1], bool), 2: np.array([1, 0, 0, 1], bool)}
    assert telling_attributes(holds, [0]) == (1, 2)
    assert telling_attributes({7: everyone}, [0]) == (7, 0)
    assert telling_attributes({}, [0]) == (0, 0)


def test_durations_have_a_unit_and_no_negative_values() -> None:
    rng = np.random.default_rng(0)
    waits = pd.DataFrame({"wait": pd.to_timedelta(rng.exponential(600, 1000), unit="s")})
    waits.loc[0, "wait"] = pd.Timedelta(hours=3)
    model = ADMERCS().fit(waits)
    ax = plot_reason(model.model_, model.explain(waits.head(1))[0].reasons[0])
    assert ax.get_xlabel() == "wait (min)"
    assert all(min(line.get_xdata()) >= 0 for line in ax.lines)
    assert max(ax.lines[-1].get_xdata()) == pytest.approx(180)


@pytest.mark.parametrize(("value", "side"), [(1e300, "right"), (-1e6, "left")])
def test_a_value_far_out_does_not_hide_the_others(value, side) -> None:
    sizes = np.random.default_rng(0).normal(size=(1000, 1))
    model = ADMERCS().fit(sizes)
    ax = plot_reason(model.model_, model.explain([[value]])[0].reasons[0])
    low, high = ax.get_xlim()
    assert high - low < 20
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(text.endswith(f", far to the {side}") for text in shown)


@pytest.mark.parametrize(
    ("ends", "wrong"),
    [
        (["0001-01-01", "9999-12-31"], "not all years are 0600 to 9400"),
        (["0700-01-01", "9300-12-31"], None),
        ([-1e308, 1e308], "its numbers are too large"),
        ([-1e299, 1e299], None),
    ],
)
def test_what_cannot_be_drawn_is_said(ends, wrong) -> None:
    rng = np.random.default_rng(0)
    if isinstance(ends[0], str):
        column = rng.choice(np.array(ends, "M8[s]"), 200) + rng.integers(0, 90, 200) * 86_400
    else:
        column = rng.choice(ends, 200) * rng.uniform(0.5, 1, 200)
    table = pd.DataFrame({"x": column, "y": rng.normal(size=200)})
    model = ADMERCS().fit(table)
    reasons = [reason for row in model.explain(table, top=None) for reason in row.reasons]
    reason = next(reason for reason in reasons if reason.target == "x")
    if wrong is None:
        plot_reason(model.model_, reason).figure.canvas.draw()
    else:
        with pytest.raises(ValueError, match=f"Column 'x' cannot be drawn: {wrong}"):
            plot_reason(model.model_, reason)


def test_whether_there_is_a_value_takes_two_bars() -> None:
    rng = np.random.default_rng(0)
    towns = [f"a town with the long name {k}" for k in range(20)]
    homes = pd.DataFrame({"home": rng.choice(towns, 1000)})
    homes.loc[0, "home"] = None
    model = ADMERCS().fit(homes)
    ax = plot_reason(model.model_, model.explain(homes.head(1))[0].reasons[0])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["recorded", "missing"]
    homes.loc[0, "home"] = towns[0]
    ax = plot_reason(model.model_, model.explain(homes.head(1), top=None)[0].reasons[0])
    assert all(len(tick.get_text()) <= 18 for tick in ax.get_xticklabels())


def test_cells_as_a_heat_map(model, table) -> None:
    explanations = model.top(table, 30, top=0)
    ax = plot_cells(explanations, rows=10, attributes=4)
    assert ax.images[0].get_array().shape == (10, 4)
    assert ax.get_yticklabels()[0].get_text() == f"row {explanations[0].label}"
    with pytest.raises(ValueError, match="no rows"):
        plot_cells(Explanations())


def test_matplotlib_is_an_extra(model, table, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    reason = model.explain(table.head(1))[0].reasons[0]
    with pytest.raises(ImportError, match=r"pip install admercs\[plot\]"):
        plot_reason(model.model_, reason)


@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_the_picture_says_whose_values_it_shows(kind: str) -> None:
    table = corners(kind)
    model = ADMERCS().fit(table)
    reasons = model.explain(table.iloc[HIDDEN[:1]], top=None)[0].reasons
    reason = next(r for r in reasons if r.kind == "context")
    shown = plot_reason(model.model_, reason)
    labels = shown.get_legend_handles_labels()[1]
    access = ModelAccess(model.model_)
    n = access.sizes[access.scoring_node(reason.context)]
    assert n > reason.n
    assert f"rows compared with (n = {n:,})" in labels
    assert not any("these rows" in label for label in labels)
