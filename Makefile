# Every target sets itself up: virtual environment, Python packages, Debian's Fashion-MNIST and Chromium for the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FASHION := /usr/share/datasets/fashion-mnist

.PHONY: demo serve test test-slow lint docs figures bench experiments packages release clean

demo: $(VENV)/.plots,serve
	$(BIN)/longwave demo

# The demonstration's collection and its page, in a browser where there is one.
serve: $(VENV)/.plots,serve
	test -d demo.longwave || $(BIN)/longwave demo
	$(BIN)/longwave serve demo.longwave --browser

test: $(VENV)/.test fashion browser
	$(BIN)/python -m pytest -n 2

test-slow: $(VENV)/.test fashion browser
	$(BIN)/python -m pytest -n 2 -m "slow or not slow"

lint: $(VENV)/.lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The site, into site/ (open site/index.html); warnings are errors. References are written anew first.
docs: $(VENV)/.docs
	$(BIN)/python -m longwave.cli.reference > docs/cli.md
	$(BIN)/python -m longwave.server.reference > docs/http.md
	$(BIN)/python -m handbook.comparison
	$(BIN)/properdocs build --strict

# The figures of the concepts, from digits; seconds.
figures: $(VENV)/.docs
	$(BIN)/python -m handbook.figures

bench: $(VENV)/.bench fashion
	$(BIN)/python -m benchmarks

# Every figure and table of the paper, from ../shared/data (or DATA=folder); goes on where it was stopped.
experiments: $(VENV)/.plots fashion
	$(BIN)/longwave experiment all $(if $(DATA),--data $(DATA)) -o docs/results
	$(BIN)/longwave report docs/results

# Wheel and sdist in dist/, tried alone in every supported Python that is here; `release` also wants tag and changelog.
packages: $(VENV)/.release
	$(BIN)/python -m handbook.release

release: $(VENV)/.release
	$(BIN)/python -m handbook.release --tagged

clean:
	rm -rf $(VENV)

# .venv/.EXTRA: the package with that extra, installed anew whenever pyproject.toml changes.
$(VENV)/.%: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Longwave needs Python 3.11 or later")'
	@echo "Installing Longwave with [$*] into $(VENV): a minute or two, once"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

.PHONY: fashion
fashion:
	@test -d $(FASHION) || { command -v apt-get >/dev/null && test "$$(id -u)" = 0 && apt-get update -qq \
		&& apt-get install -y -qq dataset-fashion-mnist; } \
		|| echo "Fashion-MNIST is not installed (Debian package dataset-fashion-mnist): what needs it is skipped"

.PHONY: browser
browser:
	@command -v chromium >/dev/null || { command -v apt-get >/dev/null && test "$$(id -u)" = 0 && apt-get update -qq \
		&& apt-get install -y -qq chromium; } \
		|| echo "Chromium is not installed (Debian package chromium): tests of the page are skipped"
