# The two commands of the README, and those of docs/contributing.md. Each sets up what it needs.
PYTHON ?= python3
BIN := .venv/bin

INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable

.PHONY: run test lint types tests model links picture benchmark translations lock

run: .venv/run-ready
	$(BIN)/python -m streamlit run serve.py

# Types are checked while the tests run, which wait for a browser now and then.
test: lint
	$(MAKE) --jobs types tests

lint: .venv/test-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv/test-ready
	$(BIN)/mypy

# Those in a browser come first, and whoever is done with its own takes over from the others.
tests: .venv/test-ready
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

# A preset of a Hugging Face configuration, with what had to be assumed; NAME, SOURCE and HUB if known.
model: .venv/test-ready
	@test -n "$(CONFIG)" -a -n "$(ID)" || { echo "Say which: make model CONFIG=config.json ID=my-model"; exit 1; }
	$(BIN)/python -m presets.writer "$(CONFIG)" "$(ID)" --name "$(NAME)" --source "$(SOURCE)" --hub "$(HUB)"

links: .venv/test-ready
	$(BIN)/python docs/links.py

picture: .venv/test-ready
	$(BIN)/python tests/browser/picture.py

translations: .venv/test-ready
	$(BIN)/pybabel --quiet extract -F pyproject.toml -k say -k marked --no-location --omit-header -o locales/messages.pot app.py calc pages
	$(BIN)/pybabel --quiet update -i locales/messages.pot -d locales --no-fuzzy-matching --ignore-obsolete

benchmark: .venv/test-ready
	$(BIN)/python tests/benchmarks/core.py
	$(BIN)/python tests/benchmarks/page.py
	PYTHONPATH=. $(BIN)/python tests/benchmarks/calibration.py

# The newest versions that pyproject.toml allows, found in an environment of its own.
lock: | $(BIN)/python
	rm -rf .venv/lock && $(BIN)/python -m venv .venv/lock
	.venv/lock/bin/python -m pip install --quiet --editable '.[dev]'
	{ head -1 constraints.txt; .venv/lock/bin/python -m pip freeze --exclude-editable; } > .venv/locked
	rm -rf .venv/lock && mv .venv/locked constraints.txt

.venv/run-ready: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) .
	touch $@

.venv/test-ready: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) '.[dev]'
	touch $@ .venv/run-ready

# Debian and Ubuntu keep venv in a package of its own.
$(BIN)/python:
	$(PYTHON) -m venv .venv || { rm -rf .venv; test "$$(id -u)" = 0 && apt-get update -qq \
		&& apt-get install -y -qq python3-venv && $(PYTHON) -m venv .venv; } \
		|| { rm -rf .venv; echo "No virtual environment: install python3-venv, or set PYTHON to a Python 3.11 or later that has it"; exit 1; }
