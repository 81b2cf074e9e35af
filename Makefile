# Each target with `##` shows in the list that a bare `make` prints.

PYTHON ?= python3
BIN := .venv/bin
BOOTSTRAP = $(PYTHON) tools/bootstrap.py
PYTHON_GIVEN := $(if $(filter file undefined default,$(origin PYTHON)),,--python-given)
TESTS := $(BIN)/python -m pytest

.DEFAULT_GOAL := list
.PHONY: list demo test soak check fix bench evaluate serve docs lock have-python demo-env dev-env

list:
	@echo "make TARGET [PYTHON=python3.12]"
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  \1\t\2/p' Makefile | expand -t 12

demo: demo-env ## push a run to a server of its own, pull it back, show it (DATA=path/to/run for your own)
	@$(BIN)/python tools/demo.py $(if $(DATA),"$(DATA)")

test: dev-env ## all tests but the long ones (ARGS="-k name" is handed to pytest)
	@$(TESTS) -n 2 --dist loadfile $(ARGS)

soak: dev-env ## the long seeded runs
	@$(TESTS) -m soak --timeout 1800 $(ARGS)

check: dev-env ## look only: style, types, import rules, sizes, docs in step
	@$(BIN)/ruff check --no-cache
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(TESTS) -q -p no:cacheprovider tests/architecture tests/docs

fix: dev-env ## change what ruff can change: lint and format
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

bench: dev-env ## measure what the docs claim about speed, then the statistics (about an hour; ARGS="--case a,b --scale 0.1")
	@$(BIN)/python -m bench.transfer $(ARGS)
	@$(if $(ARGS),,$(BIN)/python -m bench.behaviours)

evaluate: dev-env ## score the analysis on annotated runs, beside trivial answers (DATA=dir; ARGS="--only steps --json FILE")
	@$(BIN)/python -m bench.evaluate $(if $(DATA),--data "$(DATA)") $(ARGS)

serve: demo-env ## run a server on this machine (ARGS="--port 8000")
	@$(BIN)/benchloop-server serve $(ARGS)

docs: dev-env ## write anew what is made from the code: docs/reference, the tables as JSON
	@$(BIN)/python tools/tables.py
	@$(BIN)/python tools/reference.py

lock: dev-env ## resolve requirements/*.lock anew (needs uv)
	@tools/lock.sh

have-python:
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) was not found; name an interpreter with \`make PYTHON=python3.12\`" >&2; exit 1; }

demo-env: have-python
	@$(BOOTSTRAP) demo $(PYTHON_GIVEN)

dev-env: have-python
	@$(BOOTSTRAP) dev $(PYTHON_GIVEN)
