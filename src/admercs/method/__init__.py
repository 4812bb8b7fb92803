"""The steps of the method: one module each, with what it learns and how it is applied."""
