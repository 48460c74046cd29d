# make run      a server with conf/orchd.flags; FLAGS='--secure-port=7443 ...' adds to them
# make cluster  three servers of one cluster with one etcd (Debian: etcd-server) on this machine; FLAGS as above; PORT is the first port
# make test     all tests that need no recordings; TESTS='tests/kinds ...' runs some, in one process
# make fuzz     the property tests with new random examples; EXAMPLES=5000 sets their number
# make rounds   longer crash and linearizability tests than in `make test`: 100 kills; ROUNDS=1000 sets their number
# make matrix   the tests with the oldest and the newest allowed dependencies, on each installed Python; AGES=oldest, TESTS='tests/kinds ...'
# make mutate   changes MODULES='orchd/... .py' an operator at a time and prints how many changes their nearest tests notice; TESTS='...' MUTANTS=0
# make lint     ruff and mypy
# make format   formats the code; tables are exempt (pyproject.toml)
# make screenshots  the pictures of docs/ui.md, taken by the tests of the web page; needs chromium and chromedriver
# make bench    benchmarks of a server that it starts; BENCH='--only GET' selects rows, BENCH='--help' lists options
# make soak     a server under mixed load for HOURS=2, with restarts and kills; whether its sizes grow, and a picture in build/soak.svg
# make docs     generates docs/flags.md and docs/feature-gates.md
# make site     the documentation as a web site in build/site; `make site SERVE=1` serves it and reloads changes
# make man      manual pages in build/man, and make completion: scripts for bash, zsh and fish in build/completion
# make dist     wheel and sdist in dist/, reproducible for a commit
# make changelog  build/CHANGELOG.md from newsfragments/, as a preview; `towncrier build` at a release writes CHANGELOG.md
# make deb      a Debian package in the folder above this one
#
# Requires Python 3.11 or newer. Dependencies are installed into .venv, again after changes of setup.cfg.
# `make PYTHON=python3.12 run` selects the interpreter of .venv.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
CONF ?= conf/orchd.flags
FLAGS ?=
BENCH ?=
HOURS ?= 2
EXAMPLES ?= 1000
ROUNDS ?= 100
CLUSTER ?= orchd-data-cluster
PORT ?= 6443

# Tests of a module run in the same worker, since they share servers. WORKERS= runs all tests in one process. Each worker needs five
# CPU seconds to collect the tests; five workers wait often enough to keep two processors busy.
WORKERS ?= --numprocesses=5 --dist=loadfile --no-loadscope-reorder

SERVE ?=
AGES ?= oldest newest
MODULES ?=

.PHONY: run cluster test fuzz rounds matrix mutate lint format screenshots bench soak docs site man completion dist changelog deb clean
.DEFAULT_GOAL := run

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "orchd needs Python 3.11 or newer; none was found. Set one: make PYTHON=..." >&2; exit 1; }
	@echo "creating $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV)

# The second command lets twistd cache its list of plugins, which a server may not be able to write.
$(VENV)/.installed: setup.cfg pyproject.toml | $(BIN)/python
	@echo "installing orchd into $(VENV)"
	@$(PIP) --editable '.[scheduler,cli]'
	@$(BIN)/twistd --help >/dev/null
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	@echo "installing the dependencies of the tests"
	@$(PIP) --editable '.[test]'
	@touch $@

# mypy checks the tests as well, and needs their dependencies.
$(VENV)/.installed-lint: $(VENV)/.installed-test
	@echo "installing ruff and mypy"
	@$(PIP) --editable '.[lint]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	@echo "installing mkdocs and towncrier"
	@$(PIP) --editable '.[docs]'
	@touch $@

run: $(VENV)/.installed
	@exec $(BIN)/twistd -n --pidfile= orchd --flagfile=$(CONF) $(FLAGS)

cluster: $(VENV)/.installed
	@exec $(BIN)/python -m orchd.testing.etcd_cluster --port=$(PORT) $(CLUSTER) $(FLAGS)

test: $(VENV)/.installed-test
	@$(BIN)/python -m pytest -q $(if $(TESTS),$(TESTS),$(WORKERS))

# Tests that set their own number of examples keep it, with new examples.
fuzz: $(VENV)/.installed-test
	@ORCHD_FUZZ=$(EXAMPLES) $(BIN)/python -m pytest -q $$(grep -rl --include='test_*.py' 'from hypothesis' tests)

# A new random seed each time, unless SEED is set.
rounds: SEED ?= $(shell date +%s)
rounds: $(VENV)/.installed-test
	@echo "SEED=$(SEED)"
	@ORCHD_CRASH_ROUNDS=$(ROUNDS) ORCHD_CRASH_SEED=$(SEED) ORCHD_LINEAR_SEED=$(SEED) \
		ORCHD_LINEAR_STEPS=$$(($(ROUNDS) * 10)) ORCHD_LINEAR_ROUNDS=$$(($(ROUNDS) / 5 + 1)) \
		$(BIN)/python -m pytest -q tests/store/test_crash.py tests/store/test_linearizable.py \
		tests/store/test_linearizable_daemon.py tests/store/etcd/test_ranges_of_servers.py

matrix:
	@TESTS="$(TESTS)" .ci/matrix $(AGES)

# In an environment of its own, since it needs other packages than orchd.
build/cosmic-ray/bin/cosmic-ray: | $(BIN)/python
	@$(BIN)/python -m venv build/cosmic-ray
	@build/cosmic-ray/bin/python -m pip --disable-pip-version-check install --quiet --target build/cosmic-ray/coverage coverage
	@build/cosmic-ray/bin/python -m pip --disable-pip-version-check install --quiet 'cosmic-ray>=8.7'

mutate: $(VENV)/.installed-test build/cosmic-ray/bin/cosmic-ray
	@TESTS="$(TESTS)" MUTANTS="$(MUTANTS)" .ci/mutate $(MODULES)

lint: $(VENV)/.installed-lint
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy

format: $(VENV)/.installed-lint
	@$(BIN)/ruff format

screenshots: $(VENV)/.installed-test
	@ORCHD_SCREENSHOTS=$(CURDIR)/docs/images $(BIN)/python -m pytest -q tests/ui/test_screens.py

bench: $(VENV)/.installed-test
	@$(BIN)/python -m benchmarks.run $(BENCH)

soak: $(VENV)/.installed-test
	@$(BIN)/python -m benchmarks.soak --hours $(HOURS) --picture build/soak.svg

docs: $(VENV)/.installed
	@$(BIN)/python -m orchd.config > docs/flags.md.new
	@mv docs/flags.md.new docs/flags.md
	@$(BIN)/python -m orchd.config gates > docs/feature-gates.md.new
	@mv docs/feature-gates.md.new docs/feature-gates.md

site: $(VENV)/.installed-docs
	@$(BIN)/mkdocs $(if $(SERVE),serve,build --strict --quiet)

man completion: $(VENV)/.installed
	@$(BIN)/python -m orchd.manuals $@ build/$@

# SOURCE_DATE_EPOCH is the time of the last commit unless it is set.
dist: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
dist: $(BIN)/python
	@$(PIP) build
	@$(BIN)/python -m build --quiet --outdir dist .

changelog: $(VENV)/.installed-docs
	@mkdir -p build
	@$(BIN)/towncrier build --draft --version "$$($(BIN)/python -c 'from importlib.metadata import version; print(version("orchd"))')" \
		> build/CHANGELOG.md
	@echo "wrote build/CHANGELOG.md"

deb:
	@dpkg-buildpackage --build=binary --unsigned-changes

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis _trial_temp
