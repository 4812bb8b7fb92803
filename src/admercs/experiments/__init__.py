"""The paper's experiments: benchmarks, peers, evaluation and pages of results."""
