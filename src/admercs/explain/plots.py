"""Pictures of explanations; they need matplotlib, which is an extra.

All of them work in black and white: what matters is dark, the rest is light, and nothing depends
on a colour alone.
"""

from __future__ import annotations

import math
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from admercs.explain.access import Model
from admercs.explain.collection import Explanations
from admercs.explain.model_words import ModelWords
from admercs.explain.plot_axes import axis_values, label_axis, show_missing, working_value
from admercs.explain.records import Context, Reason, RowExplanation
from admercs.explain.rendering import label_text, score_text
from admercs.table import prepare, read_frame
from admercs.table.columns import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_cells", "plot_context", "plot_reason", "plot_row", "telling_attributes"]

_DARK, _MIDDLE, _LIGHT, _PALE = "#1b3a57", "#7a8a99", "#c3ccd4", "#e4e9ee"
_ACCENT = "#c2410c"
MAX_BARS = 12
FAR = 10  # times the width of what is drawn
MAX_LABEL = 18  # characters below a bar
MAX_POINTS = 20_000
LEGEND = 0.35  # room above what is shown, as a part of its height


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install admercs[plot]") from error
    return plt


def plot_reason(model: Model, reason: Reason, ax: Axes | None = None) -> Axes:
    """Show the target's distribution in the reason's context, in the whole table, and the row.

    Parameters
    ----------
    model : Model
        The model that gave the reason.
    reason : Reason
        A reason.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes
        With densities for a numeric target (the typical region shaded, the row's value marked) and
        bars for a nominal one or one with few values.
    """
    if ax is None:
        _, ax = _pyplot().subplots(figsize=(6.2, 3.6), layout="constrained")
    words = ModelWords(model)
    access = words.access
    if reason.node >= access.n_nodes or access.size(reason.node) != reason.n:
        raise ValueError("The reason comes from another model: explain the row with this one.")
    attribute = [column.name for column in access.columns].index(reason.target)
    root = access.root(attribute)
    node = access.scoring_node(reason.node) if reason.kind == "context" else reason.node
    presence = reason.typical is not None and reason.typical.kind in {"missing", "recorded"}
    if access.is_continuous(attribute) and not presence:
        _draw_densities(ax, words, attribute, (node, root), reason)
    else:
        _draw_bars(ax, words, attribute, (node, root), reason)
    ax.set_title(fill(reason.text, 68), fontsize=9, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_ylim(0, 1 + LEGEND)
    ax.legend(frameon=False, fontsize=8, ncols=2, loc="upper left")
    return ax


def plot_row(model: Model, row: RowExplanation, top: int = 3) -> NDArray[Any]:
    """Show the strongest reasons of a row side by side.

    Parameters
    ----------
    model : Model
        The model that explained the row.
    row : RowExplanation
        The row's explanation.
    top : int, default=3
        The most reasons shown.

    Returns
    -------
    axes : ndarray of Axes
        One per reason, on one new figure.

    Raises
    ------
    ValueError
        If the row has no reasons to show.
    """
    reasons = row.reasons[:top]
    if not reasons:
        raise ValueError(f"there are no reasons to show for {label_text(row.label)}")
    plt = _pyplot()
    figure, axes = plt.subplots(
        1, len(reasons), figsize=(5.2 * len(reasons), 3.8), layout="constrained", squeeze=False
    )
    for ax, reason in zip(axes[0], reasons, strict=True):
        plot_reason(model, reason, ax)
        ax.set_title(
            f"{reason.share:.0%} of the evidence\n{fill(reason.text, 58)}", fontsize=8, loc="left"
        )
    note = ", mainly by association" if row.by_association else ""
    if row.apart:
        note += f", evidence × {row.factor:.1f}: no other row is much like it"
    figure.suptitle(
        f"{label_text(row.label)}: score {score_text(row.score)}{note}", x=0.01, ha="left"
    )
    return np.asarray(axes[0])


def plot_context(model: Model, context: Context, X: Any, ax: Axes | None = None) -> Axes:
    """Show the members of a context among all rows, in the two attributes that matter most.

    Parameters
    ----------
    model : Model
        The fitted model.
    context : Context
        A context.
    X : table
        The rows to show, usually the training table.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes
        A scatter plot; nominal attributes are spread a little around their place.
    """
    if ax is None:
        _, ax = _pyplot().subplots(figsize=(6.2, 4.6), layout="constrained")
    frame = read_frame(X)
    values = prepare(frame, model.schema).block(0, frame.n_rows)
    words = ModelWords(model)
    attribute = words.access.attribute_of(context.leaf)
    holds = {
        tested: allowed.contains_all(
            values[tested], nominal=model.schema.used[tested].role == "nominal"
        )
        for tested, allowed in words.access.ranges(context.leaf).items()
    }
    inside = np.logical_and.reduce(list(holds.values()) or [np.ones(values.shape[1], dtype=bool)])
    x, y = telling_attributes(holds, [attribute, *range(len(values))])
    points = [
        axis_values(words.column(m), show_missing(words.column(m), values[m]), jitter=k)
        for k, m in enumerate((x, y))
    ]
    # Beyond some thousands, more points only make a larger file.
    few = np.flatnonzero(~inside)[:: 1 + int((~inside).sum()) // MAX_POINTS]
    others, members = ([part[rows] for part in points] for rows in (few, np.flatnonzero(inside)))
    ax.scatter(others[0], others[1], c=_LIGHT, s=12, linewidths=0, label="other rows")
    name = f"the context (n = {context.n:,})"
    ax.scatter(members[0], members[1], c=_DARK, s=34, marker="D", linewidths=0, label=name)
    label_axis(ax, words.column(x), "x", missing=bool(np.isnan(values[x]).any()))
    label_axis(ax, words.column(y), "y", missing=bool(np.isnan(values[y]).any()))
    ax.set_title(fill(context.text, 68), fontsize=9, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    return ax


def telling_attributes(holds: dict[int, NDArray[np.bool_]], others: list[int]) -> tuple[int, int]:
    """Return the two attributes that part the members of a context from most rows.

    What matters about a condition is which rows would belong without it.
    """
    failed = sum(~each for each in holds.values())
    alone = {tested: int((~each & (failed == 1)).sum()) for tested, each in holds.items()}
    first = sorted(alone, key=lambda tested: -alone[tested])[:2]
    chosen = list(dict.fromkeys([*first, *others]))
    return chosen[0], chosen[min(1, len(chosen) - 1)]


def plot_cells(
    explanations: Explanations, rows: int = 20, attributes: int = 15, ax: Axes | None = None
) -> Axes:
    """Show which cells of the most anomalous rows are odd: a heat map of the evidence.

    Parameters
    ----------
    explanations : Explanations
        Explained rows.
    rows, attributes : int
        The most rows (by evidence) and attributes (by their evidence in these rows) shown.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes
        Rows from top to bottom, attributes from left to right, darker for more evidence.

    Raises
    ------
    ValueError
        If there are no rows.
    """
    chosen = sorted(explanations, key=lambda row: -row.evidence)[:rows]
    if not chosen:
        raise ValueError("there are no rows to show")
    names = list(chosen[0].cells)
    cells = np.array([[row.cells[name] for name in names] for row in chosen])
    order = np.argsort(-cells.sum(axis=0), kind="stable")[:attributes]
    cells = cells[:, order]
    if ax is None:
        size = (2.6 + 0.5 * len(order), 1.9 + 0.28 * len(chosen))
        _, ax = _pyplot().subplots(figsize=size, layout="constrained")
    image = ax.imshow(cells, cmap="Greys", vmin=0, aspect="auto")
    highest = max(float(cells.max()), 1e-12)
    for i, j in zip(*np.nonzero(cells >= 0.1 * highest), strict=True):
        shade = "white" if cells[i, j] > 0.55 * highest else "black"
        ax.text(j, i, f"{cells[i, j]:.1f}", ha="center", va="center", fontsize=7, color=shade)
    ax.set_xticks(range(len(order)), [names[m] for m in order], rotation=40, ha="right", fontsize=8)
    ax.set_yticks(range(len(chosen)), [label_text(row.label) for row in chosen], fontsize=8)
    ax.set_title("Evidence per cell (nats)", fontsize=10, loc="left")
    ax.figure.colorbar(image, ax=ax, label="evidence (nats)", shrink=0.7)
    return ax


def _draw_densities(
    ax: Axes, words: ModelWords, attribute: int, nodes: tuple[int, int], reason: Reason
) -> None:
    column, access = words.column(attribute), words.access
    node, root = nodes
    own = working_value(column, reason.value)
    # Each to its own height: a narrow context would make the whole table a flat line.
    x, heights = _recorded(column.column, *access.visible_curve(node))
    drawn = x
    if node != root:
        all_x, all_heights = _recorded(column.column, *access.visible_curve(root))
        drawn = np.concatenate((x, all_x))
        ax.plot(axis_values(column, all_x), all_heights, "--", color=_MIDDLE, lw=1.2,
                label="whole table")  # fmt: skip
    name = "whole table" if node == root else _group_name(words, node, reason)
    ax.plot(axis_values(column, x), heights, color=_DARK, lw=1.8, label=name)
    regions = [] if reason.typical is None else access.typical_region(node)
    for k, (begin, end) in enumerate(regions):
        low, high = np.clip((begin, end), x.min(initial=end), x.max(initial=begin))
        part = np.concatenate(([low], x[(x > low) & (x < high)], [high]))
        shade = np.interp(part, x, heights, left=0.0, right=0.0)
        label = "typical" if k == 0 else None
        ax.fill_between(axis_values(column, part), shade, color=_LIGHT, label=label)
    if not math.isnan(own):
        place, note = _in_sight(own, drawn)
        ax.axvline(
            axis_values(column, np.array([place]))[0], ymax=1 / (1 + LEGEND), color=_ACCENT,
            lw=1.6, ls="-.", label=f"this row: {reason.value_text}{note}",
        )  # fmt: skip
    ax.set_yticks([])
    ax.set_ylabel("relative density")
    label_axis(ax, column, "x")


def _group_name(words: ModelWords, node: int, reason: Reason) -> str:
    """Name the rows of a node: those of the reason, or more (see ``Context.typical``)."""
    n = words.access.size(node)
    return f"these rows (n = {n:,})" if n == reason.n else f"rows compared with (n = {n:,})"


def _in_sight(own: float, drawn: NDArray[np.float64]) -> tuple[float, str]:
    """Return where to mark a value: one so far out that no curve could be seen, at the edge."""
    if not len(drawn):
        return own, ""
    low, high = float(drawn.min()), float(drawn.max())
    if own - high > FAR * (high - low):
        return high + 0.2 * (high - low), ", far to the right"
    if low - own > FAR * (high - low):
        return low - 0.2 * (high - low), ", far to the left"
    return own, ""


def _recorded(
    column: Column, x: NDArray[np.float64], heights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cut off what smoothing has added beyond the smallest and the largest value."""
    low, high = column.low, column.high
    if low is None or high is None:
        return x, heights
    inside = (x >= low) & (x <= high)
    return (x[inside], heights[inside]) if inside.sum() > 1 else (x, heights)


def _shares(words: ModelWords, attribute: int, node: int, presence: bool) -> dict[str, float]:
    """Return the values of a nominal or discrete target in words, and their shares in a node.

    With ``presence`` all that matters is whether there is a value.
    """
    access, column = words.access, words.column(attribute)
    n = max(1, access.size(node))
    missing = access.n_missing(node) / n
    if presence:
        return {"recorded": 1.0 - missing, "missing": missing}
    counts = access.value_counts(node).tolist()
    if column.column.distinct:
        names = [column.exact_text(x) for x in column.column.distinct]
    else:
        rare = 1 if column.column.n_grouped else 0
        names = [column.code_text(k + 1) for k in range(len(column.column.categories) + rare)]
    shares = {name: count / n for name, count in zip(names, counts, strict=False)}
    return shares | ({"missing": missing} if column.column.n_missing else {})


def _draw_bars(
    ax: Axes, words: ModelWords, attribute: int, nodes: tuple[int, int], reason: Reason
) -> None:
    node, root = nodes
    column = words.column(attribute)
    own = reason.value_text.removesuffix(f" {column.unit}")
    presence = reason.typical is not None and reason.typical.kind in {"missing", "recorded"}
    if presence:
        own = "missing" if reason.value is None else "recorded"
    shares, overall = (_shares(words, attribute, each, presence) for each in nodes)
    order = sorted(shares, key=lambda name: -max(shares[name], overall[name]))
    kept = {*order[:MAX_BARS], own}
    labels = [name for name in shares if name in kept] + ([] if own in shares else [own])
    here = [shares.get(name, 0.0) for name in labels]
    place = np.arange(len(labels))
    if node == root:
        bars = ax.bar(place, here, 0.7, color=_LIGHT, edgecolor=_DARK, label="whole table")
    else:
        whole = [overall.get(name, 0.0) for name in labels]
        ax.bar(place + 0.2, whole, 0.4, color="white", edgecolor=_MIDDLE, label="whole table")
        name = _group_name(words, node, reason)
        bars = ax.bar(place - 0.2, here, 0.4, color=_MIDDLE, edgecolor=_DARK, label=name)
    at = labels.index(own)
    x, label = bars[at].get_x() + bars[at].get_width() / 2, f"this row: {reason.value_text}"
    ax.plot([x], [here[at] + 0.04], marker="v", color=_ACCENT, ms=9, ls="", label=label)
    shown = [label if len(label) <= MAX_LABEL else f"{label[: MAX_LABEL - 1]}…" for label in labels]
    turned: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(place, shown, **(turned if sum(map(len, shown)) > 40 else {}))
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.set_ylabel("share of the rows")
    ax.set_xlabel(f"{column.name} ({column.unit})" if column.unit else column.name)
