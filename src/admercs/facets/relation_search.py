"""Finding relations between the numeric and date columns of a sample of rows.

Exact relations are found by a few probes: what holds for rows one by one also holds for sums over a
few rows with random weights. ``c = a + b`` is sought among such sums, ``c = a b`` among sums of
logarithms, and all triples of columns are tried at once. A candidate is kept if nearly all rows of
the sample satisfy it, and far fewer do once one of its columns is moved by some rows: columns that
are mostly zero satisfy many equations by accident.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from admercs.arrays import Bools, Floats, Ints
from admercs.facets.relations import LAST_DIGITS, Formula
from admercs.facets.robust_linear import CutValues, LinearFit, fit_linear
from admercs.method.settings import Relations

SEED, PROBES, ROWS_PER_PROBE = 0, 6, 4
RATIO_ROWS, QUICK_ROWS, ORDER_ROWS = 16, 48, 192  # on which most candidates fail
SHIFTS = (1, 7, 31)  # by how many rows a column is moved to see what holds by accident
MOST_DIGITS = 9
LARGEST = 1e150  # of larger numbers, squares and products are infinite
LEAST_ROWS = 8  # rows with a value that a quick look needs
Triples = list[tuple[int, int, int]]


def find_relations(values: Floats, is_date: Bools, settings: Relations) -> list[Formula]:
    """Return the relations that a sample satisfies (columns x rows, NaN where missing).

    Sources are numbered as the rows of `values`. The result depends on neither the order of the
    rows nor that of the columns, if the sample does not.
    """
    values = np.where(abs(values) < LARGEST, values, np.nan)
    present = np.isfinite(values)
    filled = present.sum(axis=1) >= max(settings.min_rows, present.shape[1] / 2)
    known = np.flatnonzero(filled)
    known = known[np.nanmax(values[known], axis=1) > np.nanmin(values[known], axis=1)]
    digests = {j: hashlib.blake2b(values[j].tobytes(), digest_size=8).digest() for j in known}
    ordered = sorted(known.tolist(), key=lambda j: (digests[j], j))[: settings.max_columns]
    if len(ordered) < 2:
        return []
    with np.errstate(all="ignore"):  # ratios of tiny numbers may be infinite
        found = RelationSearch(values[ordered], is_date[ordered], settings).run()
    return [each._replace(sources=tuple(ordered[s] for s in each.sources)) for each in found]


class RelationSearch:
    """A search in one sample, whose columns are in an order that follows from their content."""

    def __init__(self, values: Floats, is_date: Bools, settings: Relations) -> None:
        self.values, self.is_date, self.settings = values, is_date, settings
        self.n_columns, self.n_rows = values.shape
        self.unit = np.array([smallest_unit(column) for column in values])
        self.n_distinct = np.array([len(np.unique(c[np.isfinite(c)])) for c in values])
        self.is_smooth = self.n_distinct > settings.few_values
        rng = np.random.default_rng(SEED)
        self.weights = rng.uniform(0.5, 1.5, (PROBES, ROWS_PER_PROBE))
        self.weights *= rng.choice([-1.0, 1.0], self.weights.shape)
        self.rows = rng.permutation(self.n_rows)

    def run(self) -> list[Formula]:
        """Return all relations: exact ones, linear ones, orders."""
        pairs = self.find_pairs()
        equal = {max(found.sources) for found in pairs if found.weights == (1.0,)}
        exact = pairs + self.find_triples([j for j in range(self.n_columns) if j not in equal])
        exact = exact[: 2 * self.n_columns]
        found = exact + self.find_linear(exact, equal)
        return found + self.find_orders(found, equal)

    def accept(self, formula: Formula) -> bool:
        """Say whether nearly all rows satisfy an exact relation, and not by accident."""
        columns = [self.values[source] for source in formula.sources]
        share, n = _satisfied(formula, [column[self.rows[:QUICK_ROWS]] for column in columns])
        if share < self.settings.exact_share - 0.1:
            return False
        share, n = _satisfied(formula, columns)
        if n < self.settings.min_rows or share < self.settings.exact_share:
            return False
        return 1 - share <= self.settings.accident * (1 - _by_accident(formula, columns))

    def exact(
        self, sources: tuple[int, ...], weights: Sequence[float], constant: float = 0.0
    ) -> Formula:
        """Return a linear relation that is exact but for the rounding of its target."""
        slack, units = 0.5 * float(self.unit[sources[0]]), tuple(self.unit[list(sources)].tolist())
        step = self.step(sources)
        return Formula("linear", sources, tuple(weights), constant, slack, True, step, units)

    def step(self, sources: tuple[int, ...]) -> float:
        """Return the size below which a residual is small, whatever the others are."""
        values = self.values[sources[0]]
        low, high = np.nanquantile(values, [0.025, 0.975])
        width = float(high - low) / 4 or float(np.nanstd(values))
        return max(float(self.unit[sources[0]]), self.settings.step * width)

    # --- c = k a

    def find_pairs(self) -> list[Formula]:
        """Find c = k a."""
        found = []
        for c, a in self._proportional():
            # Of both directions the one with the plainer factor.
            formulas = [
                self.exact(pair, [k])
                for pair in ((c, a), (a, c))
                if (k := self._factor(*pair))
                and (k == 1.0 or (not self.is_date[c] and self.is_smooth[[c, a]].all()))
            ]
            formulas.sort(key=lambda each: (len(repr(each.weights[0])), each.weights[0] < 1))
            found += [each for each in formulas if self.accept(each)][:1]
        return found

    def _proportional(self) -> Iterator[tuple[int, int]]:
        """Yield pairs of columns with nearly the same ratio in most of a few rows."""
        size, slack = self._sizes(self.rows[:RATIO_ROWS])
        logs = np.log(size)
        for c in range(self.n_columns - 1):
            ratio = logs[c] - logs[c + 1 :]
            n = np.isfinite(ratio).sum(axis=1)
            middle = _medians(ratio)[:, None]
            near = abs(ratio - middle) <= 2 * (slack[c] + slack[c + 1 :])
            fits = (near.sum(axis=1) >= 0.7 * n) & (n >= LEAST_ROWS)
            fits &= self.is_date[c + 1 :] == self.is_date[c]
            yield from ((c, c + 1 + k) for k in np.flatnonzero(fits).tolist())

    def _sizes(self, rows: Ints | slice) -> tuple[Floats, Floats]:
        """Return absolute values without zeros, and how exact their logarithms are."""
        size = abs(self.values[:, rows])
        size[size == 0] = np.nan
        return size, 0.5 * self.unit[:, None] / size + LAST_DIGITS

    def _factor(self, target: int, source: int) -> float:
        """Return the plainest k with target = k source for most of some rows, or 0."""
        rows = self.rows[: 2 * QUICK_ROWS]
        c, a = self.values[target, rows], self.values[source, rows]
        usable = np.isfinite(c) & np.isfinite(a) & (a != 0)
        if usable.sum() < LEAST_ROWS:
            return 0.0
        c, a = c[usable], a[usable]
        large = abs(a) >= np.median(abs(a))
        ratio = c[large] / a[large]
        k = float(np.median(ratio))
        near = (0.5 * self.unit[target] + LAST_DIGITS * abs(c[large])) / abs(a[large])
        if np.mean(abs(ratio - k) <= 2 * near) < 0.8:
            return 0.0
        return plainest(k, float(np.median(near)))

    # --- c = a + b, c = a b, c = a / b

    def find_triples(self, columns: list[int]) -> list[Formula]:
        """Find sums, products and quotients."""
        columns = [j for j in columns if not self.is_date[j] and self.n_distinct[j] > 2]
        if len(columns) < 3:
            return []
        found = []
        rounding = np.broadcast_to(0.5 * self.unit[:, None], self.values.shape)
        for c, a, b in self._candidates(columns, self.values, rounding):
            formula = self.exact((c, a, b), [1.0, 1.0])
            # Each number may have been rounded on its own.
            slack = 0.5 * float(self.unit[[c, a, b]].sum())
            formulas = [formula, formula._replace(tolerance=slack)]
            found += [each for each in formulas if self.accept(each)][:1]
        size, rounding = self._sizes(slice(None))
        for c, a, b in self._candidates(columns, np.log(size), rounding):
            formulas = [
                self.exact(sources, ())._replace(form="product" if sources[0] == c else "quotient")
                for sources in ((c, a, b), (a, c, b), (b, c, a))
            ]
            # Any large number over a small one, rounded to a count, is that count.
            formulas = [each for each in formulas if self.is_smooth[each.sources[0]]]
            found += [each for each in formulas if self.accept(each)][:1]
        return found

    def _candidates(self, columns: list[int], values: Floats, rounding: Floats) -> Triples:
        """Return triples with c = a + b for the sum of a few rows, and for most of some rows."""
        first, second = np.array(list(combinations(columns, 2))).T
        rounding = rounding + LAST_DIGITS * abs(values)
        quick, slack = (array[:, self.rows[:QUICK_ROWS]] for array in (values, rounding))
        seen: set[tuple[int, int, int]] = set()
        for probe, weights in enumerate(self.weights):
            rows = self.rows[probe * ROWS_PER_PROBE :][:ROWS_PER_PROBE]
            sums = values[:, rows] @ weights[: len(rows)]
            width = rounding[:, rows] @ abs(weights[: len(rows)])
            total, both = sums[first] + sums[second], width[first] + width[second]
            known = np.flatnonzero(~np.isnan(total + both))
            order = known[np.argsort(total[known])]
            total, both = total[order], both[order]
            widest = both.max(initial=0.0)
            for c in [j for j in columns if self.is_smooth[j]]:
                most = (widest + width[c]) * (1 + LAST_DIGITS)  # rounding must not lose any
                low, high = np.searchsorted(total, [sums[c] - most, sums[c] + most])
                some = slice(max(0, low - 1), high + 1)
                near = abs(total[some] - sums[c]) <= both[some] + width[c]
                a, b = first[order[some][near]], second[order[some][near]]
                apart = abs(quick[a] + quick[b] - quick[c])
                fits = (apart <= slack[a] + slack[b] + slack[c]).sum(axis=1)
                enough = fits >= (self.settings.exact_share - 0.1) * np.isfinite(apart).sum(axis=1)
                enough &= (fits > 0) & (a != c) & (b != c)
                pairs = zip(a[enough].tolist(), b[enough].tolist(), strict=True)
                seen.update((c, *pair) for pair in pairs)
        return sorted(seen)

    # --- c = w1 a + w2 b + … + constant

    def find_linear(self, exact: list[Formula], equal: set[int]) -> list[Formula]:
        """Find columns that follow from a few others, but for those that follow exactly."""
        numbers = [j for j in range(self.n_columns) if j not in equal and not self.is_date[j]]
        if len(numbers) < 2 or self.n_rows < self.settings.min_rows:
            return []
        values = self.values[numbers]
        middle = np.nanmedian(values, axis=1, keepdims=True)
        filled = np.where(np.isfinite(values), values, middle)
        cut = CutValues(filled, self.settings.exact_share)
        bound = {source for formula in exact for source in formula.sources}
        targets = {formula.sources[0] for formula in exact}
        fits: list[tuple[Formula, float]] = []
        for m, target in enumerate(numbers):
            if target not in targets:
                inputs, share = cut.choose_inputs(m, self.settings.inputs, self.settings.gain)
                # Cut-off values tell roughly what is worth a closer look.
                if inputs and share >= self.settings.least_explained - 0.25:
                    fits += self._fit((target, *(numbers[j] for j in inputs)), bound)
        # Of relations between the same columns the strongest counts.
        fits.sort(key=lambda fit: (not fit[0].exact, -round(fit[1], 2), -abs(fit[0].weights[0])))
        known = {frozenset(formula.sources): formula for formula in exact}
        for formula, _ in fits:
            # What follows exactly from some of the columns is not said roughly of all of them.
            sources = frozenset(formula.sources)
            if not any(formula.sources[0] in e and e <= sources for e in known if known[e].exact):
                known.setdefault(sources, formula)
        return list(known.values())[len(exact) :]

    def _fit(self, sources: tuple[int, ...], bound: set[int]) -> list[tuple[Formula, float]]:
        """Return a linear relation if it is strong, and the share that it explains."""
        values = self.values[list(sources)]
        values = values[:, np.isfinite(values).all(axis=0)]
        if values.shape[1] < self.settings.min_rows:
            return []
        # What holds exactly does so beside many wrong values; what holds roughly, for most rows.
        fit = fit_linear(values[1:], values[0], self.settings.exact_share)
        counts = abs(fit.weights) * values[1:].std(axis=1) > LAST_DIGITS * values[0].std()
        if not counts.all():
            kept = tuple(source for source, yes in zip(sources[1:], counts, strict=True) if yes)
            return self._fit((sources[0], *kept), bound) if kept else []
        slack = 0.5 * float(self.unit[sources[0]]) + LAST_DIGITS * float(abs(values[0]).max())
        if fit.width <= slack and fit.explained >= self.settings.least_explained:
            formula = self.exact(*_as_sum(sources, *_plain_numbers(values, fit, slack)))
            if self.accept(formula):
                # Of columns that are all bound already, it most likely follows from the others.
                return [] if bound.issuperset(sources) else [(formula, fit.explained)]
        fit = fit_linear(values[1:], values[0], self.settings.central)
        if not self.is_smooth[sources[0]] or fit.explained < self.settings.least_explained:
            return []
        formula = self.exact(sources, fit.weights.tolist(), fit.constant)
        # Rounding must not decide whether the last of the central rows satisfies it.
        tolerance = fit.width * (1 + LAST_DIGITS)
        return [(formula._replace(tolerance=tolerance, exact=False), fit.explained)]

    # --- a <= b

    def find_orders(self, found: list[Formula], equal: set[int]) -> list[Formula]:
        """Find a <= b where other pairs of rows would often break it."""
        related = [set(formula.sources) for formula in found if formula.exact]
        held: dict[tuple[int, int], float] = {}
        for a, b in self._mostly_ordered():
            if {a, b} & equal or any({a, b} <= sources for sources in related):
                continue
            formula, columns = Formula("order", (a, b)), [self.values[a], self.values[b]]
            share, n = _satisfied(formula, columns)
            chance = _by_accident(formula, columns)
            is_news = 1 - chance >= self.settings.order_news
            if n >= self.settings.min_rows and share >= self.settings.order_share and is_news:
                held[a, b] = chance
        # What follows from two others is not said; of the rest the most surprising are kept.
        direct = [
            (chance, (a, b))
            for (a, b), chance in held.items()
            if not any((a, k) in held and (k, b) in held for k in range(self.n_columns))
        ]
        pairs = [pair for _, pair in sorted(direct)[: self.n_columns]]
        return [Formula("order", pair, step=self.step(pair)) for pair in pairs]

    def _mostly_ordered(self) -> Iterator[tuple[int, int]]:
        """Yield pairs of columns of one kind whose values are in order in most of some rows."""
        quick = self.values[:, self.rows[:ORDER_ROWS]]
        present = np.isfinite(quick)
        for a in np.flatnonzero(self.is_smooth).tolist():
            n = (present & present[a]).sum(axis=1)
            ordered = (quick[a] <= quick).sum(axis=1) >= (self.settings.order_share - 0.02) * n
            fits = ordered & (n >= LEAST_ROWS) & self.is_smooth & (self.is_date == self.is_date[a])
            yield from ((a, b) for b in np.flatnonzero(fits).tolist() if b != a)


def smallest_unit(values: Floats) -> float:
    """Return the unit in which a column is written, such as .01; 0 where there is none.

    Examples
    --------
    >>> smallest_unit(np.array([1.5, 2.25, -3.0])), smallest_unit(np.array([1.0, 20.0]))
    (0.01, 1.0)
    """
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0
    sizes = abs(values[values != 0])
    usual = float(np.median(sizes)) if len(sizes) else 1.0
    largest = float(abs(values).max(initial=0.0))
    for digits in range(MOST_DIGITS + 1):
        if largest * 10.0**digits > 1e12:
            return 0.0
        # What is left of a difference is zero, but a column of tiny numbers is not.
        zero = min(1.0, usual * 10.0**digits)
        # A few malformed numbers do not change how a column is written. Mostly some rows tell.
        most = 0.01 * len(values)
        if _n_broken(values[:QUICK_ROWS], digits, zero) > most + 1:
            continue
        if (len(values) - _n_broken(values, digits, zero)) / len(values) >= 0.99:
            return float(10.0**-digits)
    return 0.0


def _n_broken(values: Floats, digits: int, zero: float) -> int:
    """Return how many numbers have more digits behind the decimal point."""
    scaled = values * 10.0**digits
    is_whole = abs(scaled - np.rint(scaled)) <= LAST_DIGITS * np.maximum(zero, abs(scaled))
    return len(values) - int(np.count_nonzero(is_whole))


def _medians(values: Floats) -> Floats:
    """Return the median of each row, missing values aside; 0 where all are missing."""
    n = values.shape[1] - np.isnan(values).sum(axis=1)
    ordered, rows = np.sort(values, axis=1), np.arange(len(values))
    low, high = (ordered[rows, np.maximum(k, 0) // 2] for k in (n - 1, n))
    return np.where(n > 0, np.where(n % 2, low, (low + high) / 2), 0.0)


def plainest(value: float, slack: float) -> float:
    """Return the number with the fewest digits within `slack` of a value.

    Examples
    --------
    >>> plainest(0.190003, 0.0001), plainest(1.7999999, 0.001), plainest(2.54, 0.0)
    (0.19, 1.8, 2.54)
    """
    for digits in range(16):
        rounded = float(f"{value:.{digits}e}")
        if abs(rounded - value) <= slack:
            return rounded
    return value


def _plain_numbers(values: Floats, fit: LinearFit, slack: float) -> tuple[list[float], float]:
    """Return the plainest weights and constant that fit as many rows within `slack`.

    `values` are those of the target and of the inputs, columns x rows.
    """

    def n_exact(weights: list[float], constant: float) -> int:
        rest = values[0] - (np.array(weights) @ values[1:] + constant)
        return int(np.count_nonzero(abs(rest) <= slack))

    weights = fit.weights.tolist()
    least = n_exact(weights, fit.constant)
    for digits in range(MOST_DIGITS + 1):
        rounded = [round(weight, digits) for weight in weights]
        middle = float(np.median(values[0] - np.array(rounded) @ values[1:]))
        for constant in (plainest(middle, slack), plainest(middle, slack / 100), middle):
            if all(rounded) and n_exact(rounded, constant) >= least:
                return rounded, constant
    return weights, fit.constant


def _as_sum(
    sources: tuple[int, ...], weights: list[float], constant: float
) -> tuple[tuple[int, ...], list[float], float]:
    """Turn net = total − vat into total = net + vat; return other equations as they are."""
    if sorted(weights) != [-1.0] * (len(weights) - 1) + [1.0] or len(weights) == 1:
        return sources, weights, constant
    total = sources[1 + weights.index(1.0)]
    parts = (source for source in sources if source != total)
    return (total, *parts), [1.0] * len(weights), -constant


def _satisfied(formula: Formula, columns: Sequence[Floats]) -> tuple[float, int]:
    """Return the share of rows that satisfy an exact relation, and how many rows could."""
    residual = formula.residual(columns)
    n = int(np.isfinite(residual).sum())
    return (int((residual == 0).sum()) / n if n else 0.0), n


def _by_accident(formula: Formula, columns: Sequence[Floats]) -> float:
    """Return the share of rows that satisfy a relation once a column is moved by some rows."""
    moved = (
        [np.roll(values, shift) if j == k else values for j, values in enumerate(columns)]
        for k in range(len(columns))
        for shift in SHIFTS
    )
    return max(_satisfied(formula, each)[0] for each in moved)
