#!/usr/bin/env bash
# Runs the test suites that well-known crates carry on crates.io under `cargo deadheat test`, and prints a table.
#
#   scripts/rust-suites.sh DEADHEAT                      all of them
#   scripts/rust-suites.sh DEADHEAT rayon-core flume     these
#
# Cargo fetches the packages. The races that are the crates' own, argued from their source in docs/rust.md, are known to Deadheat
# and counted; the script fails if anything else is found, or a test does not pass. Those that look at the clock are in
# tests/rust/suites.timed: they get another chance, alone. Needs the network once, and about half an hour on two cores. What
# each run said is kept in rust-suites below the target folder.
set -uo pipefail
deadheat=$(realpath "${1:?usage: scripts/rust-suites.sh DEADHEAT [CRATE...]}")
shift
timed=$(realpath "$(dirname "$0")/../tests/rust/suites.timed")
work=${CARGO_TARGET_DIR:-target}/rust-suites
mkdir -p "$work"
work=$(realpath "$work")
unset CARGO_TARGET_DIR
# As for a dependency: what a newer compiler thinks of older code is not the question.
export RUSTFLAGS=--cap-lints=warn

# The package, its version, and what cargo test is told. One that is still running after this long hangs.
limit=2400
suites=(
    "rayon-core 1.13.0 --lib --tests"
    "crossbeam 0.8.5 --tests"
    "crossbeam-utils 0.8.23 --lib --tests"
    "crossbeam-epoch 0.9.21 --lib --tests"
    "crossbeam-deque 0.8.8 --lib --tests"
    "crossbeam-queue 0.3.14 --lib --tests"
    "crossbeam-skiplist 0.1.3 --lib --tests"
    "crossbeam-channel 0.5.17 --lib --tests"
    "parking_lot_core 0.9.12 --lib --tests"
    "parking_lot 0.12.5 --lib --tests"
    "dashmap 6.2.1 --lib --tests"
    "flume 0.12.0 --lib --tests"
    "tokio 1.54.1 --features full,test-util --lib -- sync::"
    "tokio 1.54.1 --features full,test-util --test sync_*"
)

# Puts a copy of a package into the work folder: cargo unpacks what a package depends on, and its copy is left alone.
fetch() {
    mkdir -p "$work/fetch/src"
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n%s = "=%s"\n' "$1" "$2" \
        >"$work/fetch/Cargo.toml"
    : >"$work/fetch/src/lib.rs"
    rm -f "$work/fetch/Cargo.lock"
    cargo fetch --quiet --manifest-path "$work/fetch/Cargo.toml" || return 1
    local copies=("${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$1-$2")
    rm -rf "${work:?}/$1"
    cp -r "${copies[0]}" "$work/$1" || return 1
    # The toolchain is the one that is there, and what the package was developed among is not.
    rm -rf "$work/$1/rust-toolchain.toml" "$work/$1/.cargo"
    grep -q '^\[workspace\]' "$work/$1/Cargo.toml" || printf '\n[workspace]\n' >>"$work/$1/Cargo.toml"
}

# The tests that failed in a log, each with its executable.
failures() {
    awk '/^ *Running / { path = $NF; gsub(/[()]/, "", path) } /^test .* \.\.\. FAILED$/ { print path, $2 }' "$1"
}

# Whether a test that looks at the clock passes when it runs alone, and nothing is found in it.
passes_alone() {
    for _ in 1 2 3 4 5; do
        (cd "$work/$name" && timeout 300 "$deadheat" run "$1" --exact "$2") \
            </dev/null >>"$log.alone" 2>&1 && return
    done
    return 1
}

table="$work/table.md"
printf '| crate | tests | passed | of these alone | failed | ignored | found | known | CPU s |\n|---|---|---|---|---|---|---|---|---|\n' >"$table"
bad=0
for suite in "${suites[@]}"; do
    set -f
    # shellcheck disable=SC2206 # words on purpose
    words=($suite)
    set +f
    name=${words[0]} version=${words[1]} rest=("${words[@]:2}")
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    printf '\n=== %s %s: %s\n' "$name" "$version" "${rest[*]}"
    fetch "$name" "$version" || exit 2
    log="$work/$name.log" report="$work/$name.txt"
    : >"$report"
    build=(env CARGO_TARGET_DIR="$work/target" "$deadheat" cargo --log "$report" test --release)
    (cd "$work/$name" && "${build[@]}" --no-run "${rest[@]}") >"$log" 2>&1 || { cat "$log"; bad=1; continue; }
    cpu=$(
        cd "$work/$name" || exit
        timeout --kill-after=10 $limit "${build[@]}" --no-fail-fast "${rest[@]}" >"$log" 2>&1
        times >"$log.times" # no pipe: that would be another shell, with times of its own
        awk -F '[ms ]+' 'END { printf "%.0f", $1 * 60 + $2 + $3 * 60 + $4 }' "$log.times"
    )
    sum() { grep -a '^test result:' "$log" | sed -n "s/.* \([0-9]*\) $1.*/\1/p" | awk '{ n += $1 } END { print n + 0 }'; }
    # A test that hangs leaves no result, but its name.
    failed=$(($(sum failed) + $(grep -ac 'signal: 15, SIGTERM' "$log")))
    alone=0
    : >"$log.alone"
    while read -r path test; do
        if grep -q "^$name $test " "$timed" && passes_alone "$path" "$test"; then
            echo "test $test missed its own time limit among others, and kept it alone"
            alone=$((alone + 1))
        fi
    done < <(failures "$log")
    failed=$((failed - alone))
    found=$(sed -n 's/^deadheat: \([0-9]*\) findings\{0,1\}.*/\1/p' "$report" | tail -1)
    known_count=$(sed -n 's/.* \([0-9]*\) suppressed.*/\1/p' "$report" | tail -1)
    cat "$report"
    grep -aE '\.\.\. FAILED$|has been running for over' "$log"
    [ "$failed" -eq 0 ] && [ -z "$found" ] || bad=1
    printf '| %s %s | `%s` | %d | %d | %d | %d | %s | %s | %s |\n' "$name" "$version" "${rest[*]}" $(($(sum passed) + alone)) \
        "$alone" "$failed" "$(sum ignored)" "${found:-nothing}" "${known_count:-}" "$cpu" >>"$table"
done
echo
cat "$table"
exit $bad
