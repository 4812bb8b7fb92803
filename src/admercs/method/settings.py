"""Every statistical constant of the method, in one tree of frozen dataclasses.

A step that can be left out is an optional field of `Method`: ``replace(Method(), border=None)``.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

# A number without one of these is 0 or more.
Share = Annotated[float, "between 0 and 1", lambda value: 0 <= value <= 1]
Inner = Annotated[float, "above 0 and below 1", lambda value: 0 < value < 1]
Positive = Annotated[float, "above 0", lambda value: 0 < value < math.inf]
Several = Annotated[int, "2 or more", lambda value: 2 <= value < math.inf]


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are taken for."""

    # A numeric column with at most so many distinct values is described by how often each occurs …
    max_distinct: int = 12
    min_repeats: int = 3  # … if a value occurs this often on average.
    # A text column with at least so many values that hardly repeat is an identifier.
    identifier_from: int = 20
    # A text column is numbers or dates if this share of its recorded cells are …
    reading_share: Share = 0.9
    main_share: Share = 0.5  # or if this share has one form, and nearly all others one more.
    padded_share: Share = 0.01  # … and hardly any is a whole number that begins with a zero.
    # Texts that hardly repeat are free text if they have so many words on average …
    free_words: float = 6.0
    form_share: Share = 0.5  # … and less than this share of them has the same form.


@dataclass(frozen=True)
class LookAlikes:
    """Rare texts that resemble a far more frequent one of the same column."""

    min_count: int = 3  # texts that occur this often may be what others resemble, …
    most: int = 2000  # the most frequent ones of a column at most,
    longest: int = 100  # none of more characters,
    ratio: float = 4.0  # and they occur at least this many times as often as their look-alikes.
    shortest: int = 3  # shorter texts of one length, such as codes of states, resemble nothing
    two_from: int = 10  # and texts shorter than this in two
    shortest_word: int = 4  # letters of a word that is compared as a text of its own, at least


@dataclass(frozen=True)
class Determined:
    """Columns whose values follow from those of other columns."""

    # A column determines another one as far as it removes the other's exceptions from its most
    # frequent value: completely is 1.
    least: Share = 0.4
    least_of_numbers: Share = 0.75  # where neither of the two is a text, or A has fractions
    min_repeats: float = 3.0  # the least rows of its values, on average
    most: int = 5  # the columns that speak about another one at most
    prior: float = 2.0  # the rows as which the exceptions of all other groups count in a group
    # A value whose rows agree hardly more than all rows do, in all columns that its own column
    # determines, was written into rows of others: up to so much, in so many rows at least.
    scattered: Share = 0.1
    scattered_rows: int = 20
    scattered_repeats: float = 1.25  # such a column may repeat as little as that
    max_values: int = 100_000  # a column of more distinct values determines nothing
    # Pairs of columns are first compared in groups of about so many rows, …
    sample: int = 20_000
    effort: int = 20_000_000  # … and of so many over all pairs.


@dataclass(frozen=True)
class KeyColumns:
    """Columns whose values hardly ever repeat, such as numbers of orders."""

    share: Share = 0.01  # the most rows whose value occurs more than once, as a share
    min_rows: int = 50  # smaller columns are no keys
    longest: int = 50  # characters of a text that may be a key, at most …
    words: int = 5  # … and of its words,
    short_share: Share = 0.9  # which so many of the texts of a key keep to
    # Whole numbers have at most this share of the repetitions of numbers drawn from their range.
    chance: Share = 0.1
    # In a table with texts, some values of a column may have been written into rows of others: so
    # many rows at most have a value that occurs more than once, as a share, …
    misused: Share = 0.3
    twice: Share = 1 / 3  # … and of these at most such a share one that occurs just twice.
    most: int = 1 << 23  # in larger tables a share of the values is counted, so many


@dataclass(frozen=True)
class Calendar:
    """Parts of dates that come round: time of day, weekday, day of the month, month."""

    # The days that dates span at least for a part to come round: for times of day, weekdays, days
    # of the month and months.
    days: float = 4.0
    weekday_days: float = 28.0
    monthday_days: float = 92.0
    month_days: float = 731.0
    repeats: int = 10  # how often a value of a part occurs at least on average
    # How unevenly dates are spread over the values of a part at least: Σ p log(k p).
    unevenness: float = 0.1
    # A day may begin at midnight if the hours around it have no larger share of the dates.
    quiet: Share = 0.002


