"""The search for a node's best split, from its histogram alone.

Gains are compared strictly and columns, codes and orders are tried in a fixed sequence, so equal gains go to
the lowest column and then to the lowest threshold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.trees.criteria import ENTROPY, VARIANCE, class_purity, moment_purity, of_all_classes

# Entropy is costly, so a column with many codes is first looked at in steps of this size.
STRIDE = 8
# A nominal input and a nominal target: one order of the categories per frequent class is tried.
MAX_ORDERS = 8
NOTHING = -np.inf


@kernel
def weigh_split(left, totals, criterion, table):  # type: ignore[no-untyped-def]
    """Return the rows on both sides of a split and the sum of their purities (see `criteria.purity`)."""
    if criterion == VARIANCE:
        n_left, n_right = left[0], totals[0] - left[0]
        pure = 0.0
        if n_left > 0 and n_right > 0:
            pure = moment_purity(n_left, left[1]) + moment_purity(n_right, totals[1] - left[1])
        return n_left, n_right, pure
    n_left, n_right = np.int64(0), np.int64(0)
    pure_left, pure_right = 0.0, 0.0
    for s in range(np.uint64(len(totals))):
        rows_left = left[s]
        rows_right = totals[s] - rows_left
        n_left += rows_left
        n_right += rows_right
        pure_left += class_purity(rows_left, criterion, table)
        pure_right += class_purity(rows_right, criterion, table)
    pure_left = of_all_classes(pure_left, n_left, criterion, table)
    return n_left, n_right, pure_left + of_all_classes(pure_right, n_right, criterion, table)


@kernel
def scan_codes(  # type: ignore[no-untyped-def]
    hist, base, totals, missing_left, criterion, min_leaf, table, stride, low, high, work
):
    """Try thresholds ``code <= b`` for b in low … high in steps of `stride`; return the best.

    `work` holds statistics of left sides: work[0] that of the codes below `low` when called and the present one
    later on, work[1] that of one step before, work[2] that of one step before the best threshold.
    """
    width = np.uint64(work.shape[1])
    left, before, best_before = work[0], work[1], work[2]
    best, best_bin = NOTHING, np.int64(-1)
    # Missing values stay on the right unless they are to go left.
    first = low if low > 0 or missing_left else np.int64(1)
    code = low
    while code <= high:
        begin = np.uint64(base) + np.uint64(first) * width
        end = np.uint64(base) + np.uint64(code + 1) * width
        for s in range(width):
            rows, cell = left[s], begin + s
            while cell < end:
                rows += hist[cell]
                cell += width
            left[s] = rows
        first = code + 1
        n_left, n_right, pure = weigh_split(left, totals, criterion, table)
        if n_right < min_leaf:
            break
        if n_left >= min_leaf and pure > best:
            best, best_bin = pure, np.int64(code)
            for s in range(width):
                best_before[s] = before[s]
        for s in range(width):
            before[s] = left[s]
        code += stride
    return best, best_bin


@kernel
def scan_numeric(hist, base, n_codes, totals, criterion, min_leaf, table, work):  # type: ignore[no-untyped-def]
    """Return the best threshold on one numeric column, and where missing values should go."""
    width = work.shape[1]
    any_missing = False
    for s in range(width):
        any_missing |= hist[base + s] != 0
    last = n_codes - 2  # the last code cannot be left of anything
    best, best_bin, best_missing = NOTHING, np.int64(-1), False
    stride = STRIDE if criterion == ENTROPY and n_codes > 8 * STRIDE else 1
    for missing_left in (False, True):
        if missing_left and not any_missing:
            break
        # Coarse steps first, then closely around their optimum (everywhere if they met no valid split).
        value, code = NOTHING, np.int64(-1)
        step, low, high = np.int64(stride), np.int64(0), np.int64(last)
        while step > 0:
            for s in range(width):
                work[0, s] = work[2, s] if low > 0 else 0
                work[1, s] = 0
            value, code = scan_codes(
                hist, base, totals, missing_left, criterion, min_leaf, table, step, low, high, work
            )
            if code >= 0:
                low = np.int64(max(0, int(code - step) + 1))
                high = np.int64(min(last, int(code + step) - 1))
            step = np.int64(1 if step > 1 else 0)
        if value > best:
            best, best_bin, best_missing = value, code, missing_left
    return best, best_bin, best_missing, any_missing


@kernel
def middle_of_gap(hist, base, n_codes, width, code):  # type: ignore[no-untyped-def]
    """Move a threshold to the middle between the last code with rows on its left and the next with rows."""
    low = code
    while low > 0 and empty_code(hist, base + low * width, width):
        low -= 1
    high = code + 1
    while high < n_codes - 1 and empty_code(hist, base + high * width, width):
        high += 1
    return (low + high - 1) // 2


@kernel
def empty_code(hist, cell, width):  # type: ignore[no-untyped-def]
    """Say whether no row of the node has this code."""
    any_row = False
    for s in range(width):
        any_row |= hist[cell + s] != 0
    return not any_row


@kernel
def rows_with(hist, cell, width, criterion):  # type: ignore[no-untyped-def]
    """Return how many rows of the node have a code."""
    if criterion == VARIANCE:
        return hist[cell]
    rows = np.int64(0)
    for s in range(width):
        rows += hist[cell + s]
    return rows


@kernel
def larger_side(hist, base, n_codes, code, width, criterion):  # type: ignore[no-untyped-def]
    """Say whether more rows lie left of the threshold: where unheard-of values are sent."""
    n_left, n_right = np.int64(0), np.int64(0)
    for c in range(n_codes):
        rows = rows_with(hist, base + c * width, width, criterion)
        if c <= code:
            n_left += rows
        else:
            n_right += rows
    return n_left >= n_right


@kernel
def order_categories(  # type: ignore[no-untyped-def]
    hist, base, n_codes, criterion, ordered, chosen, missing_class, width, keys, order
):
    """Sort a column's categories by the mean target, or by the share of one class; return their number.

    Categories without rows in the node are left out.
    """
    present = 0
    for code in range(n_codes):
        cell = base + code * width
        n, total = np.int64(0), 0.0
        if criterion == VARIANCE:
            n, total = hist[cell], np.float64(hist[cell + 1])
        else:
            for s in range(width):
                rows = hist[cell + s]
                n += rows
                if ordered and s != missing_class:
                    total += np.float64(rows) * s
                elif not ordered and s == chosen:
                    total += np.float64(rows)
        if n == 0:
            continue
        key = total / n
        slot = present
        while slot > 0 and keys[slot - 1] > key:  # insertion keeps equal keys in code order
            keys[slot], order[slot] = keys[slot - 1], order[slot - 1]
            slot -= 1
        keys[slot], order[slot] = key, code
        present += 1
    return present


@kernel
def scan_order(hist, base, totals, criterion, min_leaf, table, order, present, work):  # type: ignore[no-untyped-def]
    """Try all cuts of an ordered list of categories; return the best and how many go left."""
    width = work.shape[1]
    left = work[0]
    for s in range(width):
        left[s] = 0
    best, best_count = NOTHING, 0
    for k in range(present - 1):
        cell = base + order[k] * width
        for s in range(width):
            left[s] += hist[cell + s]
        n_left, n_right, pure = weigh_split(left, totals, criterion, table)
        if n_left >= min_leaf and n_right >= min_leaf and pure > best:
            best, best_count = pure, k + 1
    return best, best_count


@kernel
def scan_nominal(  # type: ignore[no-untyped-def]
    hist, base, n_codes, totals, criterion, min_leaf, table, ordered, missing_class, work, bits
):
    """Return the best subset of categories to send left; `bits` receives it."""
    width = work.shape[1]
    keys = np.empty(n_codes)
    order = np.empty(n_codes, np.int64)
    one_order = criterion == VARIANCE or ordered or width <= 2
    best = NOTHING
    for chosen in range(1 if one_order else min(width, MAX_ORDERS)):
        present = order_categories(
            hist, base, n_codes, criterion, ordered, chosen, missing_class, width, keys, order
        )
        value, count = scan_order(
            hist, base, totals, criterion, min_leaf, table, order, present, work
        )
        if value > best:
            best = value
            fill_bits(hist, base, width, criterion, order, present, count, bits)
    return best


@kernel
def fill_bits(hist, base, width, criterion, order, present, count, bits):  # type: ignore[no-untyped-def]
    """Write the categories that go left as bits; categories without rows follow the larger side."""
    n_left, n_right = np.int64(0), np.int64(0)
    for k in range(present):
        rows = rows_with(hist, base + order[k] * width, width, criterion)
        if k < count:
            n_left += rows
        else:
            n_right += rows
    everything = ~np.uint64(0)
    for w in range(len(bits)):
        bits[w] = everything if n_left >= n_right else np.uint64(0)
    for k in range(present):
        word, bit = order[k] >> 6, np.uint64(1) << np.uint64(order[k] & 63)
        if k < count:
            bits[word] |= bit
        else:
            bits[word] &= ~bit


@kernel
def best_threshold(  # type: ignore[no-untyped-def]
    hist, totals, offsets, is_nominal, skip, criterion, min_leaf, table, work
):
    """Search the numeric columns; return purity, column, bin and side of missing values."""
    width = work.shape[1]
    best, feature, best_bin, best_missing = NOTHING, -1, np.int64(0), False
    none_missing = False
    for f in range(len(is_nominal)):
        if f == skip or is_nominal[f]:
            continue
        value, code, missing_left, any_missing = scan_numeric(
            hist,
            offsets[f] * width,
            offsets[f + 1] - offsets[f],
            totals,
            criterion,
            min_leaf,
            table,
            work,
        )
        if value > best:
            best, feature, best_bin, best_missing = value, f, code, missing_left
            none_missing = not any_missing
    if feature >= 0:
        base, n_codes = offsets[feature] * width, offsets[feature + 1] - offsets[feature]
        best_bin = middle_of_gap(hist, base, n_codes, width, best_bin)
        if none_missing:
            best_missing = larger_side(hist, base, n_codes, best_bin, width, criterion)
    return best, feature, best_bin, best_missing


@kernel
def best_subset(  # type: ignore[no-untyped-def]
    hist,
    totals,
    offsets,
    is_nominal,
    skip,
    criterion,
    min_leaf,
    table,
    ordered,
    missing_class,
    bits,
):
    """Search the nominal columns; return purity and column, `bits` receives the subset."""
    width = 2 if criterion == VARIANCE else len(totals)
    work = np.zeros((1, width), np.int64)
    trial = np.zeros(4, np.uint64)
    best, feature = NOTHING, -1
    for f in range(len(is_nominal)):
        if f == skip or not is_nominal[f]:
            continue
        base, n_codes = offsets[f] * width, offsets[f + 1] - offsets[f]
        value = scan_nominal(
            hist,
            base,
            n_codes,
            totals,
            criterion,
            min_leaf,
            table,
            ordered,
            missing_class,
            work,
            trial,
        )
        if value > best:
            best, feature = value, f
            for w in range(4):
                bits[w] = trial[w]
    return best, feature


def best_split(
    hist: NDArray[np.int32] | NDArray[np.int64],
    totals: NDArray[np.int64],
    offsets: NDArray[np.int64],
    is_nominal: NDArray[np.bool_],
    skip: int,
    criterion: int,
    min_leaf: int,
    table: NDArray[np.float64],
    ordered: bool,
    missing_class: int,
    bits: NDArray[np.uint64],
) -> tuple[int, int, bool, float]:
    """Search all columns; return column, bin, side of missing values and purity.

    Two searches instead of one: a table without nominal columns need not wait for theirs to be compiled.
    """
    pure, feature, code, missing_left = NOTHING, -1, 0, False
    if not is_nominal.all():
        # Made here: an allocation in a kernel takes long to compile.
        work = np.empty((3, 2 if criterion == VARIANCE else len(totals)), np.int64)
        pure, feature, code, missing_left = best_threshold(
            hist, totals, offsets, is_nominal, skip, criterion, min_leaf, table, work
        )
    if is_nominal.any():
        subset_pure, column = best_subset(
            hist,
            totals,
            offsets,
            is_nominal,
            skip,
            criterion,
            min_leaf,
            table,
            ordered,
            missing_class,
            bits,
        )
        if subset_pure > pure or (subset_pure == pure and 0 <= column < feature):
            return column, 0, bool(bits[0] & np.uint64(1)), subset_pure
    return feature, code, missing_left, pure
