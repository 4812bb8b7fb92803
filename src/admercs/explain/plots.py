"""Pictures of explanations; they need matplotlib, which is an extra.

All of them work in black and white: what matters is dark, the rest is light, and nothing depends
on a colour alone.
"""

from __future__ import annotations

import math
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from admercs.arrays import Array, Bools, Floats
from admercs.explain import Context, Explanations, Reason, RowExplanation
from admercs.explain.access import Model
from admercs.explain.column_words import TICKS, ColumnWords, time_unit
from admercs.explain.model_words import ModelWords
from admercs.explain.records import label_text, score_text
from admercs.facets import prepare
from admercs.table import read_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DARK, _MIDDLE, _LIGHT = "#1b3a57", "#7a8a99", "#c3ccd4"
_ACCENT = "#c2410c"
MAX_BARS = 12
FAR = 10  # times the width of what is drawn
MAX_LABEL = 18  # characters below a bar
MAX_POINTS = 20_000
MAX_TICKS = 30  # categories named on an axis
# What matplotlib can show, with room beside it: its dates have the years 1 to 9999.
FIRST_DATE, LAST_DATE, LARGEST = np.datetime64("0600-01-01"), np.datetime64("9400-01-01"), 1e300
LEGEND = 0.35  # room above what is shown, as a part of its height


def _axes(size: tuple[float, float], n: int = 1) -> Array:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install admercs[plot]") from error
    axes: Array = plt.subplots(1, n, figsize=size, layout="constrained", squeeze=False)[1][0]
    return axes


def _finish(ax: Axes, title: str, **legend: Any) -> Axes:
    ax.set_title(fill(title, 68), fontsize=9, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, **legend)
    return ax


def plot_reason(model: Model, reason: Reason, ax: Axes | None = None) -> Axes:
    """Show the target's distribution in the reason's context, in the whole table, and the row.

    It is drawn on ``ax``, by default on a new figure, and the axes are returned.
    """
    ax = _axes((6.2, 3.6))[0] if ax is None else ax
    words = ModelWords(model)
    access = words.access
    if reason.node >= len(access.sizes) or access.sizes[reason.node] != reason.n:
        raise ValueError("The reason comes from another model: explain the row with this one.")
    node = access.scoring_node(reason.node) if reason.kind == "context" else reason.node
    if reason.kind == "relation":  # its values are residuals: the wrong value's column is shown
        node = access.roots[[each.name for each in access.columns].index(reason.target)]
    presence = reason.typical is not None and reason.typical.kind in {"missing", "recorded"}
    if access.continuous[access.targets[node]] and not presence:
        _draw_densities(ax, words, node, reason)
    else:
        _draw_bars(ax, words, node, reason, presence)
    ax.set_ylim(0, 1 + LEGEND)
    return _finish(ax, reason.text, ncols=2, loc="upper left")


def plot_row(model: Model, row: RowExplanation, top: int = 3) -> Array:
    """Show at most ``top`` reasons of a row side by side on a new figure; return the axes."""
    reasons = row.reasons[:top]
    if not reasons:
        raise ValueError(f"there are no reasons to show for {label_text(row.label)}")
    axes = _axes((5.2 * len(reasons), 3.8), len(reasons))
    for ax, reason in zip(axes, reasons, strict=True):
        plot_reason(model, reason, ax)
        title = f"{reason.share:.0%} of the evidence\n{fill(reason.text, 58)}"
        ax.set_title(title, fontsize=8, loc="left")
    note = ", mainly by association" if row.by_association else ""
    title = f"{label_text(row.label)}: score {score_text(row.score)}{note}"
    axes[0].figure.suptitle(title, x=0.01, ha="left")
    return axes


