# The one list of commands. `make` alone prints it; every target sets up what it needs, once.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
BIN := .venv/bin
NODE := tests/node
# One more than there are processors: many tests wait for other programs.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1)
# uv where the machine has it, else pip: the same lock, the same hashes.
UV := $(shell command -v uv 2>/dev/null)
export PATH := $(CURDIR)/.tools/bin:$(CURDIR)/$(BIN):$(PATH)
# Containers like to forbid bytecode; without it every process of the tests compiles what it imports.
unexport PYTHONPATH VIRTUAL_ENV PYTHONDONTWRITEBYTECODE

.PHONY: help setup run gitlab-emulator test check lint types suite conformance fuzz chaos hosts replicas scale fairness attack attack-newest worst-sources audit release mutants lazygit hooks terminals bench against many-comments anchors fix docs tools assistants more-assistants neighbours frameworks setup-entries lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.stamp-package ## the virtual environment with Postil and every development tool

run: setup ## serve this checkout over HTTP (ARGS='…' for other flags)
	$(BIN)/postil serve $(or $(ARGS),--http 127.0.0.1:3000)

gitlab-emulator: setup ## a stand-in for GitLab, to try that part without an account (ARGS='--port 8929')
	$(if $(DATA),$(BIN)/python -m tests.emulator.recorded $(DATA))
	$(BIN)/python -m tests.emulator.server $(ARGS)

# The types are checked beside the tests: pyright needs a minute of one processor, and the tests wait a good deal.
test: ## every check and every test, as CI runs them
	$(MAKE) --no-print-directory --jobs=4 types suite

check: lint types ## formatting, lint, layers and types

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.supply licences

types: setup
	$(BIN)/pyright

suite: lint .tools/.stamp $(NODE)/node_modules/.stamp $(if $(CI),assistants)
	$(BIN)/python -m scripts.suite -n $(WORKERS) --dist worksteal --durations 15 --durations-min 3 $(ARGS)

# Needs the database of advisories: where it cannot be had, it says so and CI's other checks still count.
audit: setup .venv-audit/.stamp ## known vulnerabilities of the locked packages, where pip-audit and its data can be had
	@test -x .venv-audit/bin/pip-audit || { echo "audit: skipped: pip-audit cannot be installed here"; exit 0; }; \
	  { .venv-audit/bin/pip-audit --require-hashes --disable-pip --format json --progress-spinner off -r requirements.lock || true; } \
	  | $(BIN)/python -m scripts.supply audit

release: setup ## the wheel, a bill of materials (CycloneDX) and a statement of provenance, in dist/
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	$(BIN)/python -m scripts.supply release dist

anchors: setup ## score anchoring on known truth (DATA=…, SCORER=… if not score.py beside it, PACKAGES='pypi:… npm:…'), write docs/benchmarks.md
	$(BIN)/python -m scripts.anchors $(or $(SCORER),$(dir $(firstword $(DATA)))score.py) $(DATA) $(PACKAGES)

fix: setup ## format and repair what can be repaired
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

conformance: setup $(NODE)/node_modules/.stamp ## the official conformance suite, one line a protocol version
	$(BIN)/python -m tests.conformance

fuzz: setup ## fuzz both transports for longer than CI does (FRAMES=1000000)
	$(BIN)/python -m tests.fuzz --frames $(or $(FRAMES),1000000)

fairness: setup ## the p99 of twenty good callers with and without a hostile one beside them, for every operation, in turns (ARGS="--turns 12 add_comment")
	$(BIN)/python -m tests.fairness $(ARGS)

scale: setup ## simulate how many machines so many teams need (ARGS="--teams 10 1000 100000")
	$(BIN)/python -m scripts.scale $(ARGS)

chaos: setup .tools/.stamp ## try to lose data: kills, power cuts, I/O errors, stalls (ARGS="--kills 5000 --cuts 500 --write")
	$(BIN)/python -m tests.chaos $(ARGS)

hosts: setup .tools/.stamp ## one workspace on three hosts that are killed and paused (ARGS="--writes 1000 --troubles 60")
	$(BIN)/python -m tests.hosting $(ARGS)

replicas: setup .tools/.stamp ## three replicas behind a real proxy while they and PostgreSQL fail (ARGS="--calls 20000 --proxy caddy")
	$(BIN)/python -m tests.surfaces.replica_run $(ARGS)

hostile: setup ## honest clones of the tracker beside a hostile one, 600 rounds
	POSTIL_HOSTILE_ROUNDS=600 $(BIN)/python -m pytest -q --timeout=0 -n $(WORKERS) tests/tracker/test_hostile_clones.py $(ARGS)

hostile-gitlab: setup ## 50,000 calls to a GitLab that answers what it should not (CALLS=…)
	$(BIN)/python -m tests.gitlab.hostile_bodies $(or $(CALLS),50000)

mutants: setup ## break the code on purpose and count what the tests notice (ARGS="core --sample 50")
	$(BIN)/python -m scripts.mutants $(or $(ARGS),--map)

ATTACKS := tests/attack tests/workspace tests/core/test_limits.py tests/core/others tests/anchor/syntax tests/wire/protocol/test_jsonrpc.py \
  tests/surfaces/http tests/surfaces/gateway tests/gitlab/policy tests/fuzz tests/comments/test_places.py

attack: setup ## the whole corpus (hostile repositories, requests, texts) against the product, with the installed git
	$(BIN)/python -m pytest -n $(WORKERS) $(ATTACKS) $(ARGS)

worst-sources: setup ## search for the sources that are dearest to parse, for every grammar (ARGS="--seconds 60")
	$(BIN)/python -m tests.attack.worst_sources $(ARGS)