@dataclass(frozen=True)
class Facets:
    """Columns made of columns: of texts their shape and their length, of dates what comes round.

    Three more say about a cell what is known without a tree: what a text resembles, what the other
    columns of the row say, and whether a value of a key repeats.
    """

    # First and last words of texts say something if at most this share of the rows has a rare one.
    rare_tokens: Share = 0.01
    token_repeats: int = 3  # a word that begins or ends fewer texts is rare
    calendar: Calendar | None = field(default_factory=Calendar)
    keys: KeyColumns | None = field(default_factory=KeyColumns)
    look_alikes: LookAlikes | None = field(default_factory=LookAlikes)
    determined: Determined | None = field(default_factory=Determined)


@dataclass(frozen=True)
class Density:
    """How likely a value is among the values of a context."""

    # The weight of a Cauchy kernel beside the Gaussian one. With 0 the kernel is the paper's
    # Gaussian, and densities are not reflected at the ends of a column.
    heavy_share: Share = 0.2
    heavy_width: Positive = 4.0  # the width of the Cauchy kernel in bandwidths
    # With fewer distinct values the bandwidth follows a normal reference rule instead of the
    # improved Sheather-Jones selector.
    min_distinct: int = 40
    # Whether ω is the area of the density below the height of the value; else min(1, κ / τ(ρ)).
    area: bool = True
    rho: Share = 0.9  # ρ, the share of a context's rows that are typical there
    ordinary: Inner = 0.5  # a value at least this likely is ordinary in its context


@dataclass(frozen=True)
class Search:
    """What a tree looks at before it splits a node, so that not all of it has to be counted."""

    sample: Several = 10_000  # distinct rows on which inputs are chosen
    parts: Several = 4  # into which columns are cut that are compared, in tables with many …
    screened: Several = 4096  # … on so many rows of the sample
    cells: Several = 32  # of a numeric input on the sample
    least: Several = 16  # inputs that every node looks at on the sample
    closer: Several = 3  # the most inputs of a node that are counted on all rows …
    near: Share = 0.5  # … if their gain is at least this share of the largest one
    # In all bins and on all rows a gain may be so many times as large as on the sample.
    may_be: Positive = 1.3
    stride: Several = 8  # codes: of a long column thresholds are first tried at such steps
    # A nominal input of a nominal target is tried in an order of its categories per frequent class.
    orders: Several = 8


@dataclass(frozen=True)
class Trees:
    """One tree per column predicts it from the others."""

    # A split must gain more than price * ((K - 1) / 2 * ln N + ln C) nats, where K is the number of
    # target bins, N the rows and C the candidate thresholds. None: the paper's trees, which split
    # on variance (Gini for nominal targets) and stop by `min_impurity_decrease`.
    price: float | None = 0.55
    # The sum of squares that a split must remove from a target scaled to [0, 1]; for nominal
    # targets the decrease of the Gini impurity.
    min_impurity_decrease: float = 0.0
    max_depth: int = 10  # the most conditions on the path to a leaf
    min_samples_leaf: float | int = 0.02  # the smallest leaf, as a share of the rows or in rows
    min_rows: int = 5  # the smallest leaf in rows where `min_samples_leaf` is a share
    max_bins: int | Literal["exact"] = 254  # per numeric column; thresholds lie between them
    target_bins: int = 8  # bins of equal counts into which a numeric target is cut
    inputs: int = 64  # the most a tree looks at; in wider tables those that depend on its target
    max_classes: int = 32  # of a nominal target; rarer categories share the last one
    # For this price a leaf is parted further, into groups that may be anomalous contexts but score
    # no value …
    group_price: float = 0.3
    group_rows: int = 300  # … in tables of fewer rows; in larger ones such a group pays the price.
    search: Search = field(default_factory=Search)


@dataclass(frozen=True)
class Odds:
    """Evidence log(1 + odds (1/ω − 1)) of a value of likelihood ω."""

    odds: float = 0.1
    # In tables of more columns than this the odds fall with the root of their number: many columns
    # have many small oddities by chance, and their sum must not hide a single large one.
    columns: Several = 20
    missing: Share = 0.15  # where fewer rows of a context miss a value, a gap has the odds 1 : 1
    # The least evidence of a gap where less than half of a column is missing, beside categories.
    gap: float = 0.3

    def among(self, n_columns: int) -> Odds:
        """Return the odds of the values of a table of so many columns."""
        share = math.sqrt(min(self.columns, n_columns) / n_columns)
        return replace(self, odds=share * self.odds)


