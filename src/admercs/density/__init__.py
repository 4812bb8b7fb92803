"""The densities: how likely a value is in its context (method, step 2)."""

from admercs.density.distributions import TargetDistributions
from admercs.density.fitting import fit_distributions, fit_likelihoods, likelihoods_at
from admercs.density.likelihoods import CONTINUOUS, DISCRETE, NOMINAL, Likelihoods
from admercs.density.lookup import judge_column
from admercs.density.sample import fit_sample
from admercs.density.typical import density_curve, typical_region, typical_values

__all__ = [
    "CONTINUOUS",
    "DISCRETE",
    "NOMINAL",
    "Likelihoods",
    "TargetDistributions",
    "density_curve",
    "fit_distributions",
    "fit_likelihoods",
    "fit_sample",
    "judge_column",
    "likelihoods_at",
    "typical_region",
    "typical_values",
]
