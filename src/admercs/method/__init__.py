"""The steps of the method: each with its settings, what it learns and how it is applied."""
