# Every target sets up what it needs and redoes only what changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PACKAGE := provider/keygroups
JARS := $(PACKAGE)/jars
JAR := $(JARS)/keygroups-spark4.3_2.13.jar
# The older Spark, beside the one in .venv: its jars to compile against, its Python to test with.
OLDER := build/pyspark-4.2.0
OLDER_JAR := $(JARS)/keygroups-spark4.2_2.13.jar
WHEELED := dist/.built
# Folders are listed too: deleting or renaming a file changes its folder.
SCALA := $(shell find jvm-shim -name __pycache__ -prune -o \( -type d -o -name '*.scala' \) -print)
PYFILES := $(shell find $(PACKAGE) -name jars -prune -o -name __pycache__ -prune -o -type f -print)
ARGS ?=
# Tests of one file run in one process: they share what it starts. Folders with long tests come first, in their order.
PYTEST := $(BIN)/python -m pytest
PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder
WITHOUT_SPARK := tests/columns tests/rows tests/state tests/unit
ON_OLDER := SPARK_HOME=$(abspath $(OLDER)/pyspark) PYTHONPATH=$(abspath $(OLDER))
CAMPAIGN := PYTHONPATH=tests:provider $(BIN)/python -m campaigns

export PYSPARK_PYTHON := $(abspath $(BIN)/python)
unexport PYTHONHOME PYTHONPATH SPARK_CONF_DIR SPARK_HOME

.DEFAULT_GOAL := help
.PHONY: help setup jar jars demo demo-state check test test-older test-all bench bench-table bench-keyed conformance faults fuzz soak sizing lint format docs wheel clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(INSTALLED) $(JAR) ## Create .venv with everything in it, and build the jar

jar: $(JAR) ## Compile the JVM shim with the Scala compiler of pyspark

jars: $(JAR) $(OLDER_JAR) ## Compile it for each Spark that it is for (fetches the older one)

demo: setup ## Stream the flights of 2013 through the provider and check the answer
	$(BIN)/python -m keygroups.demo $(ARGS)

demo-state: setup ## Stream the flights through a keyed function, and check the answer against a batch job
	$(BIN)/python -m keygroups.demo --state $(ARGS)

check: lint $(JAR) ## Lint, types, the tests without Spark, and one query beside Spark's provider: 3 minutes
	$(PYTEST) -q -m "not slow" $(PARALLEL) "tests/integration/differential/test_operators.py::test_same_answers[grouped update]" $(WITHOUT_SPARK) $(ARGS)

test: setup $(OLDER_JAR) ## Run the everyday tests (ARGS=... goes to pytest)
	$(PYTEST) -m "not slow" $(PARALLEL) $(ARGS)

test-older: setup $(OLDER_JAR) ## Run a case of each operator on the older Spark, and go on from its checkpoints on the newer
	$(ON_OLDER) $(PYTEST) -m core -n 2 tests/integration/differential -k same_answers $(ARGS)
	$(PYTEST) -n 2 tests/integration/upgrade -k older

test-all: setup $(OLDER_JAR) ## Run all tests, the slow ones too, and the differential suite on the older Spark
	$(PYTEST) $(PARALLEL) $(ARGS)
	$(ON_OLDER) $(PYTEST) -m "not slow" tests/integration/differential

fuzz: setup ## Feed mutated files to everything that reads a checkpoint: 5 minutes (ARGS="--inputs 1000000 --seed 1")
	$(CAMPAIGN).fuzz $(ARGS)

bench: setup ## Measure Spark's providers and this one: 33 minutes (ARGS="--only PART --baseline DIR", "--full" for a release: 7 hours)
	$(CAMPAIGN).bench.run $(ARGS)

bench-table: $(INSTALLED) ## Write the tables of README and docs from the kept results (ARGS=FILE keeps a full run first)
	$(CAMPAIGN).bench.publish $(ARGS)

bench-keyed: setup ## Measure keyed functions beside Spark's own: 12 minutes (ARGS="--only NAME", "--full" beside all systems: 80 minutes)
	$(CAMPAIGN).keyed_bench.run $(ARGS)

conformance: $(INSTALLED) $(OLDER_JAR) ## Run the core of Spark 4.2's own test suites: half an hour (needs Maven; ARGS="--full", "--only NAME", "--missing")
	$(CAMPAIGN).conformance $(ARGS)

faults: setup ## Inject every fault into running queries: 15 minutes (ARGS="--full", "--only NAME --query NAME --times N --seed S")
	$(CAMPAIGN).faults.run $(ARGS)

soak: setup ## Run 600 batches, and check that nothing grows: 15 minutes (ARGS="--full", "--batches N --period N")
	$(CAMPAIGN).soak.run $(ARGS)

sizing: setup ## Measure what a million rows of state cost, for docs/sizing.md (ARGS="--rows N --text BYTES")
	$(CAMPAIGN).sizing $(ARGS)

lint: $(INSTALLED) ## Check format, style, types and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED) ## Format the Python files and fix what can be fixed
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

docs: $(INSTALLED) ## Write docs/settings.md and docs/pictures/ from their sources
	$(BIN)/keygroups settings > docs/settings.md
	$(BIN)/python docs/pictures/draw.py

wheel: $(WHEELED) ## Build the wheel, with the jar in it, into dist/

clean: ## Delete everything that was built
	rm -rf $(VENV) dist build $(PACKAGE)/jars .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find provider tests jvm-shim -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

$(JAR): $(SCALA) jvm-shim/build.py $(PACKAGE)/settings.json $(PACKAGE)/_version.py | $(INSTALLED)
	$(BIN)/python jvm-shim/build.py --output $@

$(OLDER)/.installed: | $(INSTALLED)
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(OLDER) pyspark==4.2.0
	touch $@

$(OLDER_JAR): $(SCALA) jvm-shim/build.py $(PACKAGE)/settings.json $(PACKAGE)/_version.py | $(OLDER)/.installed
	$(BIN)/python jvm-shim/build.py --spark-jars $(OLDER)/pyspark/jars --output $@

$(WHEELED): $(JAR) $(OLDER_JAR) $(PYFILES) pyproject.toml README.md LICENSE | $(INSTALLED)
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	touch $@
