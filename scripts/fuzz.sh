#!/usr/bin/env bash
# Fuzzes the readers of traces with libFuzzer: crates/trace/fuzz. It needs neither nightly nor cargo-fuzz, only a C++ compiler:
# the flags below are those by which cargo-fuzz lets LLVM count what is reached.
#
#   scripts/fuzz.sh [RUNS]        so many inputs for each target (50000, which takes seconds); the seed is always the same
#
# To hunt for longer: scripts/fuzz.sh 100000000. What is found stays in target/fuzz as crash-*.
set -euo pipefail
runs="${1:-50000}"
cd "$(dirname "$0")/.."
target="$(realpath -m "${CARGO_TARGET_DIR:-target}")/fuzz"
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
flags+=" -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions"
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="$flags" cargo build --release --locked --manifest-path crates/trace/fuzz/Cargo.toml \
    --target "$host" --target-dir "$target"
cargo run --quiet --locked -p deadheat-trace --example seeds -- "$target"
cd "$target"
for name in file words text; do
    mkdir -p "corpus-$name"
    "$host/release/$name" -runs="$runs" -seed=1 -max_len=65536 -timeout=20 -rss_limit_mb=1024 -print_final_stats=1 "corpus-$name" "seeds-$name" 2>"$name.log" || {
        tail -30 "$name.log" >&2
        echo "fuzz: $name failed; the input is in $target" >&2
        exit 1
    }
    grep -E "number_of_executed_units|new_units_added" "$name.log" | sed "s/^stat::/fuzz: $name: /"
done
