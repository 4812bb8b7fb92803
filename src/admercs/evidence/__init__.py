"""The evidence: rows and contexts inform each other (method, step 3)."""
