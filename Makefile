# make demo       fit PSVC beside SVC on the breast-cancer data: a table, and demo.png
# make test       ruff, mypy and pytest, without the slow tests
# make test-all   ruff and mypy, two minutes of fuzz, the slow tests, then pytest as in make test
# make test-minimum   the tests with the oldest numpy, scipy and scikit-learn that are allowed
# make bench      the benchmarks (options in ARGS="..."): two large sets, and a quick look at
#                 everyday problems
# make bench-quick   under two minutes: ratios to scikit-learn on small problems, beside the last run
# make docs       the site, build/site/index.html: opens from there, without a server or a network
# make test-docs  the site in chromium: links, pictures, formulas, keyboard, contrast, small screens
# make fuzz       random fits, files and failures, judged in extended precision (MINUTES=10); a case
#                 again with SEED=..., so many with FITS=..., REGRESSIONS=..., FILES=..., STRESS=...,
#                 one kind alone with ONLY=regressions
# make wheel      dist/: the sdist, and from it the wheel for this machine; installed without a
#                 compiler and tried. ZIG=x86_64-linux-gnu.2.17 has it compiled by PyPI's ziglang,
#                 for older systems (aarch64-linux-gnu.2.17: for another machine, not tried)
# make test-aarch64   the tests of the C++ core, compiled by ziglang for aarch64 and run by qemu-user
# make check-dist metadata, contents, tags and ABI of what is in dist/
# make sanitize   the tests that reach every loop of the C++ core, under AddressSanitizer and UBSan
# make sanitize-threads   the tests with threads, under ThreadSanitizer
# make locked     the exact versions of requirements/dev.txt, for what follows: make locked test
# make lock       writes them anew: the newest that pyproject.toml allows
#
# Everything is installed into ./.venv, once; C++ is recompiled when it changed. Choose another
# interpreter with `make PYTHON=python3.13 test`; pass options to pytest with ARGS="-k loss".

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
LOG := $(VENV)/install.log
PYTHON ?=
ARGS ?=
CPP := $(wildcard cpp/*/*.cpp cpp/*/*.hpp)
CPP_TESTS := $(wildcard tests/cpp/*.?pp tests/cpp/*/*.?pp)
BUILD := build/editable
WHEELS := $(wildcard dist/psvm-*.whl)

# One thread per test worker: the workers are the parallelism. (SCIPY_ARRAY_API, set for pytest,
# turns on scikit-learn's checks of array-API input.)
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST := $(ONE_THREAD) SCIPY_ARRAY_API=1 PSVM_CPP_TESTS=$(BUILD)/psvm_tests \
	$(BIN)/pytest -q -n logical

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-minimum pytest fuzz bench bench-quick bench-compare sanitize sanitize-threads \
	docs test-docs wheel check-dist test-aarch64 lock locked lint format clean asked-python
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

# A wheel in dist/ spares the compiler; what is compiled already is preferred, for it is newer.
demo: $(if $(wildcard $(READY)/psvm),$(READY)/psvm,$(if $(WHEELS),$(READY)/wheel,$(READY)/psvm)) $(READY)/plot
	@$(BIN)/python examples/demo.py $(ARGS)

lint: $(READY)/psvm $(READY)/test
	@echo "ruff check" && $(BIN)/ruff check --quiet .
	@echo "ruff format" && $(BIN)/ruff format --quiet --check . \
		|| { echo "the files above are not formatted: run 'make format'"; exit 1; }
	@echo "clang-format" && for file in $(CPP) $(CPP_TESTS); do \
		$(BIN)/clang-format $$file | cmp -s $$file - || { echo "$$file is not formatted: run 'make format'"; exit 1; }; done
	@echo "mypy" && $(BIN)/mypy --no-error-summary

test: lint
	@$(MAKE) --no-print-directory pytest

