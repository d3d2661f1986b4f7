# What people type. `make help` lists it.

TARGET   := $(or $(CARGO_TARGET_DIR),target)
DEADHEAT := $(TARGET)/release/deadheat
PREFIX   ?= $(HOME)/.local
RUNTIME  := crates/runtime-lib/Cargo.toml

.PHONY: build demo test lint check docs install uninstall bench bench-quick soak clean help

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

test: ## install what the tests need, then formatting, lints and all tests
	scripts/setup.sh test
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory check

lint: ## formatting and clippy, warnings denied
	cargo fmt --all --check
	cargo fmt --manifest-path $(RUNTIME) --check
	cargo clippy --workspace --all-targets -- -D warnings
	CARGO_TARGET_DIR=$(TARGET)/runtime-lib cargo clippy --manifest-path $(RUNTIME) --release -- -D warnings
	CARGO_TARGET_DIR=$(TARGET)/runtime-lib cargo clippy --manifest-path $(RUNTIME) --release --features wrap -- -D warnings

check: build ## all tests, without installing anything
	DEADHEAT_BIN=$(abspath $(DEADHEAT)) cargo test --workspace

docs: build ## write the pages that are made from the code
	$(DEADHEAT) options-page > docs/options.md

install: ## put deadheat, its manual page and completions below PREFIX (~/.local)
	cargo install --path crates/cli --root $(PREFIX) --locked
	mkdir -p $(PREFIX)/share/man/man1 $(PREFIX)/share/bash-completion/completions
	mkdir -p $(PREFIX)/share/zsh/site-functions $(PREFIX)/share/fish/vendor_completions.d
	$(PREFIX)/bin/deadheat man > $(PREFIX)/share/man/man1/deadheat.1
	$(PREFIX)/bin/deadheat completions bash > $(PREFIX)/share/bash-completion/completions/deadheat
	$(PREFIX)/bin/deadheat completions zsh > $(PREFIX)/share/zsh/site-functions/_deadheat
	$(PREFIX)/bin/deadheat completions fish > $(PREFIX)/share/fish/vendor_completions.d/deadheat.fish
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo 'To have it on the PATH: export PATH="$(PREFIX)/bin:$$PATH"' ;; esac

uninstall: ## remove what install put there
	rm -f $(PREFIX)/bin/deadheat $(PREFIX)/share/man/man1/deadheat.1
	rm -f $(PREFIX)/share/bash-completion/completions/deadheat $(PREFIX)/share/zsh/site-functions/_deadheat
	rm -f $(PREFIX)/share/fish/vendor_completions.d/deadheat.fish

bench: build ## one table: Deadheat, ThreadSanitizer, Helgrind and DRD against native
	cargo run --release -p deadheat-bench --bin bench -- --micro --results bench/results

bench-quick: build ## the same with small inputs
	cargo run --release -p deadheat-bench --bin bench -- --quick

soak: build ## ten minutes of threads, locks and malloc with flat memory
	cargo run --release -p deadheat-bench --bin bench -- soak

clean: ## remove what was built
	cargo clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22
