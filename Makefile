# Hunch: thin over the presets of CMakePresets.json.
#
#   make run [PROMPT="..."] [MODEL=NAME|PATH] [DRAFT=NAME|PATH]   build, fetch the model, answer a prompt
#   make test                                                     build and run everything
#   make train                                                    build hunch-train, for `hunch train`
#   make install [PREFIX=/usr/local]                              the program, the library and its headers
#
# Others: deps build debug asan tsan aarch64 format tidy clean.

MODEL ?= smollm2
DRAFT ?=
PROMPT ?=
PREFIX ?= /usr/local
# Taken as typed ($(value) expands nothing in them) and handed over by the environment, so that dollars,
# quotes and newlines in a prompt reach the program unharmed.
override MODEL := $(value MODEL)
override DRAFT := $(value DRAFT)
override PROMPT := $(value PROMPT)
export MODEL DRAFT PROMPT

.DEFAULT_GOAL := build
.PHONY: deps build run test train install debug asan tsan aarch64 format tidy clean

deps:
	@scripts/install_deps.sh

build: deps
	@cmake --preset release --log-level=WARNING >/dev/null
	@cmake --build --preset release --target hunch

run: build
	@scripts/run_demo

test: deps
	@scripts/run_tests

train: deps
	@cmake --preset release -DHUNCH_TRAIN=ON -DHUNCH_TORCH="$$(scripts/setup_train)" --log-level=WARNING >/dev/null
	@cmake --build --preset release --target hunch hunch-train

install: build
	@cmake --build --preset release --target hunch_library
	@cmake --install build/release --prefix "$(PREFIX)"

debug asan tsan: deps
	@cmake --preset $@ --log-level=WARNING >/dev/null
	@cmake --build --preset $@

aarch64: deps
	@scripts/run_tests aarch64

format: deps
	@python3 scripts/check_style.py --fix

tidy: deps
	@scripts/install_deps.sh clang-tidy
	@cmake --preset release -B build/tidy -DHUNCH_PRECOMPILE=OFF --log-level=WARNING >/dev/null
	@run-clang-tidy -quiet -p build/tidy "$(CURDIR)/src/.*"

clean:
	@rm -rf build
