# Everything works from a fresh clone with Python >= 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
export NPROC ?= 1

.PHONY: demo test check lint docs clean

demo: .venv/ready-demo       ## learn a maze with and without old policies, compare, report
	$(BIN)/reprise demo

test: .venv/ready-dev        ## everything CI runs
	$(MAKE) check

check: .venv/ready-dev       ## ruff, pyright, import contract, tests
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/codespell src tests docs README.md CHANGELOG.md CONTRIBUTING.md
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist loadgroup

docs: .venv/ready-dev        ## the documentation as a site, in site/
	$(BIN)/mkdocs build --strict

clean:
	rm -rf .venv site dist

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip

.venv/ready-demo: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e '.[report]'
	touch $@

.venv/ready-dev: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@
