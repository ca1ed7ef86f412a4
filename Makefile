# Two commands: `make demo` runs one whole session on the CPU, `make test` runs the tests, in
# whichever order.
# Everything else is CMake: see CMakePresets.json and docs/architecture.md.
BUILD := build/release
JOBS ?= $(shell nproc)
PYTHON ?= python3
VENV := .venv

.PHONY: all demo check test test-build test-long bench torture soak wheel release artifacts venv deps deps-test clean
all: deps
	@cmake --preset release -DWB_TESTS=$(if $(wildcard $(BUILD)/CMakeCache.txt),$(shell grep -s ^WB_TESTS: $(BUILD)/CMakeCache.txt | cut -d= -f2),OFF) >/dev/null
	@cmake --build $(BUILD) -j$(JOBS) --target sdpa-wb sdpa-wb-worker

deps:
	@bash .ci/install.sh build
deps-test:
	@bash .ci/install.sh build test
venv: deps-test
	@bash .ci/install_python.sh "$(PYTHON)" "$(VENV)"

# DEMO: more words for it, such as DEMO='--evaluations 1 --effort quick'. What Python
# subjects need comes in beside the build.
demo: deps
	@bash .ci/install_python.sh "$(PYTHON)" "$(VENV)" subjects >&2 & packages=$$!; \
	  $(MAKE) --no-print-directory all; built=$$?; wait $$packages && exit $$built
	@$(BUILD)/sdpa-wb run optimize $(DEMO)

test: test-build
	@bash .ci/test.sh $(BUILD) "$(VENV)"

# What CI leaves out, an hour: the tests that tests/long.txt names, sanitizers over every module. It can
# be stopped, goes on where it was, and leaves its table in docs/testing.md.
test-long: test-build
	@bash .ci/install.sh lint
	@bash .ci/test.sh $(BUILD) "$(VENV)" long

# The Python packages, mostly a wait, come in beside the build; the package's module needs one of them.
test-build: deps-test
	@cmake --preset release -DWB_TESTS=ON
	@bash .ci/install_python.sh "$(PYTHON)" "$(VENV)" & packages=$$!; \
	  cmake --build $(BUILD) -j$(JOBS); built=$$?; wait $$packages && exit $$built
	@cmake --preset release -DWB_PYTHON=ON -DPython_EXECUTABLE="$(CURDIR)/$(VENV)/bin/python3" >/dev/null || \
	  { echo "make test: no Python module (see above): the tests of the package skip" >&2; \
	    [ -z "$${CI:-}" ] || exit 1; \
	    cmake --preset release -DWB_PYTHON=OFF >/dev/null; }
	@cmake --build $(BUILD) -j$(JOBS)

# The inner loop: what the changes since SINCE touch, built in the preset dev, and not what passed in
# that state before. The first build of a low module takes minutes, a change after it seconds.
SINCE ?= $(shell git merge-base HEAD origin/HEAD 2>/dev/null || echo HEAD)
check:
	@bash .ci/install.sh build test lint
	@python3 .ci/keyed.py run --note --since "$(SINCE)"

bench: deps-test
	@cmake --preset release -DWB_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j$(JOBS)
	@"$(BUILD)/tests/bench/bench_session"
	@"$(BUILD)/tests/bench/bench_cache" kernels
	@"$(VENV)/bin/python3" tests/bench/overhead.py "$(BUILD)/sdpa-wb"

# The whole fault plan (docs/results/reliability.md), under an hour on 2 cores. Its record becomes
# the page's table when it is appended to tests/data/torture.jsonl (a soak's to soak.jsonl) and
# tests/torture/torture_page.py is run.
torture: venv
	@cmake --preset release -DWB_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j$(JOBS)
	@"$(VENV)/bin/python3" tests/torture/run.py $(BUILD) build/torture_$(shell date +%F).json

# A night in 20 minutes; WB_SOAK_SECONDS=60 to try it, 28800 for a real one.
soak: all venv
	@"$(VENV)/bin/python3" tests/torture/soak.py $(BUILD) build/soak_$(shell date +%F).json

# One wheel for machines without a network (docs/guide/wheel.md), tried in a fresh environment of PYTHON.
WHEEL_VENV := build/wheel_$(notdir $(PYTHON))
wheel:
	@bash .ci/check_python.sh "$(PYTHON)" 3.10 # before anything that takes minutes
	@$(MAKE) --no-print-directory deps-test
	@cmake --preset release -DWB_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j$(JOBS) --target sdpa-wb sdpa-wb-worker gpu_worker
	@WB_TORCH=no bash .ci/install_python.sh "$(PYTHON)" "$(WHEEL_VENV)"
	@rm -f dist/sdpa_workbench-*.whl
	@"$(WHEEL_VENV)/bin/python3" .ci/wheel.py $(BUILD) dist
	@"$(WHEEL_VENV)/bin/python3" .ci/check_wheel.py dist/sdpa_workbench-*.whl
	@WB_WHEEL=$$(echo dist/sdpa_workbench-*.whl) "$(WHEEL_VENV)/bin/python3" -m pytest \
	  tests/scenario/test_wheel.py -q -rs

# A release of the version in CMakeLists.txt: the wheel and an sdist, tried, and their sums, in dist/
# (docs/guide/wheel.md). What is missing for one is told before anything is built.
release:
	@bash .ci/check_python.sh "$(PYTHON)" 3.11
	@"$(PYTHON)" .ci/release.py ready
	@rm -f dist/sdpa_workbench-* dist/SHA256SUMS
	@$(MAKE) --no-print-directory wheel
	@"$(WHEEL_VENV)/bin/python3" .ci/release.py finish dist

# The compiled code of the dispatch rules for ARCHITECTURE, for machines without the compiler that it
# was judged by (docs/guide/wheel.md). Needs that compiler here, and no GPU.
ARCHITECTURE := sm_90a
artifacts: all
	@mkdir -p dist
	@"$(PYTHON)" .ci/artifacts.py $(BUILD)/sdpa-wb kernels/dispatch.json $(ARCHITECTURE) \
	  dist/sdpa_workbench-artifacts-$(ARCHITECTURE).tar.gz

clean:
	rm -rf build
