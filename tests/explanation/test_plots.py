"""Plots return axes that say what they show."""

from __future__ import annotations

import sys

import matplotlib as mpl
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from admercs.explanation import Explanations
from admercs.explanation.plots import plot_cells, plot_context, plot_reason, plot_row


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_every_reason_can_be_drawn(model, table) -> None:
    for row in model.top(table, 4, top=3):
        for reason in row.reasons:
            ax = plot_reason(model.model_, reason)
            assert ax.get_title(loc="left").replace("\n", " ") == reason.text
            assert ax.get_xlabel()
            ax.figure.canvas.draw()
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
    for reason in model.explain(row.astype({"age": float}), top=4)[0].reasons:
        plot_reason(model.model_, reason).figure.canvas.draw()


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
