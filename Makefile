# Thin front of CMake for a fresh Debian 12 machine. `make help` lists the targets.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
RELEASE := build/release

.PHONY: help run build test quick asan tsan format tidy fuzz packages-build packages-test clean

help:
	@echo "make run     install what is missing, build, start the broker on 127.0.0.1:5672"
	@echo "make test    install what is missing, build, run every test"
	@echo "make build   the binary at $(RELEASE)/bin/millrace"
	@echo "make quick   unit tests only, seconds after a build"
	@echo "make asan    unit, model, fuzz and crash tests under AddressSanitizer and UBSan"
	@echo "make tsan    the threaded tests under ThreadSanitizer"
	@echo "make format  clang-format over the tree;  make tidy: clang-tidy"

packages-build:
	@tools/packages.sh build

packages-test:
	@tools/packages.sh build test

build: packages-build
	cmake --preset release -DMILLRACE_TESTS=OFF
	cmake --build --preset release -j $(JOBS)

run: build
	$(RELEASE)/bin/millrace serve

test: packages-test
	tests/run_all.sh

quick: packages-test
	cmake --preset release -DMILLRACE_TESTS=ON
	cmake --build --preset release -j $(JOBS)
	ctest --preset release -L unit -j $(JOBS)

asan tsan: packages-test
	cmake --preset $@
	cmake --build --preset $@ -j $(JOBS)
	ctest --preset $@

format:
	git ls-files '*.h' '*.cpp' | xargs clang-format -i

tidy: packages-test
	cmake --preset release -DMILLRACE_TESTS=OFF
	git ls-files 'core/*.cpp' 'cli/*.cpp' 'app/*.cpp' | xargs -P $(JOBS) -n 4 clang-tidy --quiet -p $(RELEASE)

clean:
	rm -rf build
