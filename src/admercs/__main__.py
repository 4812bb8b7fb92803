"""``python -m admercs``."""

from __future__ import annotations

import sys

from admercs.cli import main

if __name__ == "__main__":
    sys.exit(main())