@dataclass(frozen=True)
class NoisyOr:
    """The paper's evidence −log(1 − γ_δ v) with v = λ + (1 − λ)(1 − ω)."""

    gamma_delta: Share = 0.9


@dataclass(frozen=True)
class Tail:
    """Values far outside of the rest are odd however often they occur."""

    # The shares of rows beyond the three quantiles through which the tails of a column are drawn.
    middle: Inner = 0.5
    near: Inner = 0.1
    far: Inner = 0.02
    slack: float = 3.0  # log of the factor by which a value must be rarer than its tail predicts
    power: float = 3.0  # with S the share of rows at or beyond a value, ω is at least S ** power
    # Quantiles that are the same are moved apart by this share of the width between the second ones
    # of the lower and of the upper side.
    step: Share = 0.25
    min_rows: int = 5  # the least rows beyond `near`, and half of those beyond `far`
    # In a leaf a lone value lies on a kernel of this width in bandwidths: √(2π), and a little more
    # for its heavy part.
    peak: Positive = 3.0

    @property
    def shares(self) -> tuple[float, ...]:
        """The three shares, ascending outwards."""
        return self.middle, self.near, self.far


@dataclass(frozen=True)
class Border:
    """Near a threshold the likelihood is smoothed with that of the context across."""

    zone: int = 2  # the width of the zone on either side of a threshold, in smallest leaves


@dataclass(frozen=True)
class Discount:
    """What the whole table finds odd counts less where the context explains it."""

    odds: Share = 1 / 3  # the share of the odds that is left of a value that is explained
    min_rows: int = 50  # a context of fewer rows explains nothing


@dataclass(frozen=True)
class Ancestor:
    """A leaf that is a small part of a context above it is also scored by that context."""

    share: Share = 0.15  # a leaf with a smaller share of a context's rows is a small part of it
    odds: Share = 0.5  # the ancestor's evidence counts with this share of the odds


@dataclass(frozen=True)
class Candidates:
    """Only contexts whose rows stand out on their own may become anomalous.

    Excess evidence is what a row has beyond the median row, in units of half the distance from
    the median to the `Feedback.spread` quantile.
    """

    least: float = 1.75  # the least mean excess evidence of the rows of a candidate
    cap: float = 3.0  # the most that a single row counts in that mean
    min_columns: int = 3  # in a table of fewer columns no context is a candidate
    # The share with which columns count by which the rows were chosen, and what follows from them …
    own: Share = 0.25
    others: int = 2  # … and the least number of further columns


@dataclass(frozen=True)
class Ranges:
    """A range of a leaf's target may be a candidate where the leaf as a whole is not."""

    share: float = 0.75  # the least rows of a range, as a share of the smallest leaf …
    min_rows: int = 8  # … and in rows


@dataclass(frozen=True)
class Feedback:
    """Contexts and rows inform each other: a context full of anomalous rows is anomalous."""

    gamma_lambda: Share = 0.5  # γ_λ: how far a single ordinary row speaks for a context
    n_iter: int = 20  # the most rounds of scoring contexts and rows, the first scoring included
    tol: float = 1e-6  # the rounds end when no context's score changes by more
    centred: bool = True  # whether evidence counts only as far as it exceeds the median row's
    # Excess evidence is measured in units of half the distance from the median to this quantile;
    # None: as it is.
    spread: Inner | None = 0.9
    effective_size: int | None = 50  # a larger context is scored as if it had this many rows
    most: float | None = 1.0  # the most evidence that a context adds to a row
    candidates: Candidates | None = field(default_factory=Candidates)  # None: all leaves
    ranges: Ranges | None = field(default_factory=Ranges)


@dataclass(frozen=True)
class Isolation:
    """A row whose nearest rows are further away than those of the median row is odd."""

    # The likelihood of a distance d is (d / median) ** (-power * sqrt(number of columns)).
    power: float = 1.5


@dataclass(frozen=True)
class Neighbours:
    """Rows are compared with reference rows in all columns at once."""

    references: int = 1000  # the most training rows that a row is compared with …
    comparisons: int = 500_000_000  # … while rows x columns x references are no more than this, …
    fewest: int = 32  # … or the least
    sample: Several = 10_000  # distinct rows, of which the reference rows are taken
    near: int = 5  # the nearest reference rows at the small scale …
    share: Share = 0.05  # … and at the large scale, as a share of all
    # How much the excess evidence of the nearest rows counts if it agrees completely with the rows'
    # own evidence; 0: it does not count.
    weight: float = 4.0
    most: Positive = 2.0  # the most evidence of a value that is passed on
    min_rows: int = 20  # a table of fewer rows has no neighbours, …
    min_columns: int = 3  # … and one of fewer columns no neighbour evidence
    isolation: Isolation | None = field(default_factory=Isolation)


