# Every command sets up a local .venv by itself; only Python 3.11 or newer (with its venv module) must be there.

TARGET ?= torch
BUDGET ?=
FUZZ_OPTIONS ?=
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$python; break; fi; done)

VENV := .venv
BIN := $(VENV)/bin
# The stamp is made last: a set-up that was interrupted is taken up again.
STAMP := $(VENV)/.set-up-$(TARGET)

.PHONY: help fuzz test lint clean

help:
	@echo "make fuzz [TARGET=torch] [BUDGET=60s] [FUZZ_OPTIONS=...]   fuzz; Ctrl-C is safe, the same command resumes"
	@echo "make test                                                  run the tests"
	@echo "make lint                                                  ruff and mypy"
	@echo "make clean                                                 remove .venv and caches (campaigns stay)"

fuzz: $(STAMP)
	@$(BIN)/evo-nabla fuzz $(TARGET) $(if $(BUDGET),--budget "$(BUDGET)") $(FUZZ_OPTIONS)

test: $(STAMP)
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile

lint: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

$(STAMP): pyproject.toml constraints.txt setup.py evo_nabla/target/observers/probe.c
	@if [ -z "$(PYTHON)" ]; then echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11" >&2; exit 2; fi
	@echo "Setting up $(VENV) with $(TARGET) (a few minutes the first time) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$(TARGET),dev]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
