# make audit   one command from nothing to a report: the embedded benchmark, all embedded respondents
# make test    lint, types and tests
# Both build .venv first; PYTHON names the interpreter (3.11 to 3.13).
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check
INPUTS := pyproject.toml constraints.txt
OUT ?= out/shapes
JOBS ?= 2

.PHONY: audit test lint types unit docs site train clean mount

audit: $(VENV)/.installed
	$(VENV)/bin/hqm audit shapes --out $(OUT)

test: lint types unit

lint: $(VENV)/.tests
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/.tests mount
	cd mount && ../$(VENV)/bin/mypy --config-file ../pyproject.toml -p hqm

unit: $(VENV)/.tests
	$(VENV)/bin/python -m pytest --numprocesses $(JOBS) --dist loadfile $(PYTEST)

docs: $(VENV)/.tests
	$(VENV)/bin/python docs/generate.py

# the documentation as a site in out/site; a warning is an error
site: $(VENV)/.tests
	$(VENV)/bin/python -m mkdocs build --strict

train: $(VENV)/.installed
	$(VENV)/bin/python -m hqm.benchmarks.shapes.train

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info[:2] <= (3, 13), "HQM needs Python 3.11 to 3.13"'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python $(INPUTS)
	$(PIP) install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.tests: $(VENV)/.installed
	$(PIP) install --quiet --constraint constraints.txt --editable '.[test]'
	touch $@

# Static tools do not see that adapters, benchmarks and reports are mounted under hqm: this tree of links shows them.
mount: $(VENV)/.tests
	rm -rf mount
	mkdir -p mount/hqm
	cd mount/hqm && ln -s ../../hqm/* . && ln -s ../../adapters ../../benchmarks ../../reports .

clean:
	rm -rf $(VENV) mount out build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
