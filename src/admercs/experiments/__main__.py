"""``python -m admercs.experiments``."""

import sys

from admercs.experiments.command import main

if __name__ == "__main__":
    sys.exit(main())
