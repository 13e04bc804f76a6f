# make demo    fit PSVC beside SVC on the breast-cancer data: a table, and demo.png
# make test    ruff, mypy and pytest
# make bench   the benchmarks (options in ARGS="...")
#
# Everything is installed into ./.venv, once; C++ is recompiled when it changed. Choose another
# interpreter with `make PYTHON=python3.13 test`; pass options to pytest with ARGS="-k loss".

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
LOG := $(VENV)/install.log
PYTHON ?=
ARGS ?=
CPP := $(wildcard cpp/*.cpp cpp/*.hpp)

# One thread per test worker: the workers are the parallelism. (SCIPY_ARRAY_API, set for pytest,
# turns on scikit-learn's checks of array-API input.)
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help demo test bench lint format clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

demo: $(READY)/psvm $(READY)/plot
	@$(BIN)/python examples/demo.py $(ARGS)

lint: $(READY)/psvm $(READY)/test
	@echo "ruff check" && $(BIN)/ruff check --quiet .
	@echo "ruff format" && $(BIN)/ruff format --quiet --check . \
		|| { echo "the files above are not formatted: run 'make format'"; exit 1; }
	@echo "clang-format" && for file in $(CPP); do $(BIN)/clang-format $$file | cmp -s $$file - \
		|| { echo "$$file is not formatted: run 'make format'"; exit 1; }; done
	@echo "mypy" && $(BIN)/mypy --no-error-summary

test: lint
	@echo "pytest"
	@$(ONE_THREAD) SCIPY_ARRAY_API=1 $(BIN)/pytest -q -n logical $(ARGS)

bench: $(READY)/psvm $(READY)/bench
	@$(BIN)/python -m benchmarks $(ARGS)

format: $(READY)/test
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format .
	@$(BIN)/clang-format -i $(CPP)

clean:
	rm -rf $(VENV) build dist demo.png .pytest_cache .mypy_cache .ruff_cache .hypothesis

# --- setting up ----------------------------------------------------------------------------------

# Run a command with its output in the log; on failure show the end of the log.
quietly = { $(1); } >>$(LOG) 2>&1 || { tail -n 40 $(LOG); echo "*** failed; the whole log is $(LOG)"; exit 1; }
pip = $(BIN)/python -m pip --disable-pip-version-check --no-input

# The lists of requirements live in pyproject.toml and nowhere else.
requirements = $(BIN)/python -c "import tomllib; \
	t = tomllib.load(open('pyproject.toml', 'rb')); print('\n'.join(t$(1)))"

$(READY)/venv:
	@found=; for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
		if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
			2>/dev/null; then found=$$python; break; fi; done; \
	if [ -z "$$found" ]; then echo "*** psvm needs Python 3.11 or newer with its venv module" \
		"(on Debian or Ubuntu: apt install python3-venv); none of python3, python3.11 ... has" \
		"both. Install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; fi; \
	echo "creating $(VENV) with $$($$found --version)"; \
	rm -rf $(VENV) && $$found -m venv $(VENV) && mkdir -p $(READY)
	@touch $@

$(READY)/build: $(READY)/venv pyproject.toml
	@c=; for compiler in $$CXX c++ g++ clang++; do \
		if command -v $$compiler >/dev/null 2>&1; then c=$$compiler; break; fi; done; \
	if [ -z "$$c" ]; then echo "*** psvm needs a C++20 compiler (g++ or clang++); none was" \
		"found. Install one, or name it in CXX." >&2; exit 1; fi
	@echo "installing the build tools"
	@$(call requirements,['build-system']['requires']) >$(READY)/build.txt
	@command -v cmake >/dev/null || echo cmake >>$(READY)/build.txt
	@command -v ninja >/dev/null || echo ninja >>$(READY)/build.txt
	@$(call quietly,$(pip) install -r $(READY)/build.txt)
	@touch $@

# Editable: a change of Python code needs no new install, a change of C++ an incremental build.
$(READY)/psvm: $(READY)/build CMakeLists.txt $(CPP)
	@echo "compiling and installing psvm"
	@$(call quietly,PATH="$(CURDIR)/$(BIN):$$PATH" $(pip) install --no-build-isolation -e .)
	@touch $@

$(READY)/plot $(READY)/test $(READY)/bench: $(READY)/venv pyproject.toml
	@echo "installing the $(@F) tools"
	@$(call requirements,['project']['optional-dependencies']['$(@F)']) >$@.txt
	@$(call quietly,$(pip) install -r $@.txt)
	@touch $@
