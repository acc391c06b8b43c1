# SPDX-License-Identifier: Apache-2.0
# The front door. CMake builds (see CMakePresets.json); these targets install what is missing,
# build, and run. Nothing is downloaded twice.

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PYTHON ?= python3
VENV := .venv
# The folder of all builds, elsewhere if the source tree is read-only: make check BUILD=DIR VENV=DIR
BUILD := build

export STEPSCOPE_BUILDS = $(BUILD)

export CTEST_OUTPUT_ON_FAILURE = 1

RUN = tests/run --python "$(PYTHON)" --venv "$(VENV)" --build "$(BUILD)" --jobs $(JOBS)

.PHONY: help demo test check check-long check-gpu bench install wheels fuzz tidy format docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## record a small PyTorch training, read the report, mend what it names, record again
	@tools/need build venv
	@tools/venv "$(PYTHON)" "$(VENV)" examples/attention/requirements.txt
	@tools/build release $(JOBS) -DSTEPSCOPE_TESTS=OFF
	@tools/demo "$(BUILD)/release/stepscope" "$(VENV)/bin/python"

test: ## the inner loop: unit tests, fuzz corpora, rules of the house, recorded inputs; starts no programs
	@tools/need build test venv
	@$(RUN) --tier test

check: ## build with warnings as errors and run every test but the longest
	@tools/need build test venv
	@tools/need --optional more-tests
	@$(RUN) --tier check

check-long: ## every test, also those that take hours: kill tests, sanitizers, FUZZ_SECONDS (600) of each fuzz target
	@tools/need build test venv fuzz
	@tools/need --optional more-tests
	@$(RUN) --tier long --fuzz-seconds $(or $(FUZZ_SECONDS),600)

check-gpu: ## verify on a CUDA device what docs/verified-on-hardware.md lists; skips where there is none
	@tools/need build test
	@tools/build release $(JOBS) -DSTEPSCOPE_TESTS=ON
	@tests/gpu/check

bench: ## measure against the budgets, beside py-spy where it is installed; BASE=REVISION compares with it, BENCH="WORD…" chooses
	@tools/need build test venv
	@tools/venv "$(PYTHON)" "$(VENV)" tests/requirements.txt examples/attention/requirements.txt
	@tools/venv --optional "$(PYTHON)" "$(VENV)" tests/requirements-optional.txt
	@tools/build release $(JOBS) -DSTEPSCOPE_TESTS=ON
	@base=; if [ -n "$(BASE)" ]; then base=$$(tests/bench/build_base "$(BASE)" "$(BUILD)" $(JOBS)) || exit; fi; \
	    tests/bench/run --stepscope "$(BUILD)/release/stepscope" --python "$(VENV)/bin/python" \
	    $${base:+--base "$$base"} $(BENCH)

install: ## build a release and install it: make install PREFIX=DIR
	@tools/need build
	@tools/build release $(JOBS) -DSTEPSCOPE_TESTS=OFF
	@DESTDIR="$(DESTDIR)" cmake --install "$(BUILD)/release" --prefix "$(abspath $(PREFIX))" --strip
	@echo "installed: $(DESTDIR)$(abspath $(PREFIX))/bin/stepscope"

wheels: ## build wheels, archives and Debian packages for x86-64 and aarch64, glibc 2.17 and musl, into build/wheels
	@tools/need build venv wheels
	@tools/venv "$(PYTHON)" "$(BUILD)/portable/venv" packaging/portable/requirements.txt
	@"$(BUILD)/portable/venv/bin/python" tools/wheels -j $(JOBS)

fuzz: ## run each fuzz target for FUZZ_SECONDS (60)
	@tools/need build test fuzz
	@tools/fuzz $(or $(FUZZ_SECONDS),60) $(JOBS)

tidy: ## clang-tidy over everything
	@tools/need build test tidy
	@tools/build tidy $(JOBS)

format: ## clang-format over everything
	@tools/need format
	@git ls-files '*.c' '*.h' | xargs clang-format -i

docs: ## write docs/reference.md anew from the command tables
	@tools/need build
	@tools/build release $(JOBS) -DSTEPSCOPE_TESTS=OFF
	@"$(BUILD)/release/stepscope" help --format markdown > docs/reference.md

clean: ## remove what was built, the test environment included
	rm -rf "$(BUILD)" "$(VENV)"
