# make audit   one command from nothing to a report: the embedded benchmark, all embedded respondents
# make test    lint, types and tests
# Both build .venv first; PYTHON names the interpreter (3.11 to 3.13). `make help` lists every target.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check
# uv installs in seconds what takes pip a minute; of pip's settings it is told those that say where packages lie. Where uv cannot
# be had, or fails, pip installs
UV := $(foreach name,FIND_LINKS INDEX_URL EXTRA_INDEX_URL,$(if $(PIP_$(name)),UV_$(name)='$(PIP_$(name))')) $(VENV)/bin/uv pip
# packages that bring further commands; each has its tests in it
EXTENSIONS := $(sort $(wildcard extensions/hqm-*))
OPTIONS = --quiet --constraint constraints.txt $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) --editable '.[$(EXTRAS)]' $(EXTENSIONS:%=--editable ./%)
define install
	$(PIP) install --quiet --no-compile --constraint constraints.txt uv || true
	$(UV) install --python $(VENV)/bin/python --index-strategy unsafe-best-match $(OPTIONS) || $(PIP) install --no-compile $(OPTIONS)
	$(COMPILE)
endef
# one file after another is compiled by an installer, which takes long; a library may bring files that are no Python of today.
# Half of all code is not compiled before it is imported: tests of libraries, packages of which little is ever used, and what is
# compiled in C already
SELDOM := /(tests?|testing|backrefs|fastapi|fontTools|google|mypyc?|networkx|numba|openai/(lib|resources|types)|pip|pygments/lexers|ray|sklearn|statsmodels|sympy/physics|torch/_inductor|torchgen|transformers/models)/
COMPILE := $(VENV)/bin/python -m compileall -q -j 0 -x '$(SELDOM)' $(VENV)/lib > /dev/null || true
INPUTS := pyproject.toml constraints.txt $(EXTENSIONS:%=%/pyproject.toml)
OUT ?= out/shapes
JOBS ?= 4
PARALLEL = $(VENV)/bin/python -m pytest --config-file pyproject.toml --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder
# tests start many processes, and without bytecode each compiles all that it imports
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help audit test lint types unit nightly versions docs site train clean mount wheel hooks

help:  ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/make \1|\2/' | awk -F'|' '{printf "%-12s %s\n", $$1, $$2}'

audit: $(VENV)/.installed  ## audit the embedded benchmark with its ten models; the report is out/shapes/report.html
	$(VENV)/bin/hqm audit shapes --out $(OUT)

test: $(VENV)/.tests  ## lint, types and tests: what a change must pass
	$(MAKE) --no-print-directory --jobs 2 lint types unit

lint: $(VENV)/.tests  ## ruff's rules and its formatting
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/.tests mount  ## mypy --strict over the product, its extensions, training and uses of them
	cd mount && ../$(VENV)/bin/mypy --cache-dir ../.mypy_cache --config-file ../pyproject.toml -p hqm -p training -p typed $(foreach path,$(EXTENSIONS),-p $(subst -,_,$(notdir $(path))))

unit: $(VENV)/.tests  ## the tests; PYTEST="tests/test_store.py -x" runs some of them, JOBS=2 on two processes
	$(PARALLEL) -p no:randomly $(PYTEST)

# the seed of the order is printed at the beginning: PYTEST="--randomly-seed=1" gives the order again
nightly: $(VENV)/.tests  ## the tests with new examples, in a random order, and with the full counts
	HQM_NIGHTLY=1 $(PARALLEL) $(PYTEST)

versions: $(VENV)/.tests  ## raise the version of every procedure that behaves otherwise on its frozen cases
	$(VENV)/bin/python -m tests.procedures raise $(NAMES)

docs: $(VENV)/.tests  ## write docs/reference.md again from the code
	$(VENV)/bin/python docs/generate.py

site: $(VENV)/.tests  ## the documentation as a site in out/site; a warning is an error
	$(VENV)/bin/python -m mkdocs build --strict

wheel: $(VENV)/bin/python  ## the wheel and the source archive in dist
	$(PIP) install --quiet build
	$(VENV)/bin/python -m build --outdir dist

hooks: $(VENV)/.tests  ## run the checks of .pre-commit-config.yaml before every commit
	$(PIP) install --quiet pre-commit
	$(VENV)/bin/pre-commit install

train: $(VENV)/.installed  ## train the ten embedded models again (two hours)
	$(VENV)/bin/python -m training

clean:  ## remove what the other targets made
	rm -rf $(VENV) mount out build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info[:2] <= (3, 13), "HQM needs Python 3.11 to 3.13"'
	$(PYTHON) -m venv $(VENV)

# TORCH_INDEX: an index to take torch from, such as one with builds for the CPU only
$(VENV)/.installed: EXTRAS := figures,local,stats
$(VENV)/.installed: $(VENV)/bin/python $(INPUTS)
	$(install)
	touch $@

# everything at once where nothing is installed yet: what tests need includes what an audit needs
$(VENV)/.tests: EXTRAS := test
$(VENV)/.tests: $(VENV)/bin/python $(INPUTS)
	$(install)
	touch $(VENV)/.installed $@

# Static tools do not see that adapters, benchmarks and reports are mounted under hqm: this tree of links shows them.
mount: $(VENV)/.tests  ## a tree of links that shows static tools all of hqm as one package
	rm -rf mount
	mkdir -p mount/hqm
	ln -s ../training mount/training
	ln -s ../tests/typed mount/typed
	cd mount && ln -s $(foreach path,$(EXTENSIONS),../$(path)/$(subst -,_,$(notdir $(path)))) .
	cd mount/hqm && ln -s ../../hqm/* . && ln -s ../../adapters ../../benchmarks ../../reports .
