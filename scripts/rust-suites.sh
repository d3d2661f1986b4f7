#!/usr/bin/env bash
# Runs the test suites that well-known crates carry on crates.io under `cargo deadheat test`, and prints what was found.
#
#   scripts/rust-suites.sh DEADHEAT              all of them
#   scripts/rust-suites.sh DEADHEAT rayon-core   one
#
# What each finds, and why, is argued in docs/rust.md. Needs the network once, and about twenty minutes on two cores.
set -uo pipefail
deadheat=$(realpath "${1:?usage: scripts/rust-suites.sh DEADHEAT [CRATE...]}")
shift
work=${RUST_SUITES_DIR:-${CARGO_TARGET_DIR:-target}/rust-suites}
mkdir -p "$work"
work=$(realpath "$work")
unset CARGO_TARGET_DIR

# name, version, what else cargo test is told
suites=(
    "rayon-core 1.13.0"
    "crossbeam-utils 0.8.23"
    "crossbeam-epoch 0.9.21"
    "crossbeam-deque 0.8.8"
    "crossbeam-queue 0.3.12"
    "crossbeam-channel 0.5.17"
    "parking_lot_core 0.9.12"
    "parking_lot 0.12.5"
    "dashmap 6.2.1"
    "flume 0.11.1 --test basic --test mpmc --test select"
    "tokio 1.54.1 --features full,test-util --test sync_*"
)

# Cargo unpacks what a package depends on; its copy is left alone.
fetch() {
    mkdir -p "$work/fetch/src"
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n%s = "=%s"\n' "$1" "$2" \
        >"$work/fetch/Cargo.toml"
    : >"$work/fetch/src/lib.rs"
    rm -f "$work/fetch/Cargo.lock"
    cargo fetch --quiet --manifest-path "$work/fetch/Cargo.toml" || return 1
    rm -rf "${work:?}/$1"
    cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$1-$2" "$work/$1" || return 1
    rm -f "$work/$1/rust-toolchain.toml"
    grep -q '^\[workspace\]' "$work/$1/Cargo.toml" || printf '\n[workspace]\n' >>"$work/$1/Cargo.toml"
}

table=""
for suite in "${suites[@]}"; do
    set -f
    # shellcheck disable=SC2206 # words on purpose
    words=($suite)
    set +f
    name=${words[0]} version=${words[1]} rest=("${words[@]:2}")
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    [ ${#rest[@]} -gt 0 ] || rest=(--lib --tests)
    printf '\n=== %s %s\n' "$name" "$version"
    fetch "$name" "$version" || exit 2
    begin=$SECONDS
    (cd "$work/$name" && CARGO_TARGET_DIR="$work/target" "$deadheat" cargo --log "$work/$name.txt" \
        test --release --no-fail-fast "${rest[@]}" >"$work/$name.log" 2>&1)
    status=$?
    passed=$(grep -c '\.\.\. ok$' "$work/$name.log")
    failed=$(grep -c '\.\.\. FAILED$' "$work/$name.log")
    cat "$work/$name.txt"
    table+=$(printf '%-20s %-8s %4d passed %3d failed, status %d, %4d s: %s' "$name" "$version" "$passed" "$failed" "$status" \
        $((SECONDS - begin)) "$(grep -a '^deadheat: ' "$work/$name.txt" | tail -1)")$'\n'
done
printf '\n%s' "$table"
