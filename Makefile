# `make` alone lists what there is.

SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=
export SWIFT PREFIX DESTDIR PLUGINDIR

.DEFAULT_GOAL := help
.PHONY: help deps build demo test test-hardware sanitize soak install uninstall bench format lint clean

help: ## What there is to make
	@awk -F ': *## *' '/^[a-z-]+:.*## / {sub(/:.*/, "", $$1); printf "  make %-13s %s\n", $$1, $$2}' Makefile

deps: ## Install what building, running and testing need (apt, through sudo when not root)
	@scripts/deps build test

build: ## Build the command line and the plugin in release mode
	@$(SWIFT) build -c release

demo: ## Run a video file through a pre-processor to raw frames and a contact sheet
	@scripts/deps build
	@scripts/demo

test: ## Run all tests
	@scripts/deps build test
	@scripts/test debug

test-hardware: ## Run the checks against a kernel's cameras and sound cards, in a virtual machine
	@scripts/test-hardware

sanitize: ## Run the tests under Thread and Address Sanitizer (slow)
	@scripts/deps build test
	@scripts/sanitize thread-all
	@scripts/sanitize address-all

install: ## Install under PREFIX=/usr/local, with the Swift libraries that it needs (PLUGINDIR= to move the plugin)
	@scripts/install

uninstall: ## Remove what `make install` put under PREFIX
	@scripts/install --remove

soak: ## All tests in release mode, fuzzed senders, half an hour of a drifting clock, ten unplug cycles, a long call
	@scripts/deps build test
	@scripts/soak

bench: ## Run the benchmarks (needs Linux's valgrind)
	@scripts/deps build bench
	@$(SWIFT) run -c release --package-path Benchmarks mediagraph-bench all

format: ## Format all Swift code in place
	@$(SWIFT) format --in-place --parallel --recursive $$(scripts/swift-sources)

lint: ## Check formatting, C for warnings, and shell scripts where shellcheck is installed
	@scripts/lint

clean: ## Remove everything that was built
	rm -rf .build demo Benchmarks/.build Examples/*/.build
