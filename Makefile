# make demo: set everything up, evaluate the embedded world and write its report.
# make tutorial: set torch up too, and go the whole way: a world, a detector, scores, a report.
# make test: set everything up and run all tests; make ray: those that need Ray, with it.
# make lint, make format: what CI checks, and what repairs most of it.
# make docs: the documentation as a site with search, build/site/index.html.
# make dist: source archive and wheel, each tried in a bare environment.

PYTHON := .venv/bin/python
CORE := .venv/.core
TORCH := .venv/.torch
DEV := .venv/.dev
DOCS := .venv/.docs
RAY := .venv/.ray

.PHONY: demo tutorial test ray lint format fuzz docs dist clean

demo: $(CORE)
	.venv/bin/openset demo

# Minutes on two cores. Scores are compared with those of the maximum softmax probability.
OPENSET := .venv/bin/openset
TOUR := openset-tutorial
# All but the samples of one scorer, LaRD's entropy variant, which take minutes more.
EVIDENCE := logits,embedding,latent,logit_samples

tutorial: $(TORCH)
	$(OPENSET) build digits --option images=4000 -o $(TOUR)/world
	$(OPENSET) train digits-small $(TOUR)/world -o $(TOUR)/model
	$(OPENSET) run $(TOUR)/model $(TOUR)/world/train.json --minimum-score 0.3 --evidence $(EVIDENCE) -o $(TOUR)/train.parquet
	$(OPENSET) run $(TOUR)/model $(TOUR)/world/val.json --minimum-score 0.3 --evidence $(EVIDENCE) -o $(TOUR)/val.parquet
	$(OPENSET) run $(TOUR)/model $(TOUR)/world/test.json --evidence $(EVIDENCE) -o $(TOUR)/test.parquet
	$(OPENSET) score $(TOUR)/test.parquet --scorers all \
		--fit $(TOUR)/train.parquet --fit-truth $(TOUR)/world/train.json \
		--calibrate $(TOUR)/val.parquet --calibrate-truth $(TOUR)/world/val.json -o $(TOUR)/scored
	$(OPENSET) evaluate $(TOUR)/world/test.json $(TOUR)/scored/msp.parquet \
		$$(ls $(TOUR)/scored/*.parquet | grep -v /msp.parquet) -o $(TOUR)/run
	$(OPENSET) report $(TOUR)/run --images $(TOUR)/world

# Where boxes are matched, resampled, or read at length: there the NumPy twins are tried, too.
KERNELS := diagnosis evaluation formats golden integrations kernels matching metrics parity resampling tables

ON_RAY := evaluation/test_in_parts cli/test_parts cli/test_run cli/test_train

test: $(DEV)
	$(PYTHON) -m pytest -n auto
	OPENSET_KERNELS=numpy $(PYTHON) -m pytest -n auto $(addprefix tests/,$(KERNELS))

# A real Ray, started and stopped: one process, since each would start its own.
ray: $(RAY)
	$(PYTHON) -m pytest -k ray tests/engines $(addprefix tests/,$(addsuffix .py,$(ON_RAY)))

lint: $(DEV)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

format: $(DEV)
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

# The compiled readers under sanitizers, then every reader with damaged files of its format.
fuzz: $(CORE)
	native/fuzz/run.sh
	$(PYTHON) -m tools.fuzz

# Broken links and anchors, and pages that are on no list, end it.
docs: $(DOCS)
	$(OPENSET) demo -o build/demo --quiet
	.venv/bin/mkdocs build --strict

dist: $(DOCS)
	rm -rf dist
	$(PYTHON) -m build
	$(PYTHON) tools/try_install.py dist

SOURCES := pyproject.toml setup.py constraints.txt $(wildcard native/*.hpp native/*.cpp)
PIP = $(PYTHON) -m pip install --quiet --constraint constraints.txt

# The core has no torch; what tests need comes on top of it.
$(CORE): $(SOURCES)
	python3 -m venv .venv
	$(PYTHON) -m pip install --quiet --upgrade pip
	$(PIP) --editable .
	touch $@

$(TORCH): $(CORE)
	$(PIP) --editable ".[torch]"
	touch $@

$(DEV): $(CORE)
	$(PIP) --editable ".[dev,torch]"
	touch $@

$(RAY): $(DEV)
	$(PIP) --editable ".[ray]"
	touch $@

$(DOCS): $(CORE)
	$(PIP) --editable ".[docs]"
	touch $@

clean:
	rm -rf .venv .venv-peers build dist src/*.egg-info src/openset/kernels/_native.so

include speed/Makefile.inc
