# Everything runs from .venv; the first run needs a package index, later runs do not.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
TESTS  := $(VENV)/.installed-test
SITE   := $(VENV)/.installed-docs
OUT    ?= build/demo
J      ?= $(shell nproc 2>/dev/null || echo 2)
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q

# A virtual environment does not survive a move of the checkout: its scripts and the
# editable install name absolute paths.
ifneq ($(wildcard $(STAMP)),)
ifneq ($(shell cat $(STAMP)),$(CURDIR))
$(shell rm -rf $(VENV))
endif
endif

.DEFAULT_GOAL := help
.PHONY: help setup setup-test demo test test-slow test-torch unit lit lint format docs docs-site dist clean

help: ## list these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/' | expand -t 14

setup: $(STAMP) ## create .venv and install the project, editable, with what it needs to run

setup-test: $(TESTS) ## the same with what the tests and the linters need

# setuptools goes in first, so that the editable install needs no isolated build
# (an isolated build fetches setuptools every time pyproject.toml changes).
$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -c 'import setuptools as s, sys; sys.exit(int(s.__version__.split(".")[0]) < 75)' \
	  2>/dev/null || $(PIP) install 'setuptools>=75'
	$(PIP) install --no-build-isolation -e .
	$(BIN)/python -m compileall -q neuronir dialects passes targets
	@printf '%s\n' '$(CURDIR)' > $@

$(TESTS): $(STAMP)
	$(PIP) install --no-build-isolation -e '.[test]'
	@touch $@

demo: $(STAMP) ## compile a small BERT for trn1, simulate it, check it against XLA
	@mkdir -p $(OUT)
	$(BIN)/neuronx-cc compile examples/bert_tiny.hlo --framework XLA --target trn1 \
	  --output $(OUT)/bert_tiny.neff
	$(BIN)/neuron-sim run $(OUT)/bert_tiny.neff --inputs examples/bert_tiny_inputs.npz \
	  --outputs $(OUT)/bert_tiny_outputs.npz --expect examples/bert_tiny_expected.npz

unit: $(TESTS) ## pytest, without the slow tests, on all cores (J=1: on one)
	$(BIN)/python -m pytest -q -n $(J)

lit: $(TESTS) ## lit and filecheck tests
	$(BIN)/lit lit/ -q -j$(J)

test: unit lit ## all tests but the slow ones

test-slow: $(TESTS) ## the slow tests: whole models, exhaustive sweeps
	$(BIN)/python -m pytest -q -m slow -n $(J) --dist worksteal

test-torch: $(TESTS) ## the tests of the PyTorch frontend, which need PyTorch (750 MB)
	$(PIP) install 'torch>=2.13' expecttest
	$(BIN)/python -m pytest -q -m '' -n $(J) tests/frontends/torch tests/torch

lint: $(TESTS) ## ruff, mypy and the links
	@for d in dialects passes targets; do \
	  test "$$(readlink neuronir/$$d)" = "../$$d" || { echo "neuronir/$$d is not a link to ../$$d"; exit 1; }; done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(TESTS) ## reformat the sources
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

dist: $(TESTS) ## sdist and wheel, in dist/
	rm -rf dist build/lib build/bdist.*
	$(PIP) install build
	$(BIN)/python -m build --no-isolation

docs: $(STAMP) ## write the generated pages of the documentation
	$(BIN)/python -m tools.reference

docs-site: $(SITE) ## build the documentation site in build/site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(SITE): $(STAMP)
	$(PIP) install --no-build-isolation -e '.[docs]'
	@touch $@

clean: ## remove everything that was made
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
