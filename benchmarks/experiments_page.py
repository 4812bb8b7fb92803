"""Put the results of a run of the experiments into docs/experiments.md.

    admercs reproduce --defaults --out reproduction
    python benchmarks/experiments_page.py reproduction

The page of results goes between two marks in the text, its figures beside it. `make experiments`
does both steps.
"""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
IMAGES = "images/experiments"


def insert(text: str, page: str) -> str:
    """Return a text with the page, without its title, between the marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise ValueError(f"the text has no {BEGIN} with {END} after it")
    body = page.split("\n", 1)[1].strip()
    # One level down: the page has a title of its own, the text around it another.
    body = re.sub(r"^(#+ )", r"#\1", body, flags=re.MULTILINE)
    body = body.replace("](figures/", f"]({IMAGES}/")
    return f"{before}{BEGIN}\n\n{body}\n\n{END}{after}"


def main() -> None:
    """Read the folder of a run, write the documentation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="what --out named")
    run = parser.parse_args().run
    page = (run / "index.md").read_text()
    target = DOCS / "experiments.md"
    target.write_text(insert(target.read_text(), page))
    shutil.rmtree(DOCS / IMAGES, ignore_errors=True)
    (DOCS / IMAGES).mkdir(parents=True)
    # Only what the page shows: the folder of a run may hold figures of earlier ones.
    for name in re.findall(r"\]\(figures/([^)]+)\)", page):
        shutil.copy(run / "figures" / name, DOCS / IMAGES)


if __name__ == "__main__":
    main()