@dataclass(frozen=True)
class Credit:
    """To which cells the evidence of a row belongs."""

    # What such a share of a column exceeds is usual there: the difference from the nearest rows,
    # and, where columns are not all of numbers, the evidence of numbers and facets.
    usual: Inner = 0.25
    times: float = 12.0  # what exceeds it so many times is notable, …
    share: Share = 0.25  # … and at least this share of all evidence
    level: float = 0.2  # evidence that cells may have without being notable


@dataclass(frozen=True)
class Relations:
    """Columns that follow from others: what is sought."""

    rows: int = 4000  # the rows of the sample in which relations are sought
    max_columns: int = 200  # numeric and date columns among which they are sought
    min_rows: int = 50  # rows of the sample without a missing value that a relation needs
    few_values: int = 10  # a column of so many distinct values is the target of exact ones only
    exact_share: Share = 0.95  # of the rows that satisfy an exact relation
    order_share: Share = 0.99  # of those that satisfy an order …
    order_news: Share = 0.1  # … and the least share that would not, were the columns independent
    # The most rows that break an exact relation, as a share of those that would by accident.
    accident: Share = 0.25
    inputs: int = 3  # the most other columns of a linear relation
    gain: float = 0.005  # the least share of the rest that a further one explains
    central: Inner = 0.98  # the share of rows to which a linear relation is fitted …
    least_explained: Share = 0.75  # … and the least share of their variance that it explains
    # A residual of this share of the target's spread is small, whatever the others are.
    step: float = 0.01
    # The odds that a row is wrong that breaks an exact relation; a rare value has `Odds.odds`.
    odds: float = 1.0
    # A relation holds where its residual is at least this likely. Where it does not, one of its
    # cells has the evidence; with S the share of rows with a residual as far out, ω >= S ** power.
    holds: Share = 0.05
    power: float = 6.0

    def times(self, odds: float) -> float:
        """Return how many times the odds of a rare value those of a broken exact relation are."""
        return max(1.0, self.odds / odds) if odds > 0 else 1.0


@dataclass(frozen=True)
class Flagging:
    """Where ``contamination="auto"`` draws the line."""

    # The levels of the two quantiles of evidence through which the tail of ordinary rows is drawn:
    # up to a quarter of anomalies leave them alone.
    middle: Inner = 0.5
    high: Inner = 0.75
    chance: Inner = 0.002  # of an ordinary row to be flagged, if evidence has an exponential tail
    # If more than this share of the rows would be flagged, only the rows are that stand out, …
    share: Share = 0.01
    gap: float = 1.8  # … with this many times the evidence of the rows that follow, …
    following: float = 0.25  # … which are this many, as a share of those that stand out.
    # Where all training rows are normal, so many parts of them are each scored by the rest, …
    folds: Several = 5
    fold_rows: int = 50  # … unless there are fewer rows than this.


@dataclass(frozen=True)
class Repairs:
    """What a row's values should have been, and which of them is to blame."""

    cells: int = 12  # the most cells of a row that are tried, …
    exchanged: int = 6  # … of which so many may have changed places …
    seconds: int = 6  # … and so many are tried beside another where no single one suffices
    compared: int = 4  # trials of a kind for which a row is compared with other rows
    listed: int = 3  # the most repairs of a row
    usual: Share = 0.9  # the share of the training rows whose evidence is nothing unusual
    least: Share = 0.05  # the share of a row's evidence that a repair removes at least
    rest: Share = 0.5  # the same for a second cell, of what the best single repair leaves
    frequent: Share = 0.005  # a value that more rows have than this share is no slip


