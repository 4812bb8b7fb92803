"""Patterns are true, sorted and told once."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.datasets import make_electric_vehicles
from tests.explain.truth import Table, check_text, check_typical


def test_patterns_are_sorted_true_and_told_once() -> None:
    cars = make_electric_vehicles(0, as_frame="pandas").table
    model = ADMERCS().fit(cars)
    found = model.patterns(top=None)
    assert found
    in_contexts = found[len(model.relations_) :]
    strengths = [pattern.strength for pattern in in_contexts]
    assert strengths == sorted(strengths, reverse=True)
    assert model.patterns(top=3) == found[:3]
    table = Table(cars)
    for pattern in in_contexts:
        inside = table.members(pattern.conditions)
        assert len(inside) == pattern.n
        check_typical(pattern, [table.columns[pattern.target][row] for row in inside])
        check_text(pattern.text)
        json.dumps(pattern.to_dict(), allow_nan=False)
    with pytest.raises(ValueError, match="top must be"):
        model.patterns(top=-1)


def test_a_relation_is_one_pattern_seen_from_two_sides() -> None:
    rng = np.random.default_rng(0)
    kind = rng.choice(["cat", "dog"], 400)
    pets = pd.DataFrame({"kind": kind, "sound": np.where(kind == "cat", "meow", "woof")})
    found = ADMERCS().fit(pets).patterns(noun="pets")
    texts = sorted(pattern.text for pattern in found)
    assert len(texts) == 2
    assert all(len(pattern.also) == 1 for pattern in found)
    n = int((kind == "cat").sum())
    one = (
        f"Pets with sound = meow (n = {n}) typically have kind = cat (100%). "
        "Conversely, sound follows from kind."
    )
    other = (
        f"Pets with kind = cat (n = {n}) typically have sound = meow (100%). "
        "Conversely, kind follows from sound."
    )
    assert texts[0] in (one, other)
