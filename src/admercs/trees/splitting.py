"""The search for a node's best split, from its histogram alone.

Gains are compared strictly and inputs, codes and orders are tried in a fixed sequence, so equal
gains go to the first input and then to the lowest threshold.
"""

from __future__ import annotations

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Array, Bools, Floats, Ints, Keys
from admercs.trees.criteria import ENTROPY, SCALE_BITS, VARIANCE, XLOGX, TreeTarget, xlogx

NOTHING = -np.inf


@kernel
def weigh_split(left, totals, criterion, table):  # type: ignore[no-untyped-def]
    """Return the rows on both sides of a split and the sum of their purities.

    See `criteria.purity`. The purity of moments is the part of the sum of squares that the mean
    explains.
    """
    if criterion == VARIANCE:
        n_left = left[0]
        n_right = totals[0] - n_left
        pure = 0.0
        if n_left > 0 and n_right > 0:
            unit = np.float64(1 << SCALE_BITS)
            mass_left = left[1] / unit
            mass_right = (totals[1] - left[1]) / unit
            pure = mass_left * mass_left / n_left + mass_right * mass_right / n_right
        return n_left, n_right, pure
    n_left, n_right = np.int64(0), np.int64(0)  # a plain 0 is a type of its own
    pure_left, pure_right = 0.0, 0.0
    for s in range(np.uint64(len(totals))):
        rows_left = left[s]
        rows_right = totals[s] - rows_left
        n_left += rows_left
        n_right += rows_right
        if criterion == ENTROPY:
            pure_left += xlogx(rows_left, table)
            pure_right += xlogx(rows_right, table)
        else:
            pure_left += np.float64(rows_left) * np.float64(rows_left)
            pure_right += np.float64(rows_right) * np.float64(rows_right)
    if criterion == ENTROPY:
        pure = pure_left - xlogx(n_left, table) + (pure_right - xlogx(n_right, table))
    else:
        pure = pure_left / n_left + pure_right / n_right
    return n_left, n_right, pure


@kernel
def best_threshold(  # type: ignore[no-untyped-def]
    hist, totals, offsets, is_nominal, criterion, min_leaf, table, stride, work
):
    """Search the numeric inputs; return purity, input, bin and whether missing values go left.

    Entropy is costly, so a column with many codes is first looked at in steps of `stride` codes.
    `work` holds statistics of left sides: work[0] the present one, work[1] that of one step before,
    work[2] that of one step before the best threshold.

    One long function: small ones would each be compiled twice, on their own and as part of this
    one.
    """
    width = np.uint64(work.shape[1])
    # The first of two moments counts the rows; so do all classes together.
    n_counts = np.uint64(1) if criterion == VARIANCE else width
    n_rows = np.int64(0)
    for s in range(n_counts):
        n_rows += totals[s]
    left, before, best_before = work[0], work[1], work[2]
    best, feature, best_bin, best_missing = NOTHING, -1, 0, 0
    for f in range(len(is_nominal)):
        if is_nominal[f]:
            continue
        base = np.uint64(offsets[f]) * width
        last = offsets[f + 1] - offsets[f] - 2  # the last code cannot be left of anything
        any_missing = 0
        for s in range(width):
            if hist[base + s] != 0:
                any_missing = 1
        for missing_left in range(1 + any_missing):
            # Coarse steps first, then closely around their optimum (everywhere if they met no valid
            # split).
            step = stride if criterion == ENTROPY and last > 8 * stride - 2 else 1
            low, high = 0, last
            value, found = NOTHING, -1
            while step > 0:
                for s in range(width):
                    left[s] = best_before[s] if low > 0 else 0
                    before[s] = 0
                value, found = NOTHING, -1
                # Missing values stay on the right unless they are to go left.
                first = low if low > 0 else 1 - missing_left
                begin = base + np.uint64(first) * width
                code = low
                while code <= high:
                    end = base + np.uint64(code + 1) * width
                    n_left = np.int64(0)
                    for s in range(width):
                        rows = left[s]
                        cell = begin + s
                        while cell < end:
                            rows += hist[cell]
                            cell += width
                        left[s] = rows
                        if s < n_counts:
                            n_left += rows
                    begin = end
                    if n_rows - n_left < min_leaf:
                        break
                    if n_left >= min_leaf:
                        _, _, pure = weigh_split(left, totals, criterion, table)
                        if pure > value:
                            value, found = pure, code
                            for s in range(width):
                                best_before[s] = before[s]
                    for s in range(width):
                        before[s] = left[s]
                    code += step
                if found >= 0:
                    low = found - step + 1 if found >= step else 0
                    high = found + step - 1 if found + step <= last else last
                step = 1 if step > 1 else 0
            if value > best:
                best, feature, best_bin, best_missing = value, f, found, missing_left
    return best, feature, best_bin, best_missing


