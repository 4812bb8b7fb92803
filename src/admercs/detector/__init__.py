"""The detector: a fitted model, and how it is fitted, scored and kept."""