# The fuzz has the same cases in every run, so that a finding is a change. 5: none of the tests
# chosen in ARGS is slow. Most tests come last, for their summary to be the end.
test-all: lint $(READY)/cpp_tests
	@echo "two minutes of fuzz"
	@$(MAKE) --no-print-directory fuzz MINUTES=2 BASE=8000000
	@echo "pytest, the slow tests"
	@$(PYTEST) -m slow $(ARGS) || [ $$? -eq 5 ]
	@$(MAKE) --no-print-directory pytest

pytest: $(READY)/cpp_tests
	@echo "pytest"
	@$(PYTEST) -m "not slow" $(ARGS)

# Every case is determined by its seed; failing ones are kept in build/fuzz/failing.txt (SEED=kept).
MINUTES ?= 10
fuzz: $(READY)/psvm $(READY)/test
	@$(ONE_THREAD) PYTHONPATH=tests $(BIN)/python -m torture --minutes $(MINUTES) \
		$(if $(SEED),--seed $(SEED)) $(if $(BASE),--base $(BASE)) $(if $(WORKERS),--workers $(WORKERS)) \
		$(if $(FITS),--fits $(FITS)) $(if $(REGRESSIONS),--regressions $(REGRESSIONS)) \
		$(if $(FILES),--files $(FILES)) $(if $(STRESS),--stress $(STRESS)) $(if $(ONLY),--only $(ONLY))

bench: $(READY)/psvm $(READY)/bench
	@$(BIN)/python -m benchmarks $(ARGS)
	@$(if $(ARGS),,$(BIN)/python -m benchmarks everyday --quick)

# Small problems of all kinds in under two minutes, compared with the last published run by ratios to
# scikit-learn, and written for airspeed velocity.
QUICK := benchmarks/results/quick_everyday.json
bench-quick: $(READY)/psvm $(READY)/bench
	@$(BIN)/python -m benchmarks.everyday --quick
	@$(BIN)/python -m benchmarks.track $(QUICK) --asv build/asv $(ARGS)

# Two results of bench-quick, from one machine: BEFORE=... and the one that is here.
bench-compare: $(READY)/psvm $(READY)/bench
	@$(BIN)/python -m benchmarks.track $(QUICK) --before $(BEFORE) --fail-below 0.75 $(ARGS)

# The oldest versions that pyproject.toml allows of what psvm requires, in an environment of their own;
# of the tools for tests those that go with them. Chosen tests: all that meets numpy, scipy and
# scikit-learn; not the command line, whose extra asks for newer ones. What old packages lack is in
# tests/old_packages.py. (scikit-learn 1.7 parametrises tests by a generator, which pytest 9 warns of.)
MINIMUM := mathematics rows solvers estimators search persistence test_bounds.py
test-minimum: $(READY)/minimum
	@$(VENV)/minimum/bin/python -c "import numpy, scipy, sklearn; print('pytest with numpy', \
		numpy.__version__, 'scipy', scipy.__version__, 'scikit-learn', sklearn.__version__)"
	@$(ONE_THREAD) SCIPY_ARRAY_API=1 $(VENV)/minimum/bin/python -m pytest -q -n logical \
		-m "not slow" -W "ignore:Passing a non-Collection iterable" $(MINIMUM:%=tests/%) $(ARGS)

# The core is compiled once more with checks, into a virtual environment of its own that borrows
# the other packages. Python itself is not instrumented, so the sanitizer is loaded first
# (libstdc++ with it, or its exceptions are not seen), and malloc is the system's. Leaks are not
# looked for: the interpreter never frees everything. A finding ends its process and fails the run;
# with --capture=sys pytest does not swallow what a process says before it dies.
# Chosen tests: every kernel, dense and sparse rows, float32 and float64, several classes, both
# linear solvers, blocks of rows, searches; not the tests that measure memory, which the sanitizer
# takes.
CHECKS_sanitize := -fsanitize=address,undefined -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS
RUNTIME_sanitize := libasan.so
SANITIZED := cpp mathematics/test_multiclass.py rows solvers estimators/test_linear_blocks.py \
	estimators/test_linear_oracle.py estimators/test_svc_oracle.py \
	estimators/test_svc_parameters.py estimators/test_svc_storage.py \
	estimators/test_svr_oracle.py estimators/test_linear_svr_oracle.py \
	search/test_against_grid_search.py search/test_refit.py \
	search/test_regressor_against_grid_search.py
gcc_library = $(shell $(CXX) -print-file-name=$(1))

sanitize: $(READY)/sanitize
	@echo "pytest under AddressSanitizer and UBSan"
	@LD_PRELOAD="$(call gcc_library,libasan.so):$(call gcc_library,libstdc++.so)" \
		PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
		$(ONE_THREAD) SCIPY_ARRAY_API=1 PSVM_CPP_TESTS=build/sanitize/psvm_tests \
		$(VENV)/sanitize/bin/python -m pytest -q -n logical \
		--capture=sys $(SANITIZED:%=tests/%) \
		--deselect tests/estimators/test_linear_blocks.py::test_a_memory_map_is_not_loaded \
		--deselect tests/solvers/kernel/test_working_set_parts.py::test_a_part_takes_no_memory_to_speak_of $(ARGS)

# The same for races: threads of the core within a fit and in several fits at once. What Python,
# NumPy and BLAS do is not seen. A report does not end the process, it fails the run at its end.
# TSan cannot follow a fork from a process with threads, and is ten times as slow: no tests of
# forks, memory and seconds.
CHECKS_sanitize-threads := -fsanitize=thread
RUNTIME_sanitize-threads := libtsan.so
THREADED := cpp/test_headers.py estimators/test_threads_and_interrupts.py \
	solvers/kernel/test_working_set_parts.py solvers/linear/test_passes.py
UNTHREADED := answered fork interpreter joblib left_behind max_time one_thread threadpool

sanitize-threads: $(READY)/sanitize-threads
	@echo "pytest under ThreadSanitizer"
	@LD_PRELOAD="$(call gcc_library,libtsan.so):$(call gcc_library,libstdc++.so)" \
		TSAN_OPTIONS="exitcode=66 die_after_fork=0 suppressions=$(CURDIR)/tests/sanitize-threads.supp" \
		$(ONE_THREAD) SCIPY_ARRAY_API=1 PSVM_CPP_TESTS=build/sanitize-threads/psvm_tests \
		$(VENV)/sanitize-threads/bin/python -m pytest -q -p no:xdist --capture=sys \
		$(THREADED:%=tests/%) -k "not (memory $(UNTHREADED:%=or %))" $(ARGS)

# --- the site ------------------------------------------------------------------------------------

# Warnings are errors. The gallery's programs run one at a time, each with all threads.
SPHINX := $(BIN)/python -m sphinx -q -W --keep-going -d build/site-doctrees docs build/site
docs: $(READY)/psvm $(READY)/docs
	@echo "building the site (some minutes the first time)"
	@$(SPHINX) $(ARGS)
	@echo "built: build/site/index.html"

# In chromium, which the system has to bring (chromium or google-chrome), as it does node.
AXE := build/axe/node_modules/axe-core/axe.min.js
test-docs: docs $(READY)/test $(READY)/browser $(AXE)
	@echo "pytest, the site in a browser"
	@PSVM_SITE=build/site PSVM_AXE=$(AXE) $(BIN)/pytest -q tests/site $(ARGS)

$(AXE): $(READY)/venv
	@echo "installing axe-core, which judges contrast and structure"
	@$(call quietly,npm install --silent --no-save --prefix build/axe axe-core@4)
	@touch $@

# --- wheels --------------------------------------------------------------------------------------

# The wheel is made from the sdist, so that the sdist is known to hold everything. On Linux the
# compiler's libraries are linked in and auditwheel names the oldest system that it runs on; wheels to
# be published are made by cibuildwheel in a manylinux image (.github/workflows/wheels.yml).
# Another machine's module has another machine's suffix.
ZIG ?=
MACHINE = $(firstword $(subst -, ,$(ZIG)))
SUFFIX = $(shell $(BIN)/python -c "import sysconfig as s; print(s.get_config_var('EXT_SUFFIX').replace(s.get_platform().partition('-')[2], '$(MACHINE)'))")
zig = $(shell $(BIN)/python -c "import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / 'zig')")
WHEEL_OPTIONS = $(if $(ZIG),-C cmake.define.CMAKE_TOOLCHAIN_FILE=$(CURDIR)/cmake/zig.cmake,$(if $(filter Linux,$(shell uname -s)),-C cmake.define.PSVM_STATIC_RUNTIME=ON))

