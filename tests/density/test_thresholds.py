import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from admercs.density.thresholds import quantile_levels

levels = st.lists(
    st.tuples(st.integers(-5, 5).map(float), st.integers(0, 4).map(float)), max_size=30
)


def plain_quantile(pairs, rho):
    """Smallest level with more than 1 − ρ of the mass at or below it."""
    total = sum(mass for _, mass in pairs)
    if total == 0:
        return 0.0
    for level in sorted({level for level, mass in pairs if mass > 0}):
        below = sum(mass for other, mass in pairs if other <= level)
        if below > (1 - rho + 1e-9) * total:
            return level
    return max(level for level, mass in pairs if mass > 0)


@settings(max_examples=100, deadline=None)
@given(slots=st.lists(levels, min_size=1, max_size=3), rho=st.sampled_from([0, 0.5, 0.8, 0.9, 1]))
def test_it_is_the_quantile_of_a_plain_loop(slots, rho):
    ptr = np.cumsum([0] + [len(slot) for slot in slots])
    level, mass = np.array([pair for slot in slots for pair in slot]).reshape(-1, 2).T
    found = quantile_levels(ptr, np.ascontiguousarray(level), np.ascontiguousarray(mass), rho)
    assert found.tolist() == [plain_quantile(slot, rho) for slot in slots]


def test_large_random_samples():
    rng = np.random.default_rng(0)
    level = rng.normal(size=10_001)
    found = quantile_levels(np.array([0, 10_001]), level, np.ones(10_001), 0.9)
    assert found[0] == np.quantile(level, 0.1)
    assert np.mean(level >= found[0]) >= 0.9
