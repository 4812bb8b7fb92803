"""`ADMERCS`: the scikit-learn face of the detector."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from admercs.detector.fit import FitSettings, Quantiles, fit_model
from admercs.detector.judge import judge_cells, judge_evidence
from admercs.detector.model import Model, Settings
from admercs.detector.persist import ModelFileError, load_model, save_model
from admercs.evidence.threshold import threshold_from
from admercs.explain.explain_mixin import is_dask
from admercs.paper import PAPER_PARAMETERS
from admercs.progress import progress_printer
from admercs.report.report_mixin import ReportMixin
from admercs.table import (
    Column,
    Prepared,
    learn_schema,
    prepare,
    read_frame,
    summarise,
)
from admercs.trees.growth import TreeSettings
from admercs.trees.view import Tree

__all__ = ["ADMERCS", "ModelFileError"]


class ADMERCS(ReportMixin, OutlierMixin, BaseEstimator):
    """Finds anomalous rows of a table and says why.

    One decision tree per column predicts it from the others. Each leaf is a context with its own idea of
    what is normal; a row that breaks the patterns of its contexts is anomalous, a context full of anomalous
    rows becomes suspicious itself, and its rows are guilty by association.

    Parameters
    ----------
    criterion : {"distribution", "variance", "paper"}, default="distribution"
        What a split has to make purer. "distribution": the entropy of the target's values (numbers in
        quantile bins), which sees crosses, rings and parallel lines as well as shifts of the mean.
        "variance": variance for numbers, Gini for nominal values. "paper": the same, with
        `min_impurity_decrease` in the meaning of the paper's experiments.
    max_depth : int, default=10
        The most tests on the path to a leaf. The paper's value; few paths get that long. A part of a leaf that
        is a context of its own takes one or two more.
    min_samples_leaf : float or int, default=0.02
        The least rows of a leaf, as a fraction of the table (float; never fewer than 5) or as a number
        (int); three quarters of it for a part of a leaf. Half of it finds hardly more and takes longer.
    min_impurity_decrease : float or "auto", default="auto"
        What a split must at least remove, as a fraction of the root's impurity. "auto": the gain in
        nats must pay for the split's parameters and for having chosen it among many, so that noise columns
        are not split at all, for any number of rows and columns; for variance 0.5% of the root's.
    likelihood : {"area", "paper"}, default="area"
        How likely a value is in its context. "area": the area of the context's distribution below the
        density of the value; needs no threshold. Each value is judged by its leaf, perhaps by a wider context,
        and by the whole table, whose word counts less where the leaf explains the value, and the strongest view
        speaks. "paper": min(1, κ / τ(ρ)), the noisy-or with γ_δ, and the purest node on the path.
    rho : float, default=0.9
        The fraction of a context's rows whose values explanations call typical; with
        ``likelihood="paper"`` also the fraction that is beyond suspicion.
    gamma_delta : float, default=0.9
        Only with ``likelihood="paper"``: how far a single view can condemn a row (γ_δ).
    gamma_lambda : float, default=0.5
        How far a single ordinary row acquits a context (γ_λ).
    n_iter : int, default=20
        The most rounds of scoring rows and contexts in turn; 1 switches anomalous contexts off, and rows are not
        compared with those most like them.
    tol : float, default=1e-6
        The rounds end when no context's score changes by more.
    feedback : {"relative", "centred", "paper"}, default="relative"
        What a row's guilt is measured by. "paper": its evidence. "centred": what exceeds the typical row,
        which keeps wide tables from suspecting every context. "relative": the same in units of the
        ordinary spread of evidence, so that it does not matter how many columns speak and how loud; only
        contexts whose rows stand out on their own are tried, and parts of leaves may be contexts; large
        ones are judged by a part of their rows, and none in a table of two columns. Then, in a table of up to
        half a million cells, what the rows most like a row have against them counts against it, too, and if
        these are far away, all that is odd about it counts more.
    max_bins : int or "exact", default=254
        Bins per numeric column in which thresholds are searched; "exact" tries every distinct value.
    nominal : "auto" or list of str or int, default="auto"
        Columns (names, or positions for an array) to be treated as nominal though they hold
        numbers. Text, categories and booleans always are.
    contamination : "auto", float or dict, default="auto"
        Where `predict` draws the line. "auto": at the evidence that an ordinary row exceeds with
        a chance of 1 in 1,000, by an exponential tail through the median and the 90% quantile of
        the training evidence; more than 1% of the training rows are flagged only if they stand out from a
        log-normal tail too. A float: that share of the training rows is flagged. ``{"score": 0.95}``
        or ``{"evidence": 3.0}``: rows with a higher score or evidence.
    n_jobs : int, default=None
        Threads; None is one, -1 all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn's sake: nothing here is random.
    verbose : int or callable, default=0
        1 prints the progress of a fit; a callable is told ``(phase, done, total)``.

    Attributes
    ----------
    scores_ : ndarray of float
        The anomaly score δ of each training row; lazy for a Dask table.
    contexts_ : list of Context
        The anomalous contexts, most anomalous first.
    trees_ : list of Tree
        One tree per used column.
    columns_ : tuple of Column
        What became of each column.
    model_ : Model
        The fitted model behind it all.
    n_iter_ : int
        Rounds until convergence.
    offset_ : float
        The line that `predict` draws on `score_samples`.
    n_features_in_ : int
        Columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, when the table has names.

    Examples
    --------
    >>> import numpy as np
    >>> from admercs import ADMERCS
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> X = np.column_stack([x, 2 * x + rng.normal(scale=0.1, size=500)])
    >>> X[17] = [1.5, -1.5]                          # each value is common, the pair is not
    >>> model = ADMERCS().fit(X)
    >>> int(model.scores_.argmax())
    17
    >>> model.predict(X)[17]
    np.int64(-1)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "criterion": [StrOptions({"distribution", "variance", "paper"})],
        "max_depth": [Interval(Integral, 0, 64, closed="both")],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 0.5, closed="right"),
        ],
        "min_impurity_decrease": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "likelihood": [StrOptions({"area", "paper"})],
        "rho": [Interval(Real, 0, 1, closed="neither")],
        "gamma_delta": [Interval(Real, 0, 1, closed="right")],
        "gamma_lambda": [Interval(Real, 0, 1, closed="right")],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "feedback": [StrOptions({"relative", "centred", "paper"})],
        "max_bins": [StrOptions({"exact"}), Interval(Integral, 2, 254, closed="both")],
        "nominal": [StrOptions({"auto"}), list, tuple, np.ndarray],
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right"), dict],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose", callable],
    }

    def __init__(
        self,
        *,
        criterion: str = "distribution",
        max_depth: int = 10,
        min_samples_leaf: float = 0.02,
        min_impurity_decrease: float | str = "auto",
        likelihood: Literal["area", "paper"] = "area",
        rho: float = 0.9,
        gamma_delta: float = 0.9,
        gamma_lambda: float = 0.5,
        n_iter: int = 20,
        tol: float = 1e-6,
        feedback: str = "relative",
        max_bins: int | Literal["exact"] = 254,
        nominal: Literal["auto"] | Sequence[str | int] = "auto",
        contamination: str | float | dict[str, float] = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | Callable[[str, int, int], None] = 0,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.likelihood = likelihood
        self.rho = rho
        self.gamma_delta = gamma_delta
        self.gamma_lambda = gamma_lambda
        self.n_iter = n_iter
        self.tol = tol
        self.feedback = feedback
        self.max_bins = max_bins
        self.nominal = nominal
        self.contamination = contamination
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, benchmark: str, **overrides: Any) -> Self:
        """Return a detector with the parameters the paper selected for a benchmark.

        Parameters
        ----------
        benchmark : {"Campos", "CamposHD", "HiCS", "Synth-C", "Synth-C&S", "Synth-I"}
            The benchmark.
        **overrides : dict
            Other parameters.

        Examples
        --------
        >>> from admercs import ADMERCS
        >>> ADMERCS.paper("HiCS").min_impurity_decrease
        0.5
        """
        if benchmark not in PAPER_PARAMETERS:
            known = ", ".join(PAPER_PARAMETERS)
            raise ValueError(f"unknown benchmark {benchmark!r}; the paper has {known}")
        return cls(**{**PAPER_PARAMETERS[benchmark], **overrides})

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what is normal in a table.

        Parameters
        ----------
        X : table of n rows and m columns
            A numpy array, a pandas, polars or pyarrow table; numbers, text, categories, booleans, dates;
            values may be missing anywhere. A Dask DataFrame is fitted on the active cluster, to the same model.
        y : ignored
            There for scikit-learn's sake.

        Returns
        -------
        self : ADMERCS
        """
        self._validate_params()
        if is_dask(X):
            return self._fit_on_cluster(X)
        frame = read_frame(X)
        schema = learn_schema(summarise(frame, self.nominal))
        table = prepare(frame, schema)
        fitted = fit_model(table, schema, self._fit_settings(), progress_printer(self.verbose))
        self.model_ = fitted.model
        self.scores_ = -np.expm1(-fitted.evidence)
        self.n_iter_ = fitted.n_iter
        self.offset_ = -self._threshold(partial(np.quantile, fitted.evidence))
        self._remember_features(frame.names, frame.has_names)
        return self

    def _fit_on_cluster(self, X: Any) -> Self:
        from admercs.distributed.fit import fit_on_cluster

        fitted = fit_on_cluster(
            X, self.nominal, self._fit_settings(), self._threshold, progress_printer(self.verbose)
        )
        self.model_ = fitted.model
        self.n_iter_ = fitted.n_iter
        self.offset_ = -fitted.threshold
        self._remember_features(fitted.model.schema.names, fitted.has_names)
        self.scores_ = self.anomaly_score(X)
        return self

    def _fit_settings(self) -> FitSettings:
        judging = Settings(
            self.likelihood, self.rho, self.gamma_delta, self.gamma_lambda, self.feedback
        )
        trees = TreeSettings(
            self.criterion, self.max_depth, self.min_samples_leaf, self.min_impurity_decrease,
            purest_scores=self.likelihood == "paper",
        )  # fmt: skip
        return FitSettings(
            trees=trees,
            judging=judging,
            n_iter=self.n_iter,
            tol=self.tol,
            max_bins=self.max_bins,
            n_jobs=self._threads(),
        )

    def _threshold(self, quantiles: Quantiles) -> float:
        """Return the evidence from which a row is flagged."""
        if self.contamination == "auto":
            return threshold_from(quantiles)
        if isinstance(self.contamination, dict):
            return _stated_threshold(self.contamination)
        share: float = self.contamination
        return float(quantiles(np.array([1 - share]))[0])

    def _remember_features(self, names: list[str], has_names: bool) -> None:
        self.n_features_in_ = len(names)
        if has_names:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _prepare(self, X: Any) -> Prepared:
        check_is_fitted(self)
        return prepare(read_frame(X), self.model_.schema)

    def _judge(self, X: Any, finish: Callable[[NDArray[np.float64]], Any], name: str) -> Any:
        """Return what `finish` makes of the evidence; for a Dask table a lazy series."""
        check_is_fitted(self)
        if is_dask(X):
            from admercs.distributed.scoring import lazy_scores

            return lazy_scores(self.model_, X, finish, name)
        return finish(judge_evidence(self.model_, self._prepare(X), self._threads()))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return log(1 − δ) of each row: 0 is perfectly normal, lower is more anomalous.

        Parameters
        ----------
        X : table
            Rows with the columns seen in `fit`, in any order if they have names.

        Returns
        -------
        scores : ndarray of float64
            For a Dask table a lazy series with its index and partitions, as with all scores below.
        """
        return self._judge(X, np.negative, "score")

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Return the anomaly score δ of each row, between 0 and 1."""
        return self._judge(X, _delta, "anomaly_score")

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return `score_samples` minus `offset_`: negative for anomalies."""
        check_is_fitted(self)
        return self._judge(X, partial(_decision, self.offset_), "decision")

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return +1 for normal rows and -1 for anomalies."""
        check_is_fitted(self)
        return self._judge(X, partial(_verdict, self.offset_), "prediction")

    def score_cells(self, X: Any) -> NDArray[np.float64]:
        """Return the evidence that each column's views contribute, rows x columns.

        The sum over a row is exactly ``-score_samples``. Columns that were set aside contribute nothing.
        """
        check_is_fitted(self)
        if is_dask(X):
            from admercs.distributed.scoring import lazy_cells

            return lazy_cells(self.model_, X)
        return judge_cells(self.model_, self._prepare(X), self._threads())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted detector to one file, without pickle.

        The training scores are not part of it: its size does not grow with the table.
        """
        check_is_fitted(self)
        parameters = {**self.get_params(), "verbose": 0, "random_state": None}
        parameters["nominal"] = self.nominal if self.nominal == "auto" else list(self.nominal)
        names = getattr(self, "feature_names_in_", None)
        extra = {
            "parameters": parameters,
            "offset": self.offset_,
            "n_iter": self.n_iter_,
            "n_features_in": self.n_features_in_,
            "feature_names_in": None if names is None else list(names),
        }
        save_model(path, self.model_, extra)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a detector written by `save`; nothing in the file is executed."""
        model, extra = load_model(path)
        detector = cls(**extra["parameters"])
        detector.model_ = model
        detector.offset_ = extra["offset"]
        detector.n_iter_ = extra["n_iter"]
        detector.n_features_in_ = extra["n_features_in"]
        if extra["feature_names_in"] is not None:
            detector.feature_names_in_ = np.asarray(extra["feature_names_in"], dtype=object)
        return detector

    def _threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    @property
    def columns_(self) -> tuple[Column, ...]:
        """What became of each column."""
        return self._fitted("columns_").schema.columns

    @property
    def trees_(self) -> list[Tree]:
        """One tree per used column."""
        model = self._fitted("trees_")
        return [Tree(model.forest, model.schema.used, m) for m in range(model.forest.n_trees)]

    def _fitted(self, name: str) -> Model:
        """Return the model, or say in scikit-learn's way that there is no such attribute yet."""
        if not hasattr(self, "model_"):
            raise AttributeError(f"{type(self).__name__} is not fitted yet: it has no {name!r}")
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


# Plain functions, so that workers can be sent them.
def _delta(evidence: NDArray[np.float64]) -> NDArray[np.float64]:
    return -np.expm1(-evidence)


def _decision(offset: float, evidence: NDArray[np.float64]) -> NDArray[np.float64]:
    return -evidence - offset


def _verdict(offset: float, evidence: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.where(_decision(offset, evidence) < 0, -1, 1)


def _stated_threshold(contamination: dict[str, float]) -> float:
    """Return the evidence behind ``{"score": s}`` or ``{"evidence": e}``."""
    if list(contamination) == ["score"] and 0 <= contamination["score"] < 1:
        return float(-np.log1p(-contamination["score"]))
    if list(contamination) == ["evidence"] and contamination["evidence"] >= 0:
        return float(contamination["evidence"])
    raise ValueError(
        'contamination as a dict is {"score": s} with 0 <= s < 1 or {"evidence": e} with e >= 0; '
        f"it is {contamination!r}"
    )
