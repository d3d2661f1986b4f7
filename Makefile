# What people type. `make help` lists it.

TARGET   := $(or $(CARGO_TARGET_DIR),target)
DEADHEAT := $(TARGET)/release/deadheat
PREFIX   ?= $(HOME)/.local
RUNTIME  := crates/runtime-lib/Cargo.toml
BENCH    := cargo run --release -p deadheat-bench --bin bench --
# One profile for all tests: assertions and overflow checks on, and fast enough.
TESTING  := CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=line-tables-only

# Deadheat's own crates under cargo deadheat; nobody builds them that way a second time with small changes.
CHECKED   = CARGO_INCREMENTAL=0 $(abspath $(TARGET)/debug/deadheat) cargo --suppressions tests/rust/self.supp
# The command has the runtime in it: what was built of that for the command itself will do.
PARTS     = $(abspath $(TARGET)/self-check)

BROWSER  := command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null

.DEFAULT_GOAL := build
.PHONY: help build demo install uninstall test check format lint tests-build unit fuzz ui ui-rust self-check docs
.PHONY: bench bench-quick bench-gpu real-programs rust-suites kills soak soak-rust setup clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

build: ## build the deadheat command
	cargo build --release -p deadheat-cli

demo: ## build Deadheat and run it on a small bank with two bugs
	@scripts/setup.sh demo
	@$(MAKE) --no-print-directory build
	@echo "\$$ deadheat run examples/bank.c -- 100"
	@$(DEADHEAT) run --color always examples/bank.c -- 100 || [ $$? -eq 1 ]
	@echo
	@printf '%-9s %-42s %s\n' "Now you:" "$(DEADHEAT) explain 1" "more about the first finding" \
		"" "$(DEADHEAT) run yours.c -- ARGS" "your own program" "" "make install" "puts deadheat on the PATH"

install: ## put deadheat, its manual page and completions below PREFIX (~/.local)
	@scripts/setup.sh demo
	cargo install --path crates/cli --root $(PREFIX) --locked
	strip --strip-debug $(PREFIX)/bin/deadheat
	mkdir -p $(PREFIX)/include && cp crates/cli/include/deadheat.h $(PREFIX)/include
	mkdir -p $(PREFIX)/share/man/man1 $(PREFIX)/share/bash-completion/completions
	mkdir -p $(PREFIX)/share/zsh/site-functions $(PREFIX)/share/fish/vendor_completions.d
	$(PREFIX)/bin/deadheat man > $(PREFIX)/share/man/man1/deadheat.1
	$(PREFIX)/bin/deadheat completions bash > $(PREFIX)/share/bash-completion/completions/deadheat
	$(PREFIX)/bin/deadheat completions zsh > $(PREFIX)/share/zsh/site-functions/_deadheat
	$(PREFIX)/bin/deadheat completions fish > $(PREFIX)/share/fish/vendor_completions.d/deadheat.fish
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo 'To have it on the PATH: export PATH="$(PREFIX)/bin:$$PATH"' ;; esac

uninstall: ## remove what install put there
	rm -f $(PREFIX)/bin/deadheat $(PREFIX)/include/deadheat.h $(PREFIX)/share/man/man1/deadheat.1
	rm -f $(PREFIX)/share/bash-completion/completions/deadheat $(PREFIX)/share/zsh/site-functions/_deadheat
	rm -f $(PREFIX)/share/fish/vendor_completions.d/deadheat.fish

test: ## install what the tests need, then formatting, lints and all tests, with the time each took
	@scripts/phases.sh setup format lint tests-build unit fuzz ui ui-rust self-check

check: ## all tests, without installing anything
	@scripts/phases.sh tests-build unit fuzz ui ui-rust self-check

setup: ## install what the tests need
	@scripts/setup.sh test

format: ## compare the formatting with rustfmt's
	cargo fmt --all --check
	cargo fmt --manifest-path $(RUNTIME) --check
	cargo fmt --manifest-path crates/trace/fuzz/Cargo.toml --check
	cargo fmt --manifest-path crates/compiler-hook/Cargo.toml --check

