# make demo: set everything up and evaluate the embedded example.
# make test: set everything up and run all tests.
# make lint, make format: what CI checks, and what repairs most of it.

PYTHON := .venv/bin/python
SETUP := .venv/.installed

.PHONY: demo test lint format fuzz clean

demo: $(SETUP)
	$(PYTHON) examples/demo.py

test: $(SETUP)
	$(PYTHON) -m pytest -n auto
	OPENSET_KERNELS=numpy $(PYTHON) -m pytest -n auto

lint: $(SETUP)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

format: $(SETUP)
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

fuzz:
	native/fuzz/run.sh

$(SETUP): pyproject.toml setup.py constraints.txt $(wildcard native/*.hpp native/*.cpp)
	python3 -m venv .venv
	$(PYTHON) -m pip install --quiet --upgrade pip
	$(PYTHON) -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv .venv-peers build dist src/*.egg-info src/openset/kernels/_native.so

include benchmarks/Makefile.inc
