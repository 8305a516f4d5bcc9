# Two commands: `make studio` and `make test`. Everything else is a part of them, or of a release (docs, dist, release-check).
# Needs Python 3.11+, Node 20.19+, make and git. What was done is remembered in .make/.

PYTHON ?= python3
BIN := .venv/bin
PIP := -m pip install --quiet --disable-pip-version-check --no-deps
# wheels alone, each with a hash that was written down: nothing of a package runs before it is known
LOCKED := $(PIP) --require-hashes --only-binary :all:
TOOLS := .make/tools/bin
SITE := .make/docs/bin
DIST := dist
WEB := $(shell find web -type f -not -path 'web/node_modules/*' 2>/dev/null)
KERNELS := $(shell find src/langscape/kernels src/langscape/metrics src/langscape/sources -name '*.py')

.PHONY: studio test test-fast check attack bench soak page wheel clean lock sbom browser docs dist release-check

studio: .make/package .make/page .make/kernels .make/model .make/examples
	$(BIN)/langscape studio

test: check web-test .make/tests browser .make/page .make/kernels .make/model $(TOOLS)/.done
	$(BIN)/python -m pytest -n 2 --durations=30

test-fast: .make/tests .make/kernels .make/model
	$(BIN)/python -m pytest -n 2 -m "not slow and not browser" -q

check: .make/tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

.PHONY: web-test
web-test: web/node_modules/.done .make/package
	cd web && npm run --silent format:check
	$(BIN)/python scripts/write_openapi.py .make/openapi.json
	cd web && npm run --silent api -- --check
	cd web && npm run --silent check && npm run --silent test

# the page's types of what the server takes and gives
.PHONY: api
api: web/node_modules/.done .make/package
	$(BIN)/python scripts/write_openapi.py .make/openapi.json
	cd web && npm run --silent api

# about forty minutes; the small budget is a part of `make test`
attack: .make/tests .make/browser .make/page .make/kernels .make/model
	$(BIN)/python -m tests.attack --budget full --write

bench: .make/tests .make/kernels
	$(BIN)/python -m bench --get-peers
	$(BIN)/python -m bench
	$(BIN)/python -m bench.distribution_layouts

soak: .make/tests .make/kernels
	LANGSCAPE_KILLS=200 $(BIN)/python -m pytest tests/run/test_kills.py tests/run/test_cluster.py -k "kill or random" -q

page: .make/page

wheel: .make/tests
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $(DIST) .

# sdist and wheel, the wheel made from the sdist, so that it needs nothing of this folder
dist: .make/tests
	rm -f $(DIST)/langscape-*.tar.gz $(DIST)/langscape-*.whl
	$(BIN)/python -m hatchling build --target sdist --directory $(DIST)
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $(DIST) $(DIST)/langscape-*.tar.gz

# the wheel in an environment of its own, without Node and away from this folder: demo, studio in Chromium, a notebook
release-check: dist .make/model browser
	$(BIN)/python -m scripts.release_check $(DIST)/langscape-*.whl

# the documentation as one folder that needs no server and asks for nothing elsewhere: open dist/site/index.html
docs: .make/package .make/page .make/kernels .make/model $(SITE)/.done
	$(BIN)/python -m scripts.site.assemble .make/site/pages
	$(BIN)/python -m scripts.gallery .make/site/pages/gallery
	$(BIN)/python -m scripts.lessons .make/site/pages/lessons
	NO_MKDOCS_2_WARNING=1 $(SITE)/mkdocs build --quiet --strict --site-dir $(DIST)/site
	$(BIN)/python -m scripts.site.links $(DIST)/site

$(SITE)/.done: requirements/docs.txt
	@mkdir -p .make
	$(PYTHON) -m venv .make/docs
	$(SITE)/python $(LOCKED) -r requirements/docs.txt
	@touch $@

clean:
	rm -rf .make dist demo src/langscape/static web/node_modules

.make/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "langscape needs Python 3.11 or newer")'
	@mkdir -p .make
	$(PYTHON) -m venv .venv
	@touch $@

# torch without CUDA where pip is told of a place that has it (PIP_FIND_LINKS, PIP_EXTRA_INDEX_URL), which saves gigabytes
.make/package: .make/venv pyproject.toml requirements/package.txt requirements/torch.txt requirements/torch-cpu.txt
	@echo "installing langscape and what it needs (a few minutes the first time)"
	$(BIN)/python $(LOCKED) -r requirements/package.txt
	@$(BIN)/python $(LOCKED) -r requirements/torch-cpu.txt 2>/dev/null || $(BIN)/python $(LOCKED) -r requirements/torch.txt
	$(BIN)/python $(PIP) --no-build-isolation --editable .
	@touch $@

.make/tests: .make/package requirements/tests.txt
	@echo "installing what the tests need"
	$(BIN)/python $(LOCKED) -r requirements/tests.txt
	@touch $@

# what makes the lock files and the bills of materials, apart from what they are about
$(TOOLS)/.done: requirements/tools.txt
	@mkdir -p .make
	$(PYTHON) -m venv .make/tools
	$(TOOLS)/python $(LOCKED) -r requirements/tools.txt
	@touch $@

lock: $(TOOLS)/.done
	$(TOOLS)/python scripts/lock.py --uv $(TOOLS)/uv

# what is installed, and what the page is built from, in CycloneDX's form
sbom: .make/package $(TOOLS)/.done
	@mkdir -p $(DIST)
	$(TOOLS)/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
	  --output-file $(DIST)/langscape-python.cdx.json $(BIN)/python
	cd web && npm sbom --silent --package-lock-only --sbom-format cyclonedx >$(abspath $(DIST))/langscape-page.cdx.json

web/node_modules/.done: web/package.json web/package-lock.json
	@command -v node >/dev/null || { echo "Node 20.19 or newer is missing; the page is built with it"; exit 1; }
	cd web && npm ci --silent --no-audit --no-fund
	@touch $@

.make/page: web/node_modules/.done $(WEB)
	cd web && npm run --silent build
	@mkdir -p .make && touch $@

.make/kernels: .make/package $(KERNELS)
	@echo "compiling the kernels (one or two minutes, once)"
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

# Without Chromium the other tests run, and the last lines say what was left out. Root has it installed; others are told how.
browser: .make/tests
	@if [ -z "$$CHROMIUM" ] && ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && \
	    ! command -v google-chrome >/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing chromium"; \
	    { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || echo "chromium could not be installed"; \
	  else \
	    echo "Chromium is missing, so the tests of pages in a browser are left out; everything else runs. To have it:"; \
	    echo "    Debian, Ubuntu   sudo apt-get install chromium"; \
	    echo "    Fedora           sudo dnf install chromium"; \
	    echo "    macOS            brew install --cask chromium"; \
	    echo "    without rights   $(BIN)/python -m playwright install chromium, then CHROMIUM=<its path> make test"; \
	  fi; \
	fi
