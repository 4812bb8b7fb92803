"""HiCS agrees with ELKI's: with scores recorded from it, and with ELKI itself where asked.

The recorded scores come from Debian's ELKI 0.7.1 (``-algorithm outlier.meta.HiCS -lof.k 20
-hics.seed 0``) on the tables of ``planted``. To run ELKI anew, name its jar files, separated by
colons, in the variable ``ADMERCS_ELKI``; ``make elki`` does that.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import planted
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from admercs.baselines import HiCS
from admercs.baselines.subspaces import find_subspaces

HERE = Path(__file__).parent
ELKI = os.environ.get("ADMERCS_ELKI")


def run_elki(X, folder, seed):
    """Return ELKI's score of every row."""
    np.savetxt(folder / "rows.csv", X, fmt="%.6f")
    main = "de.lmu.ifi.dbs.elki.application.KDDCLIApplication"
    options = (
        f"-dbc.in {folder / 'rows.csv'} -algorithm outlier.meta.HiCS -lof.k 20 -hics.seed {seed} "
        f"-evaluator NoAutomaticEvaluation -resulthandler ResultWriter -out {folder / 'out'}"
    )
    subprocess.run(["java", "-cp", ELKI, main, *options.split()], check=True, timeout=600)
    scores = np.empty(len(X))
    for line in (folder / "out" / "HiCS-outlier_order.txt").read_text().splitlines():
        words = line.split()
        scores[int(words[0].removeprefix("ID=")) - 1] = float(words[-1].split("=")[1])
    return scores


def assert_agreement(name, theirs):
    X, odd = planted.make(name)
    model = HiCS(20, random_state=0).fit(X)
    assert spearmanr(-model.scores_, theirs)[0] > 0.95
    assert roc_auc_score(odd, -model.scores_) == pytest.approx(roc_auc_score(odd, theirs), abs=0.03)
    return model


@pytest.mark.parametrize("name", planted.SETS)
def test_recorded_scores(name):
    theirs = np.loadtxt(HERE / "elki" / f"{name}.txt")
    model = assert_agreement(name, theirs)
    # ELKI adds up what is averaged here: the sums agree to the last recorded digit.
    mine = -model.scores_ * len(model.subspaces_)
    np.testing.assert_allclose(mine, theirs, rtol=1e-5)


@pytest.mark.skipif(not ELKI, reason="ADMERCS_ELKI does not name ELKI's jar files")
@pytest.mark.parametrize("name", planted.SETS)
def test_live(name, tmp_path):
    assert_agreement(name, run_elki(planted.make(name)[0], tmp_path, seed=1))


def test_keeping_prefixes_apart_lists_more():
    X, _ = planted.make("three_lines")
    listed = {s.columns for s in find_subspaces(X)}
    apart = {s.columns for s in find_subspaces(X, prefix_is_same=False)}
    assert listed == {(4, 5), (0, 1, 2, 3), (0, 1, 4, 5), (2, 3, 4, 5)}
    assert {(0, 1), (2, 3), (4, 5)} <= apart
