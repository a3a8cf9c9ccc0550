# The two commands of the README are `make study` and `make test`; both start from nothing but Python and make.
PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin

.PHONY: study test test-long test-slice lint types check measure docs bench mutate fuzz coq clean help
.DEFAULT_GOAL := help

help:
	@echo "make study      install, then run the main study and leave its results in out/"
	@echo "make test       install with the test tools, then run all tests"
	@echo "make test-long  the sweeps that are too slow for every commit"
	@echo "make check      lint and types"
	@echo "make measure    size, imports and language of the repository, beside their targets"
	@echo "make docs       build the documentation site into site/, with warnings as errors"
	@echo "make bench      the benchmark tables"
	@echo "make mutate     200 random changes of the core, which the tests must notice"
	@echo "make coq        compile the Coq library and check its axioms (Debian: coq libcoq-coquelicot libcoq-mathcomp-ssreflect)"
	@echo "make fuzz       ten minutes of random damage, kills, files, pools and matrices"

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

# One long test of each of six files, chosen at random; `make test-slice SEED=17` chooses them again.
SEED ?= $(eval SEED := $(shell date +%s))$(SEED)
test-slice: $(VENV)/.dev
	@echo "seed $(SEED)"
	$(BIN)/python -m pytest -q -n 0 -m long --collect-only | $(BIN)/python -c "import random, sys; \
	  names = [line.strip() for line in sys.stdin if '::' in line]; random.seed('$(SEED)'); random.shuffle(names); \
	  files = {name.partition('::')[0]: name for name in names}; print(*list(files.values())[:6], sep='\n')" \
	  | xargs -d '\n' env PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m long

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

# All tables are printed, also after one whose promise is broken. The whole benchmark of purchases takes hours, and the
# table of population bounds most of an hour: python -m benchmarks.practice --rotate, python -m benchmarks.pool_bounds.
BENCHMARKS := solver peers strategies rules shards bounds engine scale "scale --explore" sweep "practice --quick" \
  "pool_bounds --pool default" "confidence --quick" rounding forest

bench: $(VENV)/.dev
	$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[bench]"
	@broken=; for part in $(BENCHMARKS); do echo "\n## $$part"; \
	  $(BIN)/python -m benchmarks.$$part || broken="$$broken, $$part"; done; \
	  test -z "$$broken" || { echo "broken promises$$broken"; exit 1; }

# At least 92 % of 200 random changes of the core must fail the tests; survivors are printed.
mutate: $(VENV)/.dev
	$(BIN)/python -m tools.mutate

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
	rm -rf $(VENV) out site build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