lint: ## clippy in every shape of the code, warnings denied
	$(TESTING) cargo clippy --workspace --all-targets --locked -- -D warnings
	$(TESTING) cargo clippy -p deadheat-runtime --features export --locked -- -D warnings
	$(TESTING) cargo clippy -p deadheat-runtime --features export,wrap --locked -- -D warnings
	$(TESTING) cargo clippy --manifest-path $(RUNTIME) --target-dir $(TARGET)/runtime/lint --locked -- -D warnings
	cargo clippy --manifest-path crates/compiler-hook/Cargo.toml --target-dir $(TARGET)/runtime/lint --release --locked -- -D warnings

# Always the whole workspace, so that every crate is compiled once, with one set of features.
tests-build: ## compile all tests, and the command and the runtime that they use
	$(TESTING) cargo test --workspace --locked --no-run

unit: ## the tests of all crates, but for the programs in tests/ui
	@$(BROWSER) || echo "No Chromium here, so the test of the HTML report is left out."
	@$(BROWSER) || export DEADHEAT_NO_BROWSER=1; set -x; $(TESTING) cargo test --workspace --locked --lib --bins --examples --test '[!u]*' --test 'u[!i]*' -- --quiet

fuzz: ## a short run of the fuzz targets: the readers of traces
	$(TESTING) scripts/fuzz.sh

ui: tests-build ## the programs in tests/ui, with both compilers, and random ones
	$(TESTING) DEADHEAT_BIN=$(abspath $(TARGET)/debug/deadheat) cargo test --workspace --locked --test ui

ui-rust: tests-build ## the Rust programs in tests/rust, right and racy, under cargo deadheat
	$(TESTING) DEADHEAT_BIN=$(abspath $(TARGET)/debug/deadheat) cargo test --workspace --locked --test ui_rust --test ui_cargo

self-check: tests-build ## Deadheat's own tests with threads, under cargo deadheat
	$(TESTING) $(CHECKED) test --locked -p deadheat-rust -p deadheat-pipeline -p deadheat-gpu --lib --test agree --test checkers --test engine --test stacks
	$(TESTING) $(CHECKED) test --locked -p deadheat-runtime --lib -- sync:: sync_places:: handover no_race_is_lost collection_keep forgetting_a_part
	mkdir -p $(PARTS)
	cp -p $(TARGET)/runtime/plain/release/libdeadheat_rt.a $(TARGET)/runtime/plain/release/libdeadheat_rt.so $(TARGET)/runtime/hook/release/libdeadheat_compiler.so $(PARTS)
	cp -p $(TARGET)/runtime/wrap/release/libdeadheat_rt.a $(PARTS)/libdeadheat_rt_wrap.a
	$(TESTING) DEADHEAT_RUNTIME_DIR=$(PARTS) $(CHECKED) test --locked -p deadheat-cli --no-default-features --tests

docs: build ## write the pages that are made from the code
	$(DEADHEAT) options-page > docs/options.md

bench: build ## one table: Deadheat, ThreadSanitizer, Helgrind and DRD against native
	$(BENCH) --micro --results bench/results
	scripts/bench-rust.sh $(DEADHEAT) | tee bench/results/rust.md

bench-quick: build ## the same with small inputs
	$(BENCH) --quick

bench-gpu: ## the tables of the GRace paper, what checking kernels costs, and Oclgrind beside it
	@scripts/setup.sh gpu
	cargo run --release -p deadheat-gpu --example tables -- --results bench/results

real-programs: build ## build pbzip2, memcached, SQLite and zstd with Deadheat, drive them, print every finding
	$(BENCH) real-programs

kills: build ## SIGKILL to programs that record, and to their checkers, 200 times at drawn moments
	DEADHEAT_KILLS=200 cargo test --release -p deadheat-cli --test split -- killed

rust-suites: build ## the test suites of rayon, crossbeam, parking_lot, dashmap, flume and tokio under cargo deadheat
	scripts/rust-suites.sh $(DEADHEAT)

soak: build soak-rust ## ten minutes of threads, locks and malloc with flat memory, ten more under split checking, and soak-rust
	$(BENCH) soak --tools deadheat
	$(BENCH) soak --tools split


soak-rust: ## the Rust programs in tests/rust, right and racy, 20 times each
	DEADHEAT_RUNS=20 $(MAKE) --no-print-directory ui-rust

clean: ## remove what was built
	cargo clean
