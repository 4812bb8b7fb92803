# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Debian's Chromium, for the tests of the report in a real browser.
CHROMIUM := $(firstword $(wildcard /usr/bin/chromium /usr/bin/chromium-browser))

.PHONY: demo test lint speed ablation oddbench wrong-values dirty flagged ceiling explanations \
	reproduce experiments browser elki spark scale fuzz bounds clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# A stamp per extra: reinstalled when pyproject.toml changes, and never otherwise.
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@

demo: $(VENV)/.installed-cli
	$(BIN)/admercs demo --out demo

test: $(VENV)/.installed-test lint
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

speed explanations: $(VENV)/.installed-benchmark
	$(BIN)/python benchmarks/$@.py

ablation oddbench dirty flagged ceiling: $(VENV)/.installed-experiments
	$(BIN)/python benchmarks/$@.py

wrong-values: $(VENV)/.installed-benchmark
	$(BIN)/python benchmarks/wrong_values.py --errors all

reproduce: $(VENV)/.installed-experiments
	$(BIN)/admercs reproduce --out reproduction $(if $(wildcard ../shared/data),--data ../shared/data)

# A complete run with the untuned defaults, and docs/experiments.md from it.
experiments: $(VENV)/.installed-experiments
	$(BIN)/admercs reproduce --defaults --out reproduction $(if $(wildcard ../shared/data),--data ../shared/data)
	$(BIN)/python benchmarks/experiments_page.py reproduction

# The report in a real browser: installs Debian's Chromium first.
browser: $(VENV)/.installed-test
	$(if $(CHROMIUM),,apt-get update && apt-get install --yes chromium)
	$(BIN)/python -m pytest tests/browser

# HiCS beside ELKI's own: installs Debian's ELKI, and leaves an index out of a copy of its jar that makes
# newer versions of Java overlook the other jars.
elki: $(VENV)/.installed-test
	$(if $(wildcard /usr/share/java/elki.jar),,apt-get update && apt-get install --yes elki)
	$(BIN)/python tests/baselines/copy_jar.py /usr/share/java/elki.jar $(VENV)/elki.jar
	ADMERCS_ELKI=$(VENV)/elki.jar:/usr/share/java/trove4j.jar $(BIN)/python -m pytest tests/baselines/test_hics_elki.py

# Scoring a Spark table with a saved model, in Spark's local mode: needs Java.
spark: $(VENV)/.installed-test $(VENV)/.installed-spark
	$(if $(shell command -v java),,@echo "Java is not installed: the tests of Spark will be skipped")
	ADMERCS_SPARK=1 $(BIN)/python -m pytest tests/spark

# Tables larger than a worker's memory on Dask: about ten minutes for all sizes.
scale: $(VENV)/.installed-dask
	$(BIN)/python benchmarks/scale.py

# Damaged files of models and tables, and random tables, in processes whose compiled code checks its bounds.
fuzz: $(VENV)/.installed-test
	$(BIN)/python -m tests.fuzz --files $(or $(FILES),2000) --headers $(or $(HEADERS),2000) --sources $(or $(SOURCES),2000) --tables $(or $(TABLES),2000)

# The tests at the lowest declared and at the newest versions of all dependencies, in environments of
# their own: `make bounds TESTS=tests/table`. Downloads about 3 GB.
bounds: $(BIN)/python
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/python tests/bounds.py $(TESTS)

clean:
	rm -rf $(VENV) .bounds demo
