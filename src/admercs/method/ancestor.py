"""Ancestor view: a leaf that is a small part of a context above it is also scored by that context.

A split may have put anomalies into a leaf of their own kind, where nothing is odd about them.
"""

from __future__ import annotations

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Floats, Ints
from admercs.arrays import ShortInts as Nodes
from admercs.density.likelihoods import Likelihoods
from admercs.density.lookup import in_groups, make_ready
from admercs.method.tail import LoneValues, read_lowered
from admercs.method.views import ANCESTOR, BlockViews


def find_ancestors(parent: Nodes, feature: Nodes, n: Ints, share: float) -> Nodes:
    """Return for each leaf the nearest context above of which it is a small part, or -1.

    The root is not among them: the whole table scores every row anyway.
    """
    ancestor = np.full(len(parent), -1, np.int32)
    for leaf in np.flatnonzero(feature < 0):
        above = parent[leaf]
        while above >= 0 and n[leaf] >= share * n[above]:
            above = parent[above]
        if above >= 0 and parent[above] >= 0:
            ancestor[leaf] = above
    return ancestor


class AncestorStep:
    """Lowers log ω of values that an ancestor finds odder than leaf and table do."""

    def __init__(
        self, ancestor: Nodes, roots: Nodes, likelihoods: Likelihoods, lone: LoneValues | None,
        odds: float,
    ) -> None:  # fmt: skip
        self._lone, self._odds, self._has = lone, odds, ancestor >= 0
        trees = np.unique(roots, return_inverse=True)[1]
        self._trees = np.unique(trees[self._has])
        # A leaf without an ancestor is looked up in its root, and the answer is not used.
        nodes = np.where(self._has, ancestor, roots)
        self._likelihoods = make_ready(likelihoods._replace(slot=likelihoods.slot[nodes]))

    def apply(self, views: BlockViews) -> None:
        """Lower ``views.log_omega`` where the ancestor's evidence is the strongest."""
        for group, first in in_groups(self._likelihoods, self._trees, views.block.shape[1]):
            leaf, x = views.leaf[group].ravel(), views.block[group].ravel()
            so_far, marginal = views.log_omega[group].ravel(), views.marginal[group].ravel()
            speaker = views.speaker[group].ravel()
            there = read_lowered(self._lone, self._likelihoods, first, leaf, x)
            odder, least = np.empty(len(leaf), np.int64), np.empty(len(leaf))
            n = list_odder(there, so_far, marginal, leaf, self._has, self._odds, odder, least)
            there = discount(there[:n], self._odds)
            still = there < least[:n]
            odder = odder[:n][still]
            so_far[odder], speaker[odder] = there[still], ANCESTOR
            if not isinstance(group, slice):  # copies, and not the memory of the views
                shape = views.leaf[group].shape
                views.log_omega[group] = so_far.reshape(shape)
                views.speaker[group] = speaker.reshape(shape)


@kernel
def list_odder(there, own, marginal, leaf, has, odds, odder, least):  # type: ignore[no-untyped-def]
    """List the rows whose ancestors may find the value odder, discounted; return how many.

    Their values of `there` come first afterwards, and `least` is what leaf and table say of them.
    With u = −log ω, log(1 + a (e^u − 1)) is at most a u + u² / 8, as its second derivative is
    at most 1/4.
    """
    found = np.uint64(0)
    for i in range(np.uint64(len(there))):
        # Which rows these are cannot be predicted: each is written, and only some move on.
        view, so_far, whole = there[i], own[i], marginal[i]
        so_far = whole if whole < so_far else so_far
        odder[found], there[found], least[found] = i, view, so_far
        found += np.uint64((view * (odds - view / 8.0) < so_far) & has[np.uint64(leaf[i])])
    return np.int64(found)


def discount(log_omega: Floats, odds: float) -> Floats:
    """Return the log ω that has, by the usual odds, the evidence of this one by `odds` of them."""
    return -np.log1p(odds * np.expm1(-log_omega))


def undiscount(log_omega: Floats, odds: float) -> Floats:
    """Return what `discount` was given."""
    return -np.log1p(np.expm1(-log_omega) / odds)
