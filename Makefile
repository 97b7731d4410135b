# Everything works from a fresh clone with Python >= 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
PEERS := torch==2.13.0 stable-baselines3==2.9.2 sbx-rl==0.28.0
export NPROC ?= 1

.PHONY: demo test check quick lint docs bench clean

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
	# A module's tests share what they make and compile, so one process runs them.
	# A worker that dies ends the session: its replacement would wait for ever.
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart 0

# What a change needs, in under three minutes on two cores; the tests nearest to it come first.
quick: .venv/ready-dev       ## ruff, import contract, pyright and tests of what is changed
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/codespell src tests docs README.md CHANGELOG.md CONTRIBUTING.md
	$(BIN)/lint-imports
	changed="$$($(BIN)/python tests/affected.py --changed)"; \
		[ -z "$$changed" ] || $(BIN)/pyright --pythonpath $(BIN)/python $$changed
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 \
		--timeout 0 --within 100 $$($(BIN)/python tests/affected.py)

docs: .venv/ready-dev        ## the documentation as a site, in site/
	$(BIN)/mkdocs build --strict

bench: .venv-bench/ready      ## speed and memory, beside Stable-Baselines3 and SBX, one thread each
	OMP_NUM_THREADS=1 .venv-bench/bin/reprise bench $(BENCH)

clean:
	rm -rf .venv .venv-bench site dist

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip

.venv/ready-demo: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e '.[report]'
	touch $@

.venv/ready-dev: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

# The peers bring PyTorch and their own versions of everything: an environment of their own.
.venv-bench/ready: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --upgrade pip
	.venv-bench/bin/pip install --quiet -c constraints.txt -e '.[metaworld]' $(PEERS)
	touch $@