attack-newest: .tools/git-newest/bin/git ## the same with the newest git, built from Debian's source package
	PATH="$(CURDIR)/.tools/git-newest/bin:$$PATH" $(MAKE) attack

.tools/git-newest/bin/git: scripts/newest_git
	$(PYTHON) scripts/newest_git .tools/git-newest

lazygit: setup .tools/.stamp ## drive every version of lazygit in tmux (ARGS="0.66.2", or ARGS="--lines 400")
	$(BIN)/python -m tests.e2e $(ARGS)

hooks: setup assistants $(NODE)/copilot/node_modules/.stamp ## our hooks in Claude Code, Codex, Gemini CLI and Copilot CLI, without accounts (ARGS="claude")
	$(BIN)/python -m tests.clients.hook_runners $(ARGS)

terminals: setup .tools/.stamp ## real kitty, xclip and xsel under Xvfb, from Debian packages
	$(PYTHON) scripts/tools terminals
	$(BIN)/python -m tests.e2e.terminals

# Its rows about assistants need `make assistants more-assistants` beforehand (1.8 GB), and say so where these are missing.
bench: setup .tools/.stamp .venv-bench/.stamp $(NODE)/node_modules/.stamp bench/peers/node_modules/.stamp ## measure against others, write docs/benchmarks.md (ARGS="tracker", --quick, --list)
	$(BIN)/python -m bench $(ARGS)

against: setup ## what ordinary calls cost beside an older checkout in which `make setup` ran (BASE=../older, ARGS="--rounds 15")
	$(BIN)/python -m bench.against $(BASE) $(ARGS)

many-comments: setup ## what each command costs over a million comments of which a fifth lost their code (half an hour, ARGS="--comments 100000")
	$(BIN)/python -m bench.million_comments $(ARGS)

docs: setup ## regenerate docs/reference.md from the operations
	$(BIN)/python -m scripts.reference

tools: .venv/.stamp-lock ## Redis, PostgreSQL, nginx, Caddy, Chromium, tmux, strace from Debian packages; lazygit in six versions from wheels
	$(PYTHON) scripts/tools

frameworks: setup $(NODE)/frameworks/node_modules/.stamp ## 15 frameworks of Python and 4 of JavaScript connect, list, convert and call (4 GB, ARGS="langchain")
	$(BIN)/python -m tests.clients.frameworks $(ARGS)

neighbours: setup ## one hostile connection beside twenty good ones: what these wait (p99), with it and without
	$(BIN)/python -m bench.neighbours

setup-entries: setup assistants more-assistants $(NODE)/cline/node_modules/.stamp ## what `postil setup` writes, read by seven real clients, without accounts (2 GB, ARGS="claude")
	$(BIN)/python -m tests.clients.setup_entries $(ARGS)

more-assistants: $(NODE)/more_assistants/node_modules/.stamp ## Copilot CLI, OpenCode and Qwen Code, for the bench (900 MB)

# The assistants are 900 MB: CI has them, people ask for them.
assistants: $(NODE)/assistants/node_modules/.stamp ## Claude Code, Codex and Gemini CLI, for the tests that connect them (900 MB)

lock: setup ## resolve the dependencies anew: requirements.lock and package-lock.json, without addresses
	$(BIN)/python scripts/lock

clean: ## remove everything that set-up made
	rm -rf .venv .venv-bench .venv-audit .tools .frameworks $(NODE)/frameworks/node_modules $(NODE)/more_assistants/node_modules $(NODE)/node_modules $(NODE)/assistants/node_modules $(NODE)/copilot/node_modules $(NODE)/cline/node_modules bench/peers/node_modules

.venv/bin/python:
	$(if $(UV),$(UV) venv --quiet --allow-existing --seed --python $(PYTHON) .venv,$(PYTHON) -m venv .venv)

.venv/.stamp-lock: requirements.lock | .venv/bin/python
ifneq ($(UV),)
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes --compile-bytecode -r requirements.lock
else
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
endif
	$(BIN)/python scripts/link_node
	touch $@

# Without build isolation: the build backend is in the lock too, so nothing unhashed is fetched.
.venv/.stamp-package: pyproject.toml .venv/.stamp-lock
ifneq ($(UV),)
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
else
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
endif
	$(BIN)/python -m compileall -q src
	touch $@

# Apart from our own packages: pip-audit brings thirty of its own.
.venv-audit/.stamp:
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --quiet pip-audit || true
	touch $@

# The servers we are measured against, and Postil beside them, in an environment of their own.
.venv-bench/.stamp: bench/requirements.lock pyproject.toml .venv/.stamp-lock
ifneq ($(UV),)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv-bench
	$(UV) pip install --quiet --python .venv-bench/bin/python --require-hashes --compile-bytecode -r bench/requirements.lock
	$(UV) pip install --quiet --python .venv-bench/bin/python --no-deps --no-build-isolation -e .
else
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --require-hashes -r bench/requirements.lock
	.venv-bench/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
endif
	touch $@

# Programs that are one optional package a platform: a lock names those that were seen, and `npm ci` would refuse it.
bench/peers/node_modules/.stamp $(NODE)/more_assistants/node_modules/.stamp $(NODE)/cline/node_modules/.stamp: %/node_modules/.stamp: %/package-lock.json .venv/.stamp-lock
	cd $* && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

%/node_modules/.stamp: %/package-lock.json .venv/.stamp-lock
	cd $* && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

.tools/.stamp: scripts/tools tests/e2e/lazygit.lock | .venv/bin/python
	$(PYTHON) scripts/tools
	mkdir -p .tools && touch $@