@kernel
def best_subset(  # type: ignore[no-untyped-def]
    hist, totals, offsets, is_nominal, criterion, min_leaf, table, ordered, missing_class,
    most_orders, left, keys, order, best_order, pure_of,
):  # fmt: skip
    """Search the nominal inputs; return purity, input, its categories here and how many go left.

    `best_order` receives these categories, those that go left first, and `pure_of` the largest
    purity by each input, if it is larger than what is there. The rest is room to work in.
    """
    width = len(left)
    one_order = criterion == VARIANCE or ordered or width <= 2
    best, feature, best_present, best_count = NOTHING, -1, 0, 0
    for f in range(len(is_nominal)):
        if not is_nominal[f]:
            continue
        for chosen in range(1 if one_order else min(width, most_orders)):
            # Sort the categories by the mean target, or by the share of one class; those without
            # rows are left out.
            present = 0
            for code in range(offsets[f + 1] - offsets[f]):
                cell = (offsets[f] + code) * width
                n, total = 0, 0.0
                if criterion == VARIANCE:
                    n += hist[cell]
                    total += hist[cell + 1]
                else:
                    for s in range(width):
                        rows = hist[cell + s]
                        n += rows
                        if ordered and s != missing_class:
                            total += np.float64(rows) * s
                        elif not ordered and s == chosen:
                            total += rows
                if n == 0:
                    continue
                key = total / n
                slot = present
                while slot > 0 and keys[slot - 1] > key:  # equal keys stay in code order
                    keys[slot], order[slot] = keys[slot - 1], order[slot - 1]
                    slot -= 1
                keys[slot], order[slot] = key, code
                present += 1
            for s in range(width):
                left[s] = 0
            for k in range(present - 1):
                cell = (offsets[f] + order[k]) * width
                for s in range(width):
                    left[s] += hist[cell + s]
                n_left, n_right, pure = weigh_split(left, totals, criterion, table)
                if n_left >= min_leaf and n_right >= min_leaf and pure > pure_of[f]:
                    pure_of[f] = pure
                    if pure > best:
                        best, feature, best_present, best_count = pure, f, present, k + 1
                        for c in range(present):
                            best_order[c] = order[c]
    return best, feature, best_present, best_count


def cells_of(hist: Array, offsets: Ints, place: int, width: int) -> Array:
    """Return the part of a histogram that an input has: codes x statistics."""
    return hist[offsets[place] * width : offsets[place + 1] * width].reshape(-1, width)


def settle_threshold(rows: Ints, code: int, missing_left: bool) -> tuple[int, bool]:
    """Move a threshold to the middle of the gap between the codes with rows on its two sides.

    Where no value is missing, unknown ones are sent to the larger side.
    """
    filled = np.flatnonzero(rows)
    above = int(np.searchsorted(filled, code, side="right"))
    low = int(filled[above - 1]) if above > 0 else 0
    high = int(filled[above]) if above < len(filled) else len(rows) - 1
    code = (low + high - 1) // 2
    if rows[0] == 0:
        missing_left = bool(rows[: code + 1].sum() >= rows[code + 1 :].sum())
    return code, missing_left


def fill_bits(rows: Ints, order: Ints, count: int, bits: Keys) -> None:
    """Write the first `count` categories as bits; those without rows follow the larger side."""
    goes_left = np.full(64 * len(bits), rows[order[:count]].sum() >= rows[order[count:]].sum())
    goes_left[order] = np.arange(len(order)) < count
    bits[:] = np.packbits(goes_left, bitorder="little").view("<u8")


def room_for(width: int, longest: int) -> tuple[Ints, Floats, Ints, Ints]:
    """Return the room that searching nominal inputs takes."""
    order, best_order = np.empty((2, longest), np.int64)
    return np.empty(width, np.int64), np.empty(longest), order, best_order


def best_split(
    hist: Array, totals: Ints, offsets: Ints, is_nominal: Bools, target: TreeTarget, bits: Keys
) -> tuple[int, int, bool, float]:
    """Search all inputs; return input, bin, side of missing values and purity.

    Two searches instead of one: a table without nominal columns need not wait for theirs to be
    compiled. Their room to work in is made here: an allocation in a kernel takes long to compile.
    """
    pure, feature, code, missing_left = NOTHING, -1, 0, False
    width, least = target.width, target.min_leaf
    known = hist, totals, offsets, is_nominal, target.criterion, least, XLOGX

    def rows_of(place: int) -> Ints:
        """Return how many rows of the node have each code of an input."""
        cells = cells_of(hist, offsets, place, width)
        return (cells[:, 0] if target.moments else cells.sum(axis=1)).astype(np.int64)

    n_nominal = np.count_nonzero(is_nominal)
    if n_nominal < len(is_nominal):
        work = np.empty((3, width), np.int64)
        pure, feature, code, side = best_threshold(*known, target.settings.search.stride, work)
        missing_left = bool(side)
    if n_nominal > 0:
        room = room_for(width, int(np.diff(offsets).max()))
        pure_of, best_order = np.full(len(is_nominal), NOTHING), room[-1]
        subset_pure, column, present, count = best_subset(
            *known,
            target.ordered,
            target.missing_class,
            target.settings.search.orders,
            *room,
            pure_of,
        )
        if subset_pure > pure or (subset_pure == pure and 0 <= column < feature):
            fill_bits(rows_of(column), best_order[:present], count, bits)
            return column, 0, bool(bits[0] & np.uint64(1)), subset_pure
    if feature >= 0:
        code, missing_left = settle_threshold(rows_of(feature), code, missing_left)
    return feature, code, missing_left, pure
