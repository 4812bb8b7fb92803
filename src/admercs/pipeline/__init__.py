"""Fitting and scoring: the order of the steps, written once for any kind of rows."""
