# make demo: set everything up, evaluate the embedded world and write its report.
# make test: set everything up and run all tests.
# make lint, make format: what CI checks, and what repairs most of it.

PYTHON := .venv/bin/python
CORE := .venv/.core
DEV := .venv/.dev

.PHONY: demo test lint format fuzz clean

demo: $(CORE)
	.venv/bin/openset demo

test: $(DEV)
	$(PYTHON) -m pytest -n auto
	OPENSET_KERNELS=numpy $(PYTHON) -m pytest -n auto

lint: $(DEV)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

format: $(DEV)
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

fuzz:
	native/fuzz/run.sh

SOURCES := pyproject.toml setup.py constraints.txt $(wildcard native/*.hpp native/*.cpp)
PIP = $(PYTHON) -m pip install --quiet --constraint constraints.txt

# The core has no torch; what tests need comes on top of it.
$(CORE): $(SOURCES)
	python3 -m venv .venv
	$(PYTHON) -m pip install --quiet --upgrade pip
	$(PIP) --editable .
	touch $@

$(DEV): $(CORE)
	$(PIP) --editable ".[dev,torch]"
	touch $@

clean:
	rm -rf .venv .venv-peers build dist src/*.egg-info src/openset/kernels/_native.so

include benchmarks/Makefile.inc
