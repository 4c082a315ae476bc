# `make` alone lists the targets. Everything runs in .venv, which belongs to this file.

PYTHON ?= python3
PYTEST_ARGS ?=
QUIET ?= -qq
EXTRAS := dev

BIN := .venv/bin
# Written last, so without it the environment is unfinished. Holds the folder it was made in.
STAMP := .venv/.installed

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

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install demo test lint types layers doctest clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

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

test: lint types layers  ## run every check: lint, types, layers, all tests and doctests
	$(BIN)/python -m pytest -q $(PYTEST_ARGS)

lint: install  ## check style and format
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

types: install  ## check the types of the package and of benchmarks/
	$(BIN)/python -m mypy --strict src benchmarks

layers: install  ## check that imports only point down the layers
	$(BIN)/lint-imports --no-logo

doctest: install  ## run only the examples in docstrings and README
	$(BIN)/python -m pytest -q src $(wildcard README.md)

clean:  ## remove .venv, caches and everything the targets made
	rm -rf .venv build dist src/*.egg-info demo_output
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +
