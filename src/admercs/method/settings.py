"""Every statistical constant of the method, in one tree of frozen dataclasses.

A step that can be left out is an optional field of `Method`: ``replace(Method(), border=None)``.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are taken for.

    Attributes
    ----------
    max_distinct : int
        A numeric column with at most this many distinct values is described by how often each
        occurs …
    min_repeats : int
        … if a value occurs this often on average.
    identifier_from : int
        A text column with at least this many values that hardly repeat is an identifier.
    """

    max_distinct: int = 12
    min_repeats: int = 3
    identifier_from: int = 20


@dataclass(frozen=True)
class Density:
    """How likely a value is among the values of a context.

    Attributes
    ----------
    heavy_share : float
        The weight of a Cauchy kernel beside the Gaussian one; with 0 the kernel is the paper's
        Gaussian, and densities are not reflected at the ends of a column.
    heavy_width : float
        The width of the Cauchy kernel in bandwidths.
    min_distinct : int
        With fewer distinct values the bandwidth follows a normal reference rule instead of the
        improved Sheather-Jones selector.
    area : bool
        Whether ω is the area of the density below the height of the value. Otherwise it is the
        paper's min(1, κ / τ(ρ)).
    rho : float
        The share of a context's rows that are typical there (ρ).
    """

    heavy_share: float = 0.2
    heavy_width: float = 4.0
    min_distinct: int = 40
    area: bool = True
    rho: float = 0.9


@dataclass(frozen=True)
class Trees:
    """One tree per column predicts it from the others.

    Attributes
    ----------
    price : float or None
        A split must gain more than ``price * ((K - 1) / 2 * ln N + ln C)`` nats, where K is the
        number of target bins, N the rows and C the candidate thresholds. None: the paper's trees,
        which split on variance (Gini for nominal targets) and stop by `min_impurity_decrease`.
    min_impurity_decrease : float
        Only without a price: the sum of squares that a split must remove from a target scaled to
        [0, 1]; for nominal targets the decrease of the Gini impurity.
    max_depth : int
        The most conditions on the path to a leaf.
    min_samples_leaf : float or int
        The smallest leaf, as a share of the rows or as a number of rows.
    min_rows : int
        The smallest leaf in rows where `min_samples_leaf` is a share.
    max_bins : int or "exact"
        Bins per numeric column between which thresholds are searched.
    target_bins : int
        Bins of equal counts into which a numeric target is cut.
    max_classes : int
        Classes of a nominal target; rarer categories share the last one.
    group_price : float
        For this price a leaf is parted further, into groups that may be anomalous contexts but
        score no value …
    group_rows : int
        … in tables of fewer rows than this; in larger ones a group that matters pays the price.
    """

    price: float | None = 0.55
    min_impurity_decrease: float = 0.0
    max_depth: int = 10
    min_samples_leaf: float | int = 0.02
    min_rows: int = 5
    max_bins: int | Literal["exact"] = 254
    target_bins: int = 8
    max_classes: int = 32
    group_price: float = 0.3
    group_rows: int = 300


@dataclass(frozen=True)
class Odds:
    """Evidence log(1 + odds (1/ω − 1)) of a value of likelihood ω."""

    odds: float = 0.1


@dataclass(frozen=True)
class NoisyOr:
    """The paper's evidence −log(1 − γ_δ v) with v = λ + (1 − λ)(1 − ω)."""

    gamma_delta: float = 0.9


@dataclass(frozen=True)
class Tail:
    """Values far outside of the rest are odd however often they occur.

    Attributes
    ----------
    middle, near, far : float
        The shares of rows beyond the three quantiles through which the tails of a column are
        drawn.
    slack : float
        A value must be rarer than its tail predicts by this factor, as a logarithm.
    power : float
        With S the share of rows at or beyond a value, ω is never below S ** power.
    min_rows : int
        The least rows beyond the quantile `near`, and half of those beyond `far`, that a tail
        needs.
    """

    middle: float = 0.5
    near: float = 0.1
    far: float = 0.02
    slack: float = 3.0
    power: float = 3.0
    min_rows: int = 5

    @property
    def shares(self) -> tuple[float, ...]:
        """The three shares, ascending outwards."""
        return self.middle, self.near, self.far


@dataclass(frozen=True)
class Border:
    """Near a threshold the likelihood is smoothed with that of the context across.

    Attributes
    ----------
    zone : int
        The width of the zone on either side of a threshold, in smallest leaves.
    most : float
        The likelihood is raised to this value at most.
    """

    zone: int = 2
    most: float = 0.5


@dataclass(frozen=True)
class Discount:
    """What the whole table finds odd counts less where the context explains it.

    Attributes
    ----------
    odds : float
        The share of the odds that is left where the context explains the value completely.
    min_rows : int
        A context of fewer rows explains nothing.
    ordinary : float
        A value at least this likely in its context is explained completely.
    """

    odds: float = 1 / 3
    min_rows: int = 50
    ordinary: float = 0.5


@dataclass(frozen=True)
class Ancestor:
    """A leaf that is a small part of a context above it is also scored by that context.

    Attributes
    ----------
    share : float
        A leaf with a smaller share of the rows of a context above it is a small part of it.
    odds : float
        The ancestor's evidence counts with this share of the odds.
    """

    share: float = 0.15
    odds: float = 0.5


@dataclass(frozen=True)
class Candidates:
    """Only contexts whose rows stand out on their own may become anomalous.

    Excess evidence is what a row has beyond the median row, in units of half the distance from
    the median to the `Feedback.spread` quantile.

    Attributes
    ----------
    least : float
        The least mean excess evidence of the rows of a candidate.
    cap : float
        The most that a single row counts in that mean.
    min_columns : int
        In a table of fewer columns no context is a candidate.
    """

    least: float = 1.75
    cap: float = 3.0
    min_columns: int = 3


@dataclass(frozen=True)
class Ranges:
    """A range of a leaf's target may be a candidate where the leaf as a whole is not.

    Attributes
    ----------
    own : float
        The columns by which the range was chosen count with this share of their evidence.
    others : int
        The least number of further columns.
    share : float
        The least rows of a range, as a share of the smallest leaf …
    min_rows : int
        … and in rows.
    """

    own: float = 0.25
    others: int = 2
    share: float = 0.75
    min_rows: int = 8


@dataclass(frozen=True)
class Feedback:
    """Contexts and rows inform each other: a context full of anomalous rows is anomalous.

    Attributes
    ----------
    gamma_lambda : float
        How far a single ordinary row speaks for a context (γ_λ).
    n_iter : int
        The most rounds of scoring contexts and rows in turn, the first scoring included.
    tol : float
        The rounds end when no context's score changes by more.
    centred : bool
        Whether evidence counts only as far as it exceeds that of the median row.
    spread : float or None
        Excess evidence is measured in units of half the distance from the median to this quantile;
        None: as it is.
    effective_size : int or None
        A larger context is scored as if it had this many rows; None: all rows count.
    most : float or None
        The most evidence that a context adds to a row; None: the paper's form, without a limit.
    candidates : Candidates or None
        Which contexts may become anomalous; None: all leaves.
    ranges : Ranges or None
        Whether ranges of a leaf's target may, too.
    """

    gamma_lambda: float = 0.5
    n_iter: int = 20
    tol: float = 1e-6
    centred: bool = True
    spread: float | None = 0.9
    effective_size: int | None = 50
    most: float | None = 1.0
    candidates: Candidates | None = field(default_factory=Candidates)
    ranges: Ranges | None = field(default_factory=Ranges)


@dataclass(frozen=True)
class Isolation:
    """A row whose nearest rows are further away than those of the median row is odd.

    Attributes
    ----------
    power : float
        The likelihood of a distance d is (d / median) ** (-power * sqrt(number of columns)).
    """

    power: float = 1.5


@dataclass(frozen=True)
class Neighbours:
    """Rows are compared with reference rows in all columns at once.

    Attributes
    ----------
    references : int
        The most training rows that a row is compared with.
    near : int
        The nearest reference rows at the small scale.
    share : float
        The nearest reference rows at the large scale, as a share of all.
    weight : float
        How much the excess evidence of the nearest rows counts if it agrees completely with the
        rows' own evidence; 0: it does not count.
    min_rows, min_columns : int
        A table of fewer rows has no neighbours, one of fewer columns no neighbour evidence, …
    max_cells : int
        … and one of more cells neither.
    isolation : Isolation or None
        Whether a row that is far from its nearest rows is odd.
    """

    references: int = 1000
    near: int = 5
    share: float = 0.05
    weight: float = 4.0
    min_rows: int = 20
    min_columns: int = 3
    max_cells: int = 500_000
    isolation: Isolation | None = field(default_factory=Isolation)


