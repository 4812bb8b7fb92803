"""Evidence of rows that were not trained on: the table is cut into folds, each scored by the rest.

Training rows lie where the densities were estimated, so their evidence is lower than that of new
rows of the same kind. Where all training rows are normal, a threshold for new rows follows from
the cross-fitted evidence.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from admercs.facets import prepare
from admercs.method.neighbours import draw_lots
from admercs.pipeline.fit import Fitted, fit_model
from admercs.pipeline.model import QUANTILE_LEVELS
from admercs.pipeline.rows import RowsInMemory
from admercs.pipeline.score import score_evidence


def with_unseen_evidence(fitted: Fitted, rows: RowsInMemory, nominal: Any) -> Fitted:
    """Replace the quantiles of the training evidence by those of cross-fitted evidence."""
    frame, n_jobs, method = rows.frame, rows.n_jobs, fitted.model.method
    rules, settings = fitted.model.schema.rules, method.flagging
    if frame.n_rows < settings.fold_rows:
        return fitted
    # Folds follow from the content of the rows: their order does not matter.
    fold = draw_lots(rows.table.block(0, frame.n_rows)) % np.uint64(settings.folds)
    evidence = np.empty(frame.n_rows)
    for k in range(settings.folds):
        held_back = np.flatnonzero(fold == k)
        if not len(held_back):
            continue
        rest = RowsInMemory(frame.take(np.flatnonzero(fold != k)), n_jobs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # columns set aside were told before
            model = fit_model(rest, method, nominal, rules).model
        unseen = prepare(frame.take(held_back), model.schema)
        evidence[held_back] = score_evidence(model, unseen, n_jobs)
    model = replace(fitted.model, evidence_quantiles=np.quantile(evidence, QUANTILE_LEVELS))
    return replace(fitted, model=model, quantiles=partial(np.quantile, evidence))
