# The two commands of the README are `make study` and `make test`; both start from nothing but Python and make.
PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin

.PHONY: study test test-long lint types check measure docs bench fuzz coq clean help
.DEFAULT_GOAL := help

help:
	@echo "make study      install, then run the main study and leave its results in out/"
	@echo "make test       install with the test tools, then run all tests"
	@echo "make test-long  the sweeps that are too slow for every commit"
	@echo "make check      lint and types"
	@echo "make measure    size, imports and language of the repository, beside their targets"
	@echo "make docs       build the documentation site into site/, with warnings as errors"
	@echo "make bench      the benchmark tables"
	@echo "make coq        compile the Coq library and check its axioms (Debian: coq libcoq-coquelicot libcoq-mathcomp-ssreflect)"
	@echo "make fuzz       ten minutes of random damage, kills, files, pools and matrices; findings/ has what it finds"

# One stamp per set of dependencies: an install is redone only when pyproject.toml changes.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[dev]"
	@touch $@ $(VENV)/.run

study: $(VENV)/.run
	$(BIN)/exml study --out out

# Two workers, whole files each: a worker needs up to 900 MB, and more would compile the same inner loops side by side.
# Bytecode is kept: processes that tests start need not compile again.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

test: $(VENV)/.dev
	$(PYTEST)

test-long: $(VENV)/.dev
	HYPOTHESIS_PROFILE=sweep $(PYTEST) -m "long or not long"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

check: lint types

measure: $(VENV)/.run
	$(BIN)/python -m tools.measure_code --trace
	$(BIN)/python -m tools.measure_words

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

bench: $(VENV)/.dev
	$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[bench]"
	$(BIN)/python -m benchmarks.solver
	$(BIN)/python -m benchmarks.strategies
	$(BIN)/python -m benchmarks.rules
	$(BIN)/python -m benchmarks.shards
	$(BIN)/python -m benchmarks.bounds
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.scale --explore
	$(BIN)/python -m benchmarks.sweep
	$(BIN)/python -m benchmarks.practice
	$(BIN)/python -m benchmarks.pool_bounds
	$(BIN)/python -m benchmarks.confidence
	$(BIN)/python -m benchmarks.rounding

fuzz: $(VENV)/.dev
	$(BIN)/python -m fuzz

# Coq writes its files beside the sources, so it gets a copy.
coq: $(VENV)/.dev
	rm -rf build/coq
	mkdir -p build/coq
	cp theory/coq/*.v theory/coq/_CoqProject build/coq/
	cd build/coq && for file in $$(grep '\.v$$' _CoqProject); do coqc -q -w none -Q . Exml $$file || exit 1; done
	$(BIN)/python -m tools.check_coq build/coq

clean:
	rm -rf $(VENV) out findings site build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
