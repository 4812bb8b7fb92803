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

from admercs.density.likelihoods import CONTINUOUS
from admercs.detector.model import Model
from admercs.explanation.axes import axis_values, label_axis, show_missing, working_value
from admercs.explanation.collection import Explanations
from admercs.explanation.curves import visible_density
from admercs.explanation.reasons import Context, Reason, RowExplanation
from admercs.explanation.text import label_text, score_text
from admercs.explanation.voice import Voice
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
    voice = Voice(model)
    attribute = [column.name for column in model.schema.used].index(reason.target)
    root = int(model.forest.root[attribute])
    node = voice.compared_with(reason)
    presence = reason.typical is not None and reason.typical.kind in {"missing", "recorded"}
    if model.likelihoods.kind[attribute] == CONTINUOUS and not presence:
        _draw_densities(ax, voice, attribute, (node, root), reason)
    else:
        _draw_bars(ax, voice, attribute, (node, root), reason, presence)
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
        note += f", all of it counted {row.factor:.1f} times"
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
    voice = Voice(model)
    attribute = model.forest.tree_of(context.leaf)
    ranges = voice.paths.ranges(context.leaf)
    holds = {
        tested: allowed.contains_all(
            values[tested], nominal=model.schema.used[tested].role == "nominal"
        )
        for tested, allowed in ranges.items()
    }
    inside = np.logical_and.reduce(list(holds.values()) or [np.ones(values.shape[1], dtype=bool)])
    x, y = telling_attributes(holds, [attribute, *range(len(values))])
    points = [
        axis_values(voice.column(m), show_missing(voice.column(m), values[m]), jitter=k)
        for k, m in enumerate((x, y))
    ]
    # Beyond some thousands, more points only make a larger file.
    few = np.flatnonzero(~inside)[:: 1 + int((~inside).sum()) // MAX_POINTS]
    others, members = ([part[rows] for part in points] for rows in (few, np.flatnonzero(inside)))
    ax.scatter(others[0], others[1], c=_LIGHT, s=12, linewidths=0, label="other rows")
    name = f"the context (n = {context.n:,})"
    ax.scatter(members[0], members[1], c=_DARK, s=34, marker="D", linewidths=0, label=name)
    label_axis(ax, voice.column(x), "x", missing=bool(np.isnan(values[x]).any()))
    label_axis(ax, voice.column(y), "y", missing=bool(np.isnan(values[y]).any()))
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
    ax: Axes, voice: Voice, attribute: int, nodes: tuple[int, int], reason: Reason
) -> None:
    column, likelihoods = voice.column(attribute), voice.model.likelihoods
    node, root = nodes
    own = working_value(column, reason.value)
    # Each to its own height: a narrow context would make the whole table a flat line.
    x, heights = _recorded(column.column, *visible_density(likelihoods, voice.slot(node)))
    drawn = x
    if node != root:
        all_x, all_heights = _recorded(
            column.column, *visible_density(likelihoods, voice.slot(root))
        )
        drawn = np.concatenate((x, all_x))
        ax.plot(axis_values(column, all_x), all_heights, "--", color=_MIDDLE, lw=1.2,
                label="whole table")  # fmt: skip
    name = "whole table" if node == root else _group_name(voice, node, reason)
    ax.plot(axis_values(column, x), heights, color=_DARK, lw=1.8, label=name)
    regions = [] if reason.typical is None else voice.region(attribute, voice.slot(node))
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


def _group_name(voice: Voice, node: int, reason: Reason) -> str:
    """Name the rows of a node: those that a reason speaks of, or more (see ``Context.typical``)."""
    n = int(voice.model.forest.n[node])
    return f"these rows (n = {n:,})" if n == reason.n else f"rows it is judged among (n = {n:,})"


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


def _shares(
    voice: Voice, attribute: int, node: int, presence: bool
) -> tuple[list[str], list[float]]:
    """Return the values of a nominal or discrete target in words, and their shares in a node.

    With ``presence`` all that matters is whether there is a value.
    """
    likelihoods, slot = voice.model.likelihoods, voice.slot(node)
    if presence:
        missing = int(likelihoods.n_missing[slot]) / max(1, int(likelihoods.n[slot]))
        return ["recorded", "missing"], [1.0 - missing, missing]
    counts = likelihoods.count[likelihoods.value_ptr[slot] : likelihoods.value_ptr[slot + 1]]
    column = voice.model.schema.used[attribute]
    n = max(1, int(likelihoods.n[slot]))
    working = column.distinct or range(1, len(counts) + 1)
    said = voice.column(attribute)
    names = [said.say_exactly(x) if column.distinct else said.say_code(x) for x in working]
    shares = [int(count) / n for count in counts]
    if column.role == "nominal" and not column.n_grouped:
        names, shares = names[: len(column.categories)], shares[: len(column.categories)]
    if column.n_missing:
        names.append("missing")
        shares.append(int(likelihoods.n_missing[slot]) / n)
    return names, shares


def _draw_bars(
    ax: Axes,
    voice: Voice,
    attribute: int,
    nodes: tuple[int, int],
    reason: Reason,
    presence: bool,
) -> None:
    node, root = nodes
    names, shares = _shares(voice, attribute, node, presence)
    overall = dict(zip(*_shares(voice, attribute, root, presence), strict=True))
    own = reason.value_text.removesuffix(f" {voice.column(attribute).unit}")
    if presence:
        own = "missing" if reason.value is None else "recorded"
    order = sorted(range(len(names)), key=lambda k: -max(shares[k], overall[names[k]]))
    kept = sorted(set(order[:MAX_BARS]) | {k for k in order if names[k] == own})
    labels = [names[k] for k in kept]
    if own not in labels:
        labels.append(own)
    here = [shares[names.index(name)] if name in names else 0.0 for name in labels]
    place = np.arange(len(labels))
    if node == root:
        bars = ax.bar(place, here, 0.7, color=_LIGHT, edgecolor=_DARK, label="whole table")
    else:
        whole = [overall.get(name, 0.0) for name in labels]
        ax.bar(place + 0.2, whole, 0.4, color="white", edgecolor=_MIDDLE, label="whole table")
        name = _group_name(voice, node, reason)
        bars = ax.bar(place - 0.2, here, 0.4, color=_MIDDLE, edgecolor=_DARK, label=name)
    at = labels.index(own)
    x = bars[at].get_x() + bars[at].get_width() / 2
    ax.plot(
        [x],
        [here[at] + 0.04],
        marker="v",
        color=_ACCENT,
        ms=9,
        ls="",
        label=f"this row: {reason.value_text}",
    )
    shown = [label if len(label) <= MAX_LABEL else f"{label[: MAX_LABEL - 1]}…" for label in labels]
    turned: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(place, shown, **(turned if sum(map(len, shown)) > 40 else {}))
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.set_ylabel("share of the rows")
    column = voice.column(attribute)
    ax.set_xlabel(f"{column.name} ({column.unit})" if column.unit else column.name)
