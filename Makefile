# Every target works on a fresh clone with only Python 3.10+ and make: it makes its own virtual environment.
PYTHON ?= python3
FAST := tests/core tests/grounding tests/settings tests/parity tests/evaluate tests/test_rooms.py
# Tests that start programs, servers or many processes: minutes each, and rarely broken by a change elsewhere.
PROCESSES := tests/benchmarks tests/cli tests/demo tests/doctor tests/neighbours tests/processes tests/dashboards/test_alerts.py \
	tests/fleet/test_killed_agents.py tests/labels/test_page.py tests/langchain/test_pickled.py tests/test_page_examples.py \
	tests/test_pages.py tests/test_start.py tests/turns/test_instrumentations.py
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
SERVER := .venv-server

.PHONY: help demo test test-fast coverage docs words lint types unit processes server-test matrix peers fuzz bench settings dashboards pictures stack stack-up stack-down fleet-up fleet-down fleet-test e2e clean

help:
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "draftcritic needs Python 3.10 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

demo: $(STAMP) ## an ordinary LangGraph agent, started unchanged, its drafts reviewed
	$(BIN)/draftcritic demo $(ARGS)

test: lint types unit ## format, lint, types, and all tests that start no programs of their own

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python scripts/check_words.py

words: $(STAMP) ## plain English: the rate of words that make readers stumble
	$(BIN)/python scripts/check_words.py

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/python -m pytest -n 2 --ignore=tests/e2e --ignore=tests/fleet_e2e $(PROCESSES:%=--ignore=%) $(ARGS)

processes: $(STAMP) ## the tests that start programs: agents, servers, commands, neighbours, promtool
	$(BIN)/python -m pytest -n 2 $(PROCESSES) $(ARGS)

$(SERVER)/.installed: pyproject.toml
	$(PYTHON) -m venv $(SERVER)
	$(SERVER)/bin/python -m pip install --quiet --upgrade pip
	$(SERVER)/bin/python -m pip install --quiet --editable '.[test]' 'langgraph-cli[inmem]'
	touch $@

server-test: $(SERVER)/.installed ## the tests against a real LangGraph server, which has an environment of its own (Python 3.11 or newer)
	$(SERVER)/bin/python -m pytest -q tests/processes/test_langgraph_server.py $(ARGS)

test-fast: $(STAMP) ## the pure part alone: no processes, servers or frameworks
	$(BIN)/python -m pytest -q -n 2 $(FAST) $(ARGS)

coverage: $(STAMP) ## the suite with branch coverage; fails below the floor in pyproject.toml
	$(BIN)/python -m pytest -q -n 2 --ignore=tests/e2e --ignore=tests/fleet_e2e --cov --cov-report=term --cov-report=html:build/coverage $(ARGS)

docs: $(STAMP) ## the documentation site, warnings as errors, into build/site
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/mkdocs build --strict

matrix: ## the tests that touch others' code, with the oldest (Python 3.10) and the newest versions (Python 3.13)
	$(PYTHON) tests/constraints/run.py $(ARGS)

peers: $(STAMP) ## the unit tests of LangChain's own packages with the plugin off, in observe and in enforce: ARGS=--short
	$(BIN)/python tests/peers/run.py $(ARGS)

fuzz: $(STAMP) ## tries hostile values until told to stop: ARGS='--minutes 10'
	$(BIN)/python -m fuzz $(ARGS)

bench: $(STAMP) ## overhead of a skipped review, side by side with the neighbours
	$(BIN)/python benchmarks/overhead.py $(ARGS)

dashboards: $(STAMP) ## writes the dashboards and alert rules anew from grafana/generate (Python 3.11 or newer)
	PYTHONPATH=grafana $(BIN)/python -m generate $(ARGS)

pictures: ## draws the dashboards in Chromium from the data of a running stack (Node.js, chromium); FROM=now-30m
	cd grafana/render && npm ci --ignore-scripts --no-audit --no-fund && node render.mjs --into ../../.stack/pictures --from $(or $(FROM),now-30m) $(ARGS)

stack: ## collector, Jaeger, Prometheus and Alertmanager, built or fetched once into a cache (Go and Debian)
	$(PYTHON) -m stack build

stack-up: ## starts them on loopback and prints the addresses; WEBHOOK=http://127.0.0.1:PORT/ gets the alerts
	$(PYTHON) -m stack up $(if $(WEBHOOK),--webhook $(WEBHOOK)) $(ARGS)

stack-down: ## stops what stack-up started
	$(PYTHON) -m stack down

fleet-up: ## starts RabbitMQ and Redis on loopback, from the packages of this machine's Debian
	$(PYTHON) -m stack fleet-up $(ARGS)

fleet-down: ## stops them
	$(PYTHON) -m stack fleet-down

fleet-test: $(STAMP) ## the fleet on the real programs: killed agents and workers, a broker restart, shared budgets
	$(PYTHON) -m stack fleet-build
	$(BIN)/python -m pytest -q tests/fleet_e2e $(ARGS)

e2e: $(STAMP) stack ## the example agent against the real stack, through the programs' own interfaces
	$(BIN)/python -m pytest -q tests/e2e $(ARGS)

clean: ## removes the virtual environment and caches
	rm -rf $(VENV) $(SERVER) .venv-oldest .venv-newest .pytest_cache .mypy_cache .ruff_cache .hypothesis
