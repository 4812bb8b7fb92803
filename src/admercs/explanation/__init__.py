"""The explanations: reasons in words that add up to the score (method, step 4)."""
