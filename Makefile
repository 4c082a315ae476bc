# `make` alone lists the targets. Everything runs in .venv, which belongs to this file.

PYTHON ?= python3
PYTEST_ARGS ?=
# Of the tests that can stand company; 0 runs them one after the other in one process.
WORKERS ?= logical
QUIET ?= -qq
EXTRAS := dev,docs

BIN := .venv/bin
# Written last, so without it the environment is unfinished. Holds the folder it was made in.
STAMP := .venv/.installed
PYTEST = $(BIN)/python -m pytest -q
# Arguments of one's own may leave one of the two calls without a test, which pytest ends with 5.
NONE_IS_FINE = $(if $(strip $(PYTEST_ARGS)),|| test $$? -eq 5)

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Data files beside the clone are found; without any, the tests that need them are skipped.
ifeq ($(origin EDGEFLIP_DATA),undefined)
EDGEFLIP_DATA := $(shell cd ../shared/data 2>/dev/null && pwd)
endif
ifeq ($(strip $(EDGEFLIP_DATA)),)
unexport EDGEFLIP_DATA
else
export EDGEFLIP_DATA
endif

# A clone that was moved or copied with its .venv would otherwise run the code at its old place.
ifneq ($(wildcard $(STAMP)),)
ifneq ($(file <$(STAMP)),$(CURDIR))
$(shell rm -f $(STAMP))
endif
endif

# A worker per core is enough: threads of torch on top of that would only wait for each other.
test test-all doctest: export OMP_NUM_THREADS := 1
test test-all doctest: export MKL_NUM_THREADS := 1
test test-all doctest: export TOKENIZERS_PARALLELISM := false

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install demo test test-all lint types layers doctest docs package compat audit notes clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

install: $(STAMP)  ## make .venv with edgeflip and the tools to work on it

$(STAMP): pyproject.toml constraints.txt
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "edgeflip needs Python 3.11 or newer and this is %d.%d; name another with: make PYTHON=python3.11" \
	  % sys.version_info[:2])'
	@if [ -e $(STAMP) ]; then rm $(STAMP); else "$(PYTHON)" -m venv --clear .venv; fi
	@echo "Installing edgeflip into .venv; the first time takes some minutes."
	@$(BIN)/python -m pip install $(QUIET) -c constraints.txt -e '.[$(EXTRAS)]' || \
	  { echo "The install failed; to see all that pip says: make install QUIET=" >&2; exit 1; }
	@printf '%s\n' "$$PWD" > $(STAMP)

demo: install  ## train an oracle on BA-2Motifs and explain some of its graphs
	$(BIN)/edgeflip demo --out demo_output

test: lint types layers  ## run every check that takes no minutes: lint, types, layers, tests, doctests
	$(PYTEST) -m 'serial and not long' $(PYTEST_ARGS) $(NONE_IS_FINE)
	$(PYTEST) -m 'not serial and not long' -n $(WORKERS) --dist loadfile $(PYTEST_ARGS) $(NONE_IS_FINE)

test-all: test  ## run every check, the long ones too
	$(PYTEST) -m long $(PYTEST_ARGS) $(NONE_IS_FINE)

lint: install  ## check style and format
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/oxlint --quiet --deny-warnings src

types: install  ## check the types of the package, benchmarks/ and tools/
	$(BIN)/python -m mypy --strict src benchmarks tools

layers: install  ## check that imports only point down the layers
	$(BIN)/lint-imports --no-logo

doctest: install  ## run only the examples in docstrings and README
	$(PYTEST) src $(wildcard README.md)

package: install  ## build wheel and source archive into dist/, install and try them; some minutes
	$(BIN)/python tools/package.py

compat: install  ## test the oldest and newest versions that pyproject.toml claims; a quarter of an hour
	$(BIN)/python tools/compat.py

audit: install  ## compare the pins with known vulnerabilities
	$(BIN)/python tools/audit.py

notes: install  ## write the notes of this version to build/notes.md; TAG=v0.2.0 checks a tag too
	$(BIN)/python tools/notes.py --tag "$${TAG-}"

docs: install  ## build the site into docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "The site is in docs/_build/html/index.html"

clean:  ## remove .venv, caches and everything the targets made
	rm -rf .venv build dist docs/_build src/*.egg-info demo_output
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +
