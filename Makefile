# make run    a virtual environment with the base package, then the main job
# make test   adds the extras to the same environment, then lint, types and all tests
# make quick  a verdict within a minute: lint, types, and the tests that are neither slow nor need
#             a browser or a cluster
# make benchmark  what docs/performance.md says, and ratios against the committed ones
# make docs   the site, warnings as errors, into docs/_site
# make coverage, make lock: what docs/project/quality.md shows
# make verify every script of verification/ at its smallest, which tests run, too
# The first that is new enough; `python3` if none is, to be refused below.
PYTHONS := python3.11 python3 python3.12 python3.13 python3.14
IS_NEW  := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON  ?= $(shell for p in $(PYTHONS); do $$p -c '$(IS_NEW)' 2>/dev/null && command -v $$p && exit; done; echo python3)
VENV   := .venv
BIN    := $(VENV)/bin
# Modules are compiled when they are imported, not all that is installed beforehand: half the time.
# And kept, whatever the shell says: the environment is make's own, and anew it takes seconds per start.
unexport PYTHONDONTWRITEBYTECODE
# Files stay together, and in the order of tests/conftest.py, which begins with those that take long.
SPREAD := -n 2 --dist loadfile --no-loadscope-reorder
PIP    := pip install --quiet --disable-pip-version-check --no-compile

.PHONY: run test quick lint types unit docs coverage lock verify benchmark clean

run: $(VENV)/.base
	$(BIN)/dnatrace run --out runs
	@echo "Next: . $(BIN)/activate && dnatrace --help"

test: lint types unit

quick: lint types
	$(BIN)/pytest -q $(SPREAD) -m "not slow and not browser and not cluster"

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

unit: $(VENV)/.dev
	$(BIN)/pytest $(SPREAD)

docs: $(VENV)/.dev
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_site
	@echo "Read it: docs/_site/index.html"

coverage: $(VENV)/.dev
	$(BIN)/pytest -q $(SPREAD) -m "not slow and not browser and not cluster" \
	  --cov=dnatrace --cov-report=json:.coverage.json
	$(BIN)/python -m docs.tools.coverage .coverage.json

lock: $(VENV)/.dev
	$(BIN)/python -m docs.tools.lock

verify: $(VENV)/.dev
	$(BIN)/pytest tests/test_verification.py

benchmark: $(VENV)/.dev
	$(BIN)/python -m benchmarks.all

$(BIN)/python:
	@$(PYTHON) -c '$(IS_NEW)' || \
	  { echo "make: needs Python 3.11 or later, found: $(PYTHON); make PYTHON=/path/to/python" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(BIN)/$(PIP) --editable .
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/$(PIP) --editable '.[dev]'
	touch $(VENV)/.base $@

clean:
	rm -rf $(VENV) dist docs/_site .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
