"""The paper's experiments: benchmarks, peers, evaluation and pages of results."""

from admercs.experiments.command import reproduce

__all__ = ["reproduce"]