@dataclass(frozen=True)
class Flagging:
    """Where ``contamination="auto"`` draws the line.

    Attributes
    ----------
    middle, high : float
        The levels of the two quantiles of evidence through which the tails of ordinary rows are
        drawn: a few per cent of anomalies leave them alone.
    chance : float
        The chance of an ordinary row to be flagged, if evidence has an exponential tail.
    share : float
        If more than this share of the rows would be flagged, only those are that also exceed …
    heavy_chance : float
        … a log-normal tail with this chance.
    """

    middle: float = 0.5
    high: float = 0.9
    chance: float = 0.002
    share: float = 0.01
    heavy_chance: float = 0.0003


@dataclass(frozen=True)
class Method:
    """The whole method: its steps in the order in which they are applied.

    Attributes
    ----------
    columns : Columns
    trees : Trees
    density : Density
    marginal : bool
        Whether every value is also scored in the whole table.
    purest : bool
        Whether the purest node on the path scores a value (the paper) instead of the leaf.
    tail : Tail or None
    border : Border or None
    discount : Discount or None
    ancestor : Ancestor or None
    evidence : Odds or NoisyOr
        How likelihoods become evidence.
    feedback : Feedback or None
    neighbours : Neighbours or None
    flagging : Flagging

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
    flagging: Flagging = field(default_factory=Flagging)

    def change(self, values: dict[str, Any]) -> Method:
        """Return the method with other values, by dotted names such as ``"border.zone"``."""
        changed = self
        for name, value in values.items():
            changed = _changed(changed, name.split("."), value)
        return changed

    def for_novelty(self) -> Method:
        """Return the method for training rows that are known to be normal.

        Nothing in the training table is distrusted: no context is anomalous, no row adds evidence
        to rows like it, and no ancestor doubts what a leaf finds ordinary.

        Examples
        --------
        >>> Method().for_novelty().feedback is None
        True
        """
        neighbours = self.neighbours
        if neighbours is not None:
            neighbours = dataclasses.replace(neighbours, weight=0.0)
        return dataclasses.replace(self, feedback=None, ancestor=None, neighbours=neighbours)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; `from_dict` reads it."""
        return _to_dict(self)

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
    trees=Trees(price=None, min_rows=1, max_bins="exact", group_rows=0),
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
)

_TYPES = {
    kind.__name__: kind
    for kind in (
        Columns, Trees, Density, Odds, NoisyOr, Tail, Border, Discount, Ancestor, Candidates,
        Ranges, Feedback, Isolation, Neighbours, Flagging, Method,
    )
}  # fmt: skip


def _changed(settings: Any, names: list[str], value: Any) -> Any:
    known = dataclasses.fields(settings) if dataclasses.is_dataclass(settings) else ()
    if names[0] not in {each.name for each in known}:
        raise ValueError(f"{type(settings).__name__} has no setting {names[0]!r}")
    if len(names) > 1:
        value = _changed(getattr(settings, names[0]), names[1:], value)
    return dataclasses.replace(settings, **{names[0]: value})


def _to_dict(settings: Any) -> dict[str, Any]:
    fields = {each.name: getattr(settings, each.name) for each in dataclasses.fields(settings)}
    plain = {
        name: _to_dict(value) if dataclasses.is_dataclass(value) else _plain(value)
        for name, value in fields.items()
    }
    return {"type": type(settings).__name__, **plain}


def _plain(value: Any) -> Any:
    """Return a numpy number, such as a grid search passes, as Python's own."""
    return value.item() if hasattr(value, "item") else value


def _from_dict(values: dict[str, Any]) -> Any:
    kind = _TYPES[values["type"]]
    known = {each.name for each in dataclasses.fields(kind)}
    given = {name: value for name, value in values.items() if name != "type"}
    if set(given) != known:
        raise ValueError(f"the settings of {kind.__name__} do not fit")
    return kind(
        **{
            name: _from_dict(value) if isinstance(value, dict) else value
            for name, value in given.items()
        }
    )