wheel: $(READY)/build $(READY)/dist $(if $(ZIG),$(READY)/zig)
	@echo "building the sdist and, from it, the wheel"
	@rm -rf build/dist && mkdir -p build/dist dist
	@$(call quietly,PATH="$(CURDIR)/$(BIN):$$PATH" $(if $(ZIG),ZIG="$(zig)" ZIG_TARGET=$(ZIG) \
		_PYTHON_HOST_PLATFORM=linux-$(MACHINE) SETUPTOOLS_EXT_SUFFIX=$(SUFFIX)) \
		$(BIN)/python -m build --no-isolation --outdir build/dist $(WHEEL_OPTIONS) .)
	@$(call quietly,if [ "$$(uname -s)" = Linux ]; then PATH="$(CURDIR)/$(BIN):$$PATH" \
		$(BIN)/auditwheel repair --wheel-dir build/dist/repaired build/dist/*.whl \
		&& rm build/dist/*.whl && mv build/dist/repaired/*.whl build/dist; fi)
	@cp build/dist/*.whl build/dist/*.tar.gz dist
	@case "$(ZIG)" in ""|$$(uname -m)-*) $(BIN)/python tools/clean_install.py build/dist/*.whl ;; \
		*) echo "not tried: it is for another machine" ;; esac
	@ls -l build/dist/*.whl build/dist/*.tar.gz | awk '{print $$5, "bytes:", $$NF}' | sed 's|build/||'

# abi3audit looks at the symbols of stable-ABI wheels; a wheel for one Python has nothing to audit.
check-dist: $(READY)/dist
	@ls dist/psvm-*.whl >/dev/null 2>&1 || { echo "*** dist/ has no wheel: run 'make wheel'"; exit 1; }
	@echo "validate-pyproject" && $(BIN)/validate-pyproject pyproject.toml
	@echo "twine check" && $(BIN)/twine check --strict dist/*
	@echo "check-wheel-contents" && $(BIN)/check-wheel-contents dist
	@for wheel in dist/*-abi3-*.whl; do [ ! -e $$wheel ] || \
		{ echo "abi3audit" && $(BIN)/abi3audit --strict --summary $$wheel; } || exit 1; done

# musl, since it can be linked in whole: qemu needs none of the other machine's libraries. A test is a
# process of its own, as in pytest, so that one that dies is named.
QEMU ?= qemu-aarch64-static
AARCH64 := build/aarch64
test-aarch64: $(READY)/build $(READY)/zig
	@command -v $(QEMU) >/dev/null || { echo "*** there is no $(QEMU) (on Debian or Ubuntu: apt install" \
		"qemu-user-static); another is named by QEMU=..." >&2; exit 1; }
	@echo "compiling the tests of the core for aarch64"
	@$(call quietly,export PATH="$(CURDIR)/$(BIN):$$PATH" ZIG="$(zig)" ZIG_TARGET=aarch64-linux-musl && \
		cmake -S . -B $(AARCH64) -G Ninja -DCMAKE_BUILD_TYPE=Release -DPSVM_TESTS=ON \
		-DPSVM_MODULE=OFF -DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/cmake/zig.cmake \
		&& cmake --build $(AARCH64) --target psvm_tests)
	@set -e; tests=$$($(QEMU) $(AARCH64)/psvm_tests --list | cut -d' ' -f1); failed=0; \
		for test in $$tests; do $(QEMU) $(AARCH64)/psvm_tests $$test \
		|| { echo "failed: $$test"; failed=$$((failed + 1)); }; done; \
		echo "$$(echo $$tests | wc -w) tests of the core under $(QEMU), $$failed failed"; [ $$failed = 0 ]

format: $(READY)/test
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format .
	@$(BIN)/clang-format -i $(CPP) $(CPP_TESTS)

clean:
	rm -rf $(VENV) build dist demo.png .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf docs/api/names docs/api/*.rst docs/commands docs/gallery docs/project docs/results

# --- setting up ----------------------------------------------------------------------------------

# Run a command with its output in the log; on failure show the end of the log.
quietly = { $(1); } >>$(LOG) 2>&1 || { tail -n 40 $(LOG); echo "*** failed; the whole log is $(LOG)"; exit 1; }
pip = $(BIN)/python -m pip --disable-pip-version-check --no-input

# The lists of requirements live in pyproject.toml and nowhere else.
requirements = $(BIN)/python -c "import tomllib; \
	t = tomllib.load(open('pyproject.toml', 'rb')); print('\n'.join(t$(1)))"

# The one that PYTHON names and no other, or else the first that will do.
PYTHONS := $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11)
$(READY)/venv: | asked-python
	@found=; for python in $(PYTHONS); do \
		if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
			2>/dev/null; then found=$$python; break; fi; done; \
	if [ -z "$$found" ]; then echo "*** psvm needs Python 3.11 or newer with its venv module" \
		"(on Debian or Ubuntu: apt install python3-venv); not so: $(PYTHONS)." \
		"Install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; fi; \
	echo "creating $(VENV) with $$($$found --version)"; \
	rm -rf $(VENV) && $$found -m venv $(VENV) && mkdir -p $(READY)
	@touch $@

# An environment that is there already is of the Python that is asked for.
asked-python:
ifneq ($(PYTHON),)
	@[ ! -e $(READY)/venv ] || { which='import sys; print(*sys.version.split())'; \
		[ "$$($(PYTHON) -c "$$which")" = "$$($(BIN)/python -c "$$which")" ] || \
		{ echo "*** $(VENV) is of $$($(BIN)/python --version), not of $(PYTHON): make clean" >&2; exit 1; }; }
endif

$(READY)/build: $(READY)/venv pyproject.toml
	@echo "installing the build tools"
	@$(call requirements,['build-system']['requires']) >$(READY)/build.txt
	@command -v cmake >/dev/null || echo cmake >>$(READY)/build.txt
	@command -v ninja >/dev/null || echo ninja >>$(READY)/build.txt
	@$(call quietly,$(pip) install -r $(READY)/build.txt)
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake -P cmake/find_compiler.cmake >/dev/null
	@touch $@

# Editable: a change of Python code needs no new install, a change of C++ an incremental build.
$(READY)/psvm: $(READY)/build CMakeLists.txt $(CPP)
	@echo "compiling and installing psvm"
	@$(call quietly,PATH="$(CURDIR)/$(BIN):$$PATH" $(pip) install --no-build-isolation \
		-C build-dir=$(BUILD) -e .)
	@touch $@

# The first wheel of dist/ that this Python takes, or else the compiler.
$(READY)/wheel: $(READY)/venv $(WHEELS)
	@for wheel in $(WHEELS); do \
		if $(pip) install --quiet $$wheel >>$(LOG) 2>&1; then \
			echo "installed $$wheel (to compile instead: rm -r dist)"; touch $@; exit 0; fi; done; \
		echo "no wheel of dist/ is for this Python"; $(MAKE) --no-print-directory $(READY)/psvm

# The C++ tests, beside the core they are linked with.
$(READY)/cpp_tests: $(READY)/psvm $(CPP_TESTS)
	@echo "compiling the tests of the core"
	@$(call quietly,PATH="$(CURDIR)/$(BIN):$$PATH" && cmake -DPSVM_TESTS=ON $(BUILD) \
		&& cmake --build $(BUILD) --target psvm_tests)
	@touch $@

$(READY)/plot $(READY)/test $(READY)/bench $(READY)/docs: $(READY)/venv pyproject.toml
	@echo "installing the $(@F) tools"
	@$(call requirements,['project']['optional-dependencies']['$(@F)']) >$@.txt
	@$(call quietly,$(pip) install -r $@.txt)
	@touch $@

$(READY)/dist $(READY)/browser: $(READY)/venv pyproject.toml
	@echo "installing the $(@F) tools"
	@$(call requirements,['dependency-groups']['$(@F)']) >$@.txt
	@$(call quietly,$(pip) install -r $@.txt)
	@touch $@

$(READY)/zig: $(READY)/venv
	@echo "installing ziglang"
	@$(call quietly,$(pip) install ziglang)
	@touch $@

# Every version that tests, wheels, the site and the study need, with its checksums, for all systems
# and Pythons; not the rivals of the benchmarks, some of which have wheels for few machines. Not
# uv.lock, which names the index that each file came from: this file is the same behind a mirror.
LOCK := requirements/dev.txt
lock: $(READY)/venv
	@echo "writing $(LOCK)"
	@$(call quietly,$(pip) install uv)
	@{ $(call requirements,['build-system']['requires']); echo cmake; echo ninja; } >$(READY)/lock.in
	@mkdir -p $(dir $(LOCK))
	@$(call quietly,$(BIN)/uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock" \
		--extra test --extra docs --extra study --group pyproject.toml:dist --group pyproject.toml:browser \
		pyproject.toml $(READY)/lock.in --output-file $(LOCK))

# What other targets would install is then there.
locked: $(READY)/venv
	@echo "installing the versions of $(LOCK)"
	@$(call quietly,$(pip) install --require-hashes -r $(LOCK))
	@touch $(addprefix $(READY)/,build test plot dist docs browser)

# pip takes the newest that a constraint leaves, so the lower bounds become constraints.
$(READY)/minimum: $(READY)/venv pyproject.toml CMakeLists.txt $(CPP) $(shell find src -name '*.py')
	@echo "compiling and installing psvm beside the oldest packages it allows"
	@$(BIN)/python -m venv $(VENV)/minimum
	@$(call requirements,['project']['dependencies']) | sed -E 's/>=([0-9.]+)/==\1.*/' >$@.txt
	@$(call quietly,$(VENV)/minimum/bin/python -m pip --disable-pip-version-check --no-input \
		install -c $@.txt . clarabel cvxpy distributed hypothesis matplotlib "pandas<3" polars "pyarrow<20" \
		pytest pytest-timeout pytest-xdist skops)
	@touch $@

# Not editable, so that it depends on every file of the package. Its site-packages come first; the
# path of the others is added without their .pth files, hence without the editable psvm.
$(READY)/sanitize $(READY)/sanitize-threads: $(READY)/build $(READY)/test CMakeLists.txt $(CPP) $(CPP_TESTS) \
		$(shell find src -name '*.py')
	@test -e "$(call gcc_library,$(RUNTIME_$(@F)))" || { echo "*** make $(@F) needs GCC on Linux with" \
		"its $(RUNTIME_$(@F)); '$(CXX)' has none. Name another compiler: make CXX=g++ $(@F)" >&2; \
		exit 1; }
	@echo "compiling psvm with sanitizers"
	@$(BIN)/python -m venv --without-pip $(VENV)/$(@F)
	@site='import sysconfig; print(sysconfig.get_path("purelib"))'; \
		$(BIN)/python -c "$$site" >"$$($(VENV)/$(@F)/bin/python -c "$$site")/borrowed.pth"
	@$(call quietly,CXX="$(CXX)" PATH="$(CURDIR)/$(BIN):$$PATH" $(VENV)/$(@F)/bin/python -m pip \
		--disable-pip-version-check --no-input install --no-build-isolation --no-deps \
		--force-reinstall . -C build-dir=build/$(@F) -C install.strip=false \
		-C cmake.define.PSVM_TESTS=ON -C "cmake.define.CMAKE_CXX_FLAGS=$(CHECKS_$(@F)) -fno-omit-frame-pointer -g1")
	@touch $@
