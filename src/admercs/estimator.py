"""`ADMERCS`: the scikit-learn face of the detector."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from admercs.arrays import Floats, Ints
from admercs.explain.explain_mixin import is_dask
from admercs.facets import prepare
from admercs.method.settings import Flagging, Method
from admercs.method.threshold import (
    Quantiles,
    automatic_threshold,
    stated_threshold,
    suspicious_from,
)
from admercs.pipeline.cross_fit import with_unseen_evidence
from admercs.pipeline.fit import Fitted, fit_model
from admercs.pipeline.model import Model
from admercs.pipeline.model_file import ModelFileError, load_model, save_model
from admercs.pipeline.rows import RowsInMemory
from admercs.pipeline.score import score_cells, score_evidence, score_values
from admercs.progress import progress_printer
from admercs.report.report import ReportMixin
from admercs.table import Column, read_frame
from admercs.table.readings import ReadingRules
from admercs.table.summary import text_category

__all__ = ["ADMERCS", "ModelFileError"]

_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
_LINES = ("offset", "suspicious_line", "value_line")


class ADMERCS(ReportMixin, OutlierMixin, BaseEstimator):
    """Finds anomalous rows of a table and says why.

    One decision tree per column predicts it from the others. Each leaf is a context with its own
    idea of what is normal. A row that breaks the patterns of its contexts is anomalous, and a
    context full of anomalous rows becomes anomalous itself.

    Parameters
    ----------
    method : Method, default=None
        All settings of the method and of its steps; None is ``Method()``. Steps are left out by
        ``replace(Method(), border=None)``.
    max_depth : int, default=None
        The most conditions on the path to a leaf; None: as in `method` (10).
    min_samples_leaf : float or int, default=None
        The smallest leaf, as a share of the table (float) or in rows (int); None: as in `method`
        (0.02, and at least 5 rows).
    max_bins : int or "exact", default=None
        Bins per numeric column between which thresholds are searched; "exact" tries every distinct
        value. None: as in `method` (254).
    n_iter : int, default=None
        The most rounds of scoring rows and contexts in turn; with 1 no context is anomalous, and
        rows are not compared with those most like them. None: as in `method` (20).
    nominal : "auto" or list of str or int, default="auto"
        Columns (names, or positions for an array) to be treated as nominal though they hold
        numbers. Text, categories and booleans always are.
    contamination : "auto", float or dict, default="auto"
        Where `predict` draws the line. "auto": at the evidence that an ordinary row exceeds with
        a chance of 1 in 500, by the tail of the training evidence; no more than 1% of the training
        rows are flagged unless they stand out from the rest. A float: that share of the
        training rows is flagged. ``{"score": 0.95}`` or ``{"evidence": 3.0}``: rows with a higher
        score or evidence.
    novelty : bool, default=False
        Whether the training rows are known to be normal and new rows are asked about. Then nothing
        in the training table is distrusted, and the line that `predict` draws follows from rows
        that were not trained on (cross-fitting in five folds, in memory).
    missing : list of str or numbers, default=None
        What stands for a missing value in this table and in all later ones, such as ``[-99]``. In
        texts that are to be numbers or dates, the usual texts do so besides, such as ``"NA"``.
    decimal : {".", ","}, default=None
        The sign before the decimals of numbers that are texts. None: decided for each column.
    dayfirst : bool, default=None
        Whether ``"03/04/2021"`` is in April. None: decided for each column.
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
    relations_ : list of Relation
        The equations and orders between columns.
    columns_ : tuple of Column
        What became of each column.
    model_ : Model
        The fitted model behind it all.
    n_iter_ : int
        Rounds until convergence.
    offset_ : float
        The line that `predict` draws on `score_samples`.
    suspicious_line_ : float
        The evidence from which a row is suspicious. With ``contamination="auto"`` it may be lower
        than that from which a row is flagged: no more than 1% are, unless they stand out.
    value_line_ : float
        The line that `predict_cells` draws on the evidence of a value.
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
        "method": [Method, None],
        "max_depth": [Interval(Integral, 0, 64, closed="both"), None],
        "min_samples_leaf": [_AT_LEAST_ONE, Interval(Real, 0, 0.5, closed="right"), None],
        "max_bins": [StrOptions({"exact"}), Interval(Integral, 2, 254, closed="both"), None],
        "n_iter": [_AT_LEAST_ONE, None],
        "nominal": [StrOptions({"auto"}), list, tuple, np.ndarray],
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right"), dict],
        "novelty": ["boolean"],
        "missing": [list, tuple, None],
        "decimal": [StrOptions({".", ","}), None],
        "dayfirst": ["boolean", None],
        "n_jobs": [
            Interval(Integral, 1, 4096, closed="both"),
            Interval(Integral, -4096, -1, closed="both"),
            None,
        ],
        "random_state": ["random_state"],
        "verbose": ["verbose", callable],
    }

    def __init__(
        self,
        *,
        method: Method | None = None,
        max_depth: int | None = None,
        min_samples_leaf: float | None = None,
        max_bins: int | Literal["exact"] | None = None,
        n_iter: int | None = None,
        nominal: Literal["auto"] | Sequence[str | int] = "auto",
        contamination: str | float | dict[str, float] = "auto",
        novelty: bool = False,
        missing: Sequence[str | float] | None = None,
        decimal: Literal[".", ","] | None = None,
        dayfirst: bool | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | Callable[[str, int, int], None] = 0,
    ) -> None:
        self.method = method
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.n_iter = n_iter
        self.nominal = nominal
        self.contamination = contamination
        self.novelty = novelty
        self.missing = missing
        self.decimal = decimal
        self.dayfirst = dayfirst
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, benchmark: str, **parameters: Any) -> Self:
        """Return a detector with the settings the paper selected for a benchmark.

        Parameters
        ----------
        benchmark : {"Campos", "CamposHD", "HiCS", "Synth-C", "Synth-C&S", "Synth-I"}
            The benchmark.
        **parameters : dict
            Other parameters of the detector.

        Examples
        --------
        >>> from admercs import ADMERCS
        >>> ADMERCS.paper("HiCS").method.trees.min_impurity_decrease
        0.5
        """
        return cls(method=Method.paper(benchmark), **parameters)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what is normal in a table.

        Parameters
        ----------
        X : table of n rows and m columns
            A numpy array, a pandas, polars or pyarrow table; numbers, text, categories, booleans,
            dates; values may be missing anywhere. A Dask DataFrame is fitted on the active cluster.
        y : ignored
            There for scikit-learn's sake.

        Returns
        -------
        self : ADMERCS
        """
        self._validate_params()
        if isinstance(self.contamination, dict):
            stated_threshold(self.contamination)  # an error now rather than after the fit
        progress = progress_printer(self.verbose)
        if is_dask(X):
            from admercs.pipeline.cluster_run import ClusterRun
            from admercs.pipeline.dask_rows import RowsOnDask
            from admercs.pipeline.local_cluster import some_client

            with some_client() as client, ClusterRun(client, X, progress) as run:
                fitted = fit_model(RowsOnDask(run), self._method(), self.nominal, self._rules())
                self._adopt_fitted(fitted)
            self.scores_ = self.anomaly_score(X)
            return self
        rows = RowsInMemory(read_frame(X), self._threads(), progress)
        fitted = fit_model(rows, self._method(), self.nominal, self._rules())
        if self.novelty:
            fitted = with_unseen_evidence(fitted, rows, self.nominal)
        self._adopt_fitted(fitted)
        self.scores_ = _delta(fitted.evidence[0])
        return self

    def _method(self) -> Method:
        """Return the method with the parameters that were given besides."""
        method = Method() if self.method is None else self.method
        if self.novelty:
            method = method.for_novelty()
        of_trees = {k: getattr(self, k) for k in ("max_depth", "min_samples_leaf", "max_bins")}
        method = method.change({f"trees.{k}": v for k, v in of_trees.items() if v is not None})
        method.check()
        if self.n_iter == 1:
            return replace(method, feedback=None, neighbours=None)
        if self.n_iter is not None and method.feedback is not None:
            return method.change({"feedback.n_iter": self.n_iter})
        return method

    def _rules(self) -> ReadingRules:
        """Return what the user knows of how texts are to be read."""
        missing = tuple(map(text_category, self.missing or ()))
        return ReadingRules(missing, self.decimal, self.dayfirst)

    def _adopt_fitted(self, fitted: Fitted) -> None:
        flagging = fitted.model.method.flagging
        n_rows = fitted.model.n_rows
        threshold = self._threshold(fitted.quantiles, flagging, n_rows)
        is_automatic = self.contamination == "auto"
        lines = {
            "offset": -threshold,
            "suspicious_line": min(threshold, suspicious_from(fitted.quantiles, flagging))
            if is_automatic
            else threshold,
            "value_line": automatic_threshold(fitted.value_quantiles, flagging, n_rows),
        }
        self._adopt(fitted.model, fitted.n_iter, lines)

    def _adopt(self, model: Model, n_iter: int, lines: dict[str, float]) -> Self:
        """Use a model from now on, be it fitted or read from a file."""
        self.model_, self.n_iter_ = model, n_iter
        self.offset_, self.suspicious_line_, self.value_line_ = (lines[name] for name in _LINES)
        self.n_features_in_ = len(model.schema.columns)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if model.schema.has_names:
            self.feature_names_in_ = np.asarray(model.schema.names, dtype=object)
        return self

    def _threshold(self, quantiles: Quantiles, flagging: Flagging, n_rows: int) -> float:
        """Return the evidence from which a row is flagged."""
        if self.contamination == "auto":
            return automatic_threshold(quantiles, flagging, n_rows)
        if isinstance(self.contamination, dict):
            return stated_threshold(self.contamination)
        return float(quantiles(np.array([1 - float(self.contamination)]))[0])

    def _score(self, X: Any, finish: Callable[[Floats], Any], name: str) -> Any:
        """Return what `finish` makes of the evidence; for a Dask table a lazy series."""
        check_is_fitted(self)
        if is_dask(X):
            from admercs.pipeline.dask_rows import lazy_scores

            return lazy_scores(self.model_, X, finish, name)
        table = prepare(read_frame(X), self.model_.schema)
        return finish(score_evidence(self.model_, table, self._threads()))

    def score_samples(self, X: Any) -> Floats:
        """Return log(1 − δ) of each row: 0 is perfectly normal, lower is more anomalous.

        `X` has the columns seen in `fit`, in any order if they have names. For a Dask table, all
        scores are lazy series with its index and partitions.
        """
        return self._score(X, np.negative, "score")

    def anomaly_score(self, X: Any) -> Floats:
        """Return the anomaly score δ of each row, between 0 and 1."""
        return self._score(X, _delta, "anomaly_score")

    def decision_function(self, X: Any) -> Floats:
        """Return `score_samples` minus `offset_`: negative for anomalies."""
        check_is_fitted(self)
        return self._score(X, partial(_decision, self.offset_), "decision")

    def predict(self, X: Any) -> Ints:
        """Return +1 for normal rows and -1 for anomalies."""
        check_is_fitted(self)
        return self._score(X, partial(_prediction, self.offset_), "prediction")

    def score_cells(self, X: Any) -> Floats:
        """Return the evidence of each column, rows x columns; rows add up to ``-score_samples``."""
        check_is_fitted(self)
        if is_dask(X):
            from admercs.pipeline.dask_rows import lazy_cells

            return lazy_cells(self.model_, X)
        table = prepare(read_frame(X), self.model_.schema)
        return score_cells(self.model_, table, self._threads())

    def predict_cells(self, X: Any) -> Any:
        """Return whether each value is flagged, rows x columns.

        A value is flagged if its own evidence is above `value_line_`. That line is drawn through
        the oddest values of all training rows as the line for rows is: of the ordinary rows, fewer
        than 1 in 100 have a flagged value.
        """
        check_is_fitted(self)
        if is_dask(X):
            from admercs.pipeline.dask_rows import lazy_cells

            return lazy_cells(self.model_, X, self.value_line_)
        table = prepare(read_frame(X), self.model_.schema)
        return score_values(self.model_, table, self._threads()) > self.value_line_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted detector to one file, without pickle and without training scores."""
        check_is_fitted(self)
        self._validate_params()
        parameters = {**self.get_params(), "verbose": 0, "random_state": None}
        parameters["method"] = None if self.method is None else self.method.to_dict()
        parameters["nominal"] = self.nominal if self.nominal == "auto" else list(self.nominal)
        parameters["missing"] = self.missing and list(self._rules().missing)
        extra = {"parameters": parameters, "n_iter": self.n_iter_}
        extra |= {name: getattr(self, f"{name}_") for name in _LINES}
        save_model(path, self.model_, extra)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a detector written by `save`; nothing in the file is executed."""
        model, extra = load_model(path)
        given = extra["parameters"]["method"]
        method = None if given is None else Method.from_dict(given)
        detector = cls(**{**extra["parameters"], "method": method})
        try:
            detector._validate_params()
        except ValueError as error:
            raise ModelFileError(f"{path} is damaged ({error}). Save the model again.") from error
        return detector._adopt(model, extra["n_iter"], extra)

    def _threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    @property
    def columns_(self) -> tuple[Column, ...]:
        """What became of each column."""
        check_is_fitted(self)
        return self.model_.schema.columns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = tags.input_tags
        given.allow_nan = given.string = given.categorical = True
        return tags


# Plain functions, so that workers can be sent them.
def _delta(evidence: Floats) -> Floats:
    return -np.expm1(-evidence)


def _decision(offset: float, evidence: Floats) -> Floats:
    return -evidence - offset


def _prediction(offset: float, evidence: Floats) -> Ints:
    return np.where(_decision(offset, evidence) < 0, -1, 1)
