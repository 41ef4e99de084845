# Everything a fresh machine needs is set up by these targets; the only things taken for granted
# are Python 3.11+, make and access to PyPI (and apt, for Java, when Spark is first needed).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.demo-ready
DOCS_READY := $(VENV)/.docs-ready
EXTRAS := broker,postgresql,pipeline,web,feeds,demo,docs,dev
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Processes that share the tests; without a number, a few more than there are cores.
N ?= auto
# Tests start many processes, which shall not all compile the same sources.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest --numprocesses $(N) --dist loadscope --no-loadscope-reorder --durations 10

.PHONY: help setup demo docs check test test-slow test-properties conformance format clean

help:  ## show this list
	@grep -hE '^[a-z-]+%?:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(READY)  ## virtual environment with the product, the lab and pinned dependencies

$(READY): pyproject.toml lab/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e ".[$(EXTRAS)]" -e "lab[peers]"
	@touch $@

# The demo alone needs less than half of that, and compiles only what it uses: nobody shall wait.
$(DEMO_READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --no-compile -e ".[demo]"
	@touch $@

demo: $(if $(wildcard $(READY)),$(READY),$(DEMO_READY))  ## a whole city on this machine, with its map
	tools/system-packages java
	$(BIN)/zonal demo $(DEMO)

# Nothing of the program itself is imported for it.
$(DOCS_READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e ".[docs]"
	@touch $@

docs: $(if $(wildcard $(READY)),$(READY),$(DOCS_READY))  ## the documentation as a site, in out/site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "out/site/index.html"

check: $(READY)  ## ruff, formatting, mypy --strict, import layers, the rules of the house
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_house.py

test: $(READY)  ## all tests but the slow ones, in parallel (N=1: one after the other)
	tools/system-packages test
	$(PYTEST) -m "not slow"

test-slow: $(READY)  ## the slow extras
	tools/system-packages test
	$(PYTEST) -m slow

test-properties: $(READY)  ## every property with many more examples, other ones each time
	tools/system-packages test
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m "hypothesis and not slow" --timeout 1800

conformance: $(READY)  ## MQTT's statements, as packets, against our broker and Mosquitto
	tools/system-packages test
	$(BIN)/python tools/conformance.py

bench-%: $(READY)  ## a benchmark: human lines, then one JSON line (bench-session, …)
	$(BIN)/python benchmarks/bench_$*.py $(BENCH)

format: $(READY)  ## apply the formatter and the safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove what the other targets made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache out