@dataclass(frozen=True)
class Method:
    """The whole method: its steps in the order in which they are applied.

    A step that is None is left out. ``marginal`` says whether every value is also scored in the
    whole table, ``purest`` whether the purest node on the path scores a value (the paper) instead
    of the leaf, and ``evidence`` how likelihoods become evidence.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from admercs import ADMERCS, Method
    >>> Method().border.zone
    2
    >>> ADMERCS(method=replace(Method(), border=None)).method.border is None
    True
    >>> Method().change({"border.zone": 3}).border.zone
    3
    """

    columns: Columns = field(default_factory=Columns)
    facets: Facets | None = field(default_factory=Facets)
    trees: Trees = field(default_factory=Trees)
    density: Density = field(default_factory=Density)
    marginal: bool = True
    purest: bool = False
    tail: Tail | None = field(default_factory=Tail)
    border: Border | None = field(default_factory=Border)
    discount: Discount | None = field(default_factory=Discount)
    ancestor: Ancestor | None = field(default_factory=Ancestor)
    evidence: Odds | NoisyOr = field(default_factory=Odds)
    feedback: Feedback | None = field(default_factory=Feedback)
    neighbours: Neighbours | None = field(default_factory=Neighbours)
    relations: Relations | None = field(default_factory=Relations)
    credit: Credit | None = field(default_factory=Credit)
    flagging: Flagging = field(default_factory=Flagging)
    repairs: Repairs = field(default_factory=Repairs)

    def change(self, values: dict[str, Any]) -> Method:
        """Return the method with other values, by dotted names such as ``"border.zone"``."""
        changed = self
        for name, value in values.items():
            changed = _changed(changed, name.split("."), value)
        return changed

    def for_novelty(self) -> Method:
        """Return the method for training rows that are known to be normal.

        Nothing in the training table is distrusted: no context is anomalous, no row adds evidence
        to rows like it, and no ancestor doubts what a leaf finds ordinary. No leaf holds just
        anomalies, so that leaves may be finer. The distance to the nearest training rows means what
        it says, so that rows are compared with more of them, and isolation counts more.
        """
        trees, neighbours = self.trees, self.neighbours
        if trees.min_samples_leaf < 1:
            trees = replace(trees, min_samples_leaf=trees.min_samples_leaf / 4)
        if neighbours is not None:
            isolation = neighbours.isolation
            neighbours = replace(
                neighbours,
                weight=0.0,
                references=10 * neighbours.references,
                comparisons=2 * neighbours.comparisons,
                isolation=isolation and replace(isolation, power=isolation.power * 4 / 3),
            )
        return replace(self, trees=trees, feedback=None, ancestor=None, neighbours=neighbours)

    def check(self) -> None:
        """Raise a ValueError that names the first setting whose value makes no sense."""
        for name, value, allowed in _misfits(self, "method"):
            raise ValueError(f"{name} is {value!r:.50}; it must be {allowed}")

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; `from_dict` reads it."""
        made: dict[str, Any] = _to_dict(self)
        return made

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Method:
        """Return the method that `to_dict` has written."""
        made = _from_dict(values)
        if not isinstance(made, Method):
            raise ValueError(f"{values.get('type')!r} is not a method")
        return made

    @classmethod
    def paper(cls, benchmark: str) -> Method:
        """Return the settings that the paper selected for a benchmark.

        Parameters
        ----------
        benchmark : {"Campos", "CamposHD", "HiCS", "Synth-C", "Synth-C&S", "Synth-I"}

        Examples
        --------
        >>> Method.paper("HiCS").trees.min_impurity_decrease
        0.5
        """
        if benchmark not in _SELECTED:
            raise ValueError(
                f"unknown benchmark {benchmark!r}; the paper has {', '.join(_SELECTED)}"
            )
        leaf, decrease, rho, gamma_lambda, gamma_delta = _SELECTED[benchmark]
        return PAPER.change(
            {
                "trees.min_samples_leaf": leaf,
                "trees.min_impurity_decrease": decrease,
                "density.rho": rho,
                "feedback.gamma_lambda": gamma_lambda,
                "evidence.gamma_delta": gamma_delta,
            }
        )


# Leaf size, impurity decrease, ρ, γ_λ, γ_δ (Soenen et al., appendix).
_SELECTED = {
    "Campos": (0.05, 0.05, 0.9, 0.5, 0.7),
    "CamposHD": (0.1, 0.2, 0.7, 1.0, 0.7),
    "HiCS": (0.02, 0.5, 0.9, 1.0, 1.0),
    "Synth-C": (0.02, 0.001, 0.7, 0.5, 0.2),
    "Synth-C&S": (0.05, 0.001, 0.9, 1.0, 1.0),
    "Synth-I": (0.005, 0.001, 0.9, 0.5, 0.9),
}

# What all of the paper's experiments have in common. Feedback is centred, which changes nothing
# but keeps wide tables from running away.
PAPER = Method(
    facets=None,
    trees=Trees(price=None, min_rows=1, max_bins="exact", inputs=1_000_000, group_rows=0),
    density=Density(heavy_share=0.0, area=False),
    marginal=False,
    purest=True,
    tail=None,
    border=None,
    discount=None,
    ancestor=None,
    evidence=NoisyOr(),
    feedback=Feedback(spread=None, effective_size=None, most=None, candidates=None, ranges=None),
    neighbours=None,
    relations=None,
    credit=None,
)

# The dataclasses of this module by their names.
_TYPES: dict[str, Any] = {
    name: kind
    for name, kind in globals().items()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind)
}
# The types of their fields: to read them for each fit would take as long as a tree.
_HINTS = {n: typing.get_type_hints(kind, include_extras=True) for n, kind in _TYPES.items()}


def _misfits(settings: Any, name: str) -> Iterator[tuple[str, Any, str]]:
    """Yield the settings that make no sense: their names, and what they must be."""
    hints = _HINTS[type(settings).__name__]
    for each in dataclasses.fields(settings):
        value, own, hint = getattr(settings, each.name), f"{name}.{each.name}", hints[each.name]
        # Numpy's own True has a shape, and is none of Python's numbers.
        is_text, is_scalar = isinstance(value, str), getattr(value, "shape", None) == ()
        is_number = isinstance(value, numbers.Real) or (is_scalar and not is_text)
        kind = float if is_number else value if is_text else type(value)
        if kind not in (choices := _choices(hint)):
            yield own, value, " or ".join(map(_word, choices))
        elif dataclasses.is_dataclass(value):
            yield from _misfits(value, own)
        elif is_number:
            allowed, fits = _allowed(hint)
            if not fits(value):
                yield own, value, allowed
    if isinstance(settings, Tail) and not settings.far < settings.near < settings.middle:
        yield f"{name}.near", settings.near, f"between {name}.far and {name}.middle"
    if isinstance(settings, Flagging) and not settings.middle < settings.high:
        yield f"{name}.high", settings.high, f"above {name}.middle"


def _choices(hint: Any) -> list[Any]:
    """Return what a setting may be: types, of numbers float alone, and texts."""
    if typing.get_origin(hint) is Literal:
        return list(typing.get_args(hint))
    if typing.get_origin(hint) is Annotated or not typing.get_args(hint):
        return [float if hint in (int, bool) or typing.get_args(hint) else hint]
    return list(dict.fromkeys(c for each in typing.get_args(hint) for c in _choices(each)))


def _word(choice: Any) -> str:
    words = {float: "a number", type(None): "None"}
    return words.get(choice) or (choice.__name__ if isinstance(choice, type) else repr(choice))


def _allowed(hint: Any) -> tuple[str, Callable[[Any], bool]]:
    """Return what a number of a type must be, in words and as a test."""
    for each in (hint, *typing.get_args(hint)):
        if hasattr(each, "__metadata__"):
            allowed: tuple[str, Callable[[Any], bool]] = each.__metadata__
            return allowed
    # True and False are numbers, too: 1 and 0.
    return "0 or more, and finite", lambda value: 0 <= value < math.inf


def _changed(settings: Any, names: list[str], value: Any) -> Any:
    known = dataclasses.fields(settings) if dataclasses.is_dataclass(settings) else ()
    if names[0] not in {each.name for each in known}:
        raise ValueError(f"{type(settings).__name__} has no setting {names[0]!r}")
    if len(names) > 1:
        value = _changed(getattr(settings, names[0]), names[1:], value)
    return replace(settings, **{names[0]: value})


def _to_dict(settings: Any) -> Any:
    """Return settings as a dict, and a numpy number, such as a grid search passes, as Python's."""
    if not dataclasses.is_dataclass(settings):
        return settings.item() if hasattr(settings, "item") else settings
    names = [each.name for each in dataclasses.fields(settings)]
    values = {name: _to_dict(getattr(settings, name)) for name in names}
    return {"type": type(settings).__name__, **values}


def _from_dict(values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    kind = _TYPES[values["type"]]
    if values.keys() != {"type", *(each.name for each in dataclasses.fields(kind))}:
        raise ValueError(f"the settings of {kind.__name__} do not fit")
    return kind(**{name: _from_dict(each) for name, each in values.items() if name != "type"})
