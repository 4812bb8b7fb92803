"""The trees: one per column, grown from shared histograms (method, step 1)."""
