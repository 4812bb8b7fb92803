"""The densities: how likely a value is in its context (method, step 2)."""