def plot_context(model: Model, context: Context, X: Any, ax: Axes | None = None) -> Axes:
    """Show the members of a context among all rows, in the two attributes that matter most.

    ``X`` has the rows to show, usually the training table. They are drawn on ``ax``, by default on
    a new figure, and the axes are returned.
    """
    ax = _axes((6.2, 4.6))[0] if ax is None else ax
    frame = read_frame(X)
    values = prepare(frame, model.schema).block(0, frame.n_rows)
    words = ModelWords(model)
    access = words.access
    ranges = access.ranges(context.leaf)
    holds = {m: allowed.contains(values[m]) for m, allowed in ranges.items()}
    inside = np.logical_and.reduce(list(holds.values()) or [np.ones(values.shape[1], dtype=bool)])
    shown = telling_attributes(holds, [access.targets[context.leaf], *range(len(values))])
    # Beyond some thousands, more points only make a larger file.
    few = np.flatnonzero(~inside)[:: 1 + int((~inside).sum()) // MAX_POINTS]
    columns = [words.column(m) for m in shown]
    places = (_show_missing(column, values[m]) for column, m in zip(columns, shown, strict=True))
    x, y = (_axis_values(columns[k], place, jitter=k) for k, place in enumerate(places))
    ax.scatter(x[few], y[few], c=_LIGHT, s=12, linewidths=0, label="other rows")
    name = f"the context (n = {context.n:,})"
    ax.scatter(x[inside], y[inside], c=_DARK, s=34, marker="D", linewidths=0, label=name)
    for k, m in enumerate(shown):
        _label_axis(ax, columns[k], "xy"[k], missing=bool(np.isnan(values[m]).any()))
    return _finish(ax, context.text)


def telling_attributes(holds: dict[int, Bools], others: list[int]) -> tuple[int, int]:
    """Return the two attributes without whose conditions most rows would belong to a context."""
    failed = sum(~each for each in holds.values())
    alone = {tested: int((~each & (failed == 1)).sum()) for tested, each in holds.items()}
    first = sorted(alone, key=lambda tested: -alone[tested])[:2]
    chosen = list(dict.fromkeys([*first, *others]))
    return chosen[0], chosen[min(1, len(chosen) - 1)]


def plot_cells(
    explanations: Explanations, rows: int = 20, attributes: int = 15, ax: Axes | None = None
) -> Axes:
    """Show which cells of the most anomalous rows are odd: a heat map of the evidence.

    At most ``rows`` rows and ``attributes`` attributes are shown, those with the most evidence, on
    ``ax``, by default on a new figure. The axes are returned.
    """
    chosen = sorted(explanations, key=lambda row: -row.evidence)[:rows]
    if not chosen:
        raise ValueError("there are no rows to show")
    names = list(chosen[0].cells)
    cells = np.array([[row.cells[name] for name in names] for row in chosen])
    order = np.argsort(-cells.sum(axis=0), kind="stable")[:attributes]
    cells = cells[:, order]
    size = (2.6 + 0.5 * len(order), 1.9 + 0.28 * len(chosen))
    ax = _axes(size)[0] if ax is None else ax
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


def _draw_densities(ax: Axes, words: ModelWords, node: int, reason: Reason) -> None:
    access, attribute = words.access, words.access.targets[node]
    column, root = words.column(attribute), access.roots[attribute]
    own, name = column.working(reason.value), _group_name(words, node, reason)
    # Each to its own height: a narrow context would make the whole table a flat line.
    x, heights = _recorded(words, node)
    drawn, all_heights = _recorded(words, root)
    if node != root:
        line: dict[str, Any] = {"color": _MIDDLE, "lw": 1.2, "label": "whole table"}
        ax.plot(_axis_values(column, drawn), all_heights, "--", **line)
        drawn = np.concatenate((x, drawn))
    ax.plot(_axis_values(column, x), heights, color=_DARK, lw=1.8, label=name)
    regions = [] if reason.typical is None else access.typical_region(node)
    for k, (begin, end) in enumerate(regions):
        low, high = np.clip((begin, end), x.min(initial=end), x.max(initial=begin))
        part = np.concatenate(([low], x[(x > low) & (x < high)], [high]))
        shade = np.interp(part, x, heights, left=0.0, right=0.0)
        label = "typical" if k == 0 else None
        ax.fill_between(_axis_values(column, part), shade, color=_LIGHT, label=label)
    if not math.isnan(own):
        place, note = _in_sight(own, drawn)
        at = _axis_values(column, np.array([place]))[0]
        label = f"this row: {reason.value_text}{note}"
        ax.axvline(at, ymax=1 / (1 + LEGEND), color=_ACCENT, lw=1.6, ls="-.", label=label)
    ax.set_yticks([])
    ax.set_ylabel("relative density")
    _label_axis(ax, column, "x")


def _group_name(words: ModelWords, node: int, reason: Reason) -> str:
    """Name the rows of a node: those of the reason, or more (see ``Context.typical``)."""
    n = words.access.sizes[node]
    if words.access.is_root(node):
        return "whole table"
    return f"these rows (n = {n:,})" if n == reason.n else f"rows compared with (n = {n:,})"


def _in_sight(own: float, drawn: Floats) -> tuple[float, str]:
    """Return where to mark a value: one so far out that no curve could be seen, at the edge."""
    low, high = (float(drawn.min()), float(drawn.max())) if len(drawn) else (own, own)
    width = high - low
    if own - high > FAR * width:
        return high + 0.2 * width, ", far to the right"
    return (low - 0.2 * width, ", far to the left") if low - own > FAR * width else (own, "")


def _recorded(words: ModelWords, node: int) -> tuple[Floats, Floats]:
    """Return a curve without what smoothing has added beyond the smallest and largest value."""
    column = words.access.columns[words.access.targets[node]]
    x, heights = words.access.visible_curve(node)
    if column.low is None or column.high is None:
        return x, heights
    inside = (x >= column.low) & (x <= column.high)
    return (x[inside], heights[inside]) if inside.sum() > 1 else (x, heights)


def _shares(words: ModelWords, node: int, presence: bool) -> dict[str, float]:
    """Return a target's values in words, or whether there is one, and their shares in a node."""
    access, attribute = words.access, words.access.targets[node]
    n, missing = max(1, access.sizes[node]), access.share_missing(node)
    if presence:
        return {"recorded": 1.0 - missing, "missing": missing}
    names, counts = words.column(attribute).value_names(), access.value_counts(node).tolist()
    shares = {name: count / n for name, count in zip(names, counts, strict=False)}
    return shares | ({"missing": missing} if access.columns[attribute].n_missing else {})


def _draw_bars(ax: Axes, words: ModelWords, node: int, reason: Reason, presence: bool) -> None:
    attribute = words.access.targets[node]
    root, column = words.access.roots[attribute], words.column(attribute)
    own = reason.value_text.removesuffix(f" {column.unit}")
    if presence:
        own = "missing" if reason.value is None else "recorded"
    shares, overall = (_shares(words, each, presence) for each in (node, root))
    order = sorted(shares, key=lambda name: -max(shares[name], overall[name]))
    kept = {*order[:MAX_BARS], own}
    labels = [name for name in shares if name in kept] + ([] if own in shares else [own])
    here = [shares.get(name, 0.0) for name in labels]
    place = np.arange(len(labels))
    style: dict[str, Any] = {"edgecolor": _DARK, "label": _group_name(words, node, reason)}
    if node == root:
        bars = ax.bar(place, here, 0.7, color=_LIGHT, **style)
    else:
        whole = [overall.get(name, 0.0) for name in labels]
        ax.bar(place + 0.2, whole, 0.4, color="white", edgecolor=_MIDDLE, label="whole table")
        bars = ax.bar(place - 0.2, here, 0.4, color=_MIDDLE, **style)
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


def _axis_values(words: ColumnWords, x: Floats, jitter: int | None = None) -> Array:
    """Return working values as they are drawn: dates as dates, codes spread a little."""
    column = words.column
    if column.display in {"date", "datetime"}:
        ticks = np.floor(x).astype(np.int64) + column.origin
        dates = ticks.astype(f"datetime64[{column.unit or 's'}]")
        if ((dates < FIRST_DATE) | (dates > LAST_DATE)).any():
            years = f"{FIRST_DATE.astype('M8[Y]')} to {LAST_DATE.astype('M8[Y]')}"
            raise ValueError(f"Column {column.name!r} cannot be drawn: not all years are {years}.")
        return dates
    if (abs(x) > LARGEST).any():
        raise ValueError(f"Column {column.name!r} cannot be drawn: its numbers are too large.")
    spread = (x + column.origin) / _scale(words)[0]
    if jitter is not None and (column.role == "nominal" or column.distinct):
        gap = 1.0 if len(column.distinct) < 2 else float(np.diff(column.distinct).min())
        # Always the same picture for the same table.
        spread = spread + gap * np.random.default_rng(jitter).uniform(-0.25, 0.25, len(x))
    return spread


def _show_missing(words: ColumnWords, x: Floats) -> Floats:
    """Give missing values a place: category 0, or a little below the least number."""
    if words.column.role == "nominal" or np.isnan(x).all():
        return np.nan_to_num(x)
    low, high = np.nanmin(x), np.nanmax(x)
    return np.where(np.isnan(x), low - 0.08 * (high - low), x)


def _scale(words: ColumnWords) -> tuple[float, str]:
    """Return how many working units a unit of the axis has, and what it is called."""
    column = words.column
    second = float(TICKS.get(column.unit, 1))
    if column.display == "time":
        return 3600 * second, "hour of the day"
    if column.display == "duration":
        name, size = time_unit(words.step * 50 / second)  # most values lie within fifty steps
        return size * second, name
    return 1.0, words.unit


def _label_axis(ax: Axes, words: ColumnWords, which: str, *, missing: bool = False) -> None:
    """Name an axis and its categories; ``missing`` if `_show_missing` has put values on it."""
    column, unit = words.column, _scale(words)[1]
    label = f"{words.name} ({unit})" if unit else words.name
    if missing and column.role != "nominal":
        label += f", missing values at the {'left' if which == 'x' else 'bottom'}"
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_label_text(label)
    if column.role == "nominal":
        names = [words.category(value) for value in column.categories[:MAX_TICKS]]
        places = range(0 if missing else 1, len(names) + 1)
        size = 8 if len(names) <= 12 else 6
        axis.set_ticks(places, ["missing", *names] if missing else names, fontsize=size)
    long = column.role == "nominal" and len(column.categories) > 6
    if which == "x" and (long or column.display in {"date", "datetime"}):
        ax.tick_params(axis="x", rotation=30)
