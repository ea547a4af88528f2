# `make` without a target lists the targets.

SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=
export SWIFT PREFIX DESTDIR PLUGINDIR

.DEFAULT_GOAL := help
.PHONY: help deps build demo test test-hardware test-network sanitize soak install uninstall bench format lint clean

help: ## List the targets
	@awk -F ': *## *' '/^[a-z-]+:.*## / {sub(/:.*/, "", $$1); printf "  make %-13s %s\n", $$1, $$2}' Makefile

deps: ## Install missing packages (apt, through sudo if not root)
	@scripts/deps build test

build: ## Build the program and the plugin in release mode
	@$(SWIFT) build -c release

demo: ## Turn a video file into raw frames and a contact sheet
	@scripts/deps build
	@scripts/demo

test: ## Run all tests
	@scripts/deps build test
	@scripts/test debug

test-hardware: ## Test with cameras and sound cards in a virtual machine
	@scripts/test-hardware

test-network: ## Test rooms on a Janus server in a network namespace
	@scripts/deps build test
	@scripts/test-network

sanitize: ## Run the tests under Thread and Address Sanitizer (slow)
	@scripts/deps build test
	@scripts/sanitize thread-all
	@scripts/sanitize address-all

install: ## Install under PREFIX=/usr/local (plugin under PLUGINDIR=)
	@scripts/install

uninstall: ## Remove the files that `make install` installed
	@scripts/install --remove

soak: ## Run the tests that take too long for CI (see scripts/soak)
	@scripts/deps build test
	@scripts/soak

bench: ## Run the benchmarks (with valgrind, on Linux)
	@scripts/deps build bench
	@$(SWIFT) run -c release --package-path Benchmarks mediagraph-bench all

format: ## Format all Swift code in place
	@$(SWIFT) format --in-place --parallel --recursive $$(scripts/swift-sources)

lint: ## Check the formatting of Swift, and C and shell for warnings
	@scripts/lint

clean: ## Remove all build products
	rm -rf .build demo Benchmarks/.build Examples/*/.build
