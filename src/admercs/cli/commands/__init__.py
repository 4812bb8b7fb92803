"""The commands, one module each with a ``run(options)``."""
