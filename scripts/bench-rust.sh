#!/usr/bin/env bash
# Time and memory of small Rust programs: native, under Deadheat, and under rustc's own ThreadSanitizer with the same
# standard library instrumented the same way (`-Zsanitizer=thread`, on stable by RUSTC_BOOTSTRAP).
#
#   scripts/bench-rust.sh DEADHEAT [REPEATS]
#
# Prints one table in Markdown: CPU seconds (user and system, the least of REPEATS) and the most memory in MiB.
set -euo pipefail
cd "$(dirname "$0")/.."
deadheat=$(realpath "${1:?usage: scripts/bench-rust.sh DEADHEAT [REPEATS]}")
repeats=${2:-5}
triple=x86_64-unknown-linux-gnu
work=$(realpath -m "${CARGO_TARGET_DIR:-target}/bench-rust")
mkdir -p "$work"
manifest=bench/rust/Cargo.toml
unset RUSTFLAGS
export CARGO_TARGET_DIR="$work"
# A cache of its own, in which there is one prepared standard library and no other.
export XDG_CACHE_HOME="$work/cache"
rm -rf "$XDG_CACHE_HOME"
[ -x /usr/bin/time ] || { echo "bench-rust: needs /usr/bin/time: apt-get install time" >&2; exit 1; }

cargo build --release --quiet --manifest-path $manifest
"$deadheat" cargo build --release --quiet --manifest-path $manifest
sysroot=$(find "$XDG_CACHE_HOME/deadheat" -maxdepth 1 -type d -name 'std-*' | head -1)
# The same library for ThreadSanitizer, with LLVM's own hooks: its runtime does not know what Deadheat makes of them.
real=$(rustc --print sysroot)
theirs=$work/tsan-std
rm -rf "$theirs"
cp -a "$sysroot" "$theirs"
for rlib in "$theirs/lib/rustlib/$triple/lib"/*.rlib; do
    [ -L "$rlib" ] || "$deadheat" instrument-rlib "$(ls "$real"/lib/libLLVM.so.*)" "" \
        "$real/lib/rustlib/$triple/lib/$(basename "$rlib")" "$rlib"
done
RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer --sysroot=$theirs" \
    cargo build --release --quiet --target $triple --manifest-path $manifest --target-dir "$work/tsan"

native=$work/release/kernels
ours=$work/deadheat/$triple/release/kernels
theirs=$work/tsan/$triple/release/kernels

# One run of a program: CPU seconds and KiB.
measure() {
    { /usr/bin/time -f '%U %S %M' "$@" >/dev/null; } 2>&1 | awk 'END { print $1 + $2, $3 }'
}
export DEADHEAT_OPTIONS=quiet=on TSAN_OPTIONS=exitcode=0:report_bugs=0
printf '| program | native s | Deadheat s | TSan s | Deadheat / TSan | native MiB | Deadheat MiB | TSan MiB | Deadheat / TSan |\n'
printf '|---|---|---|---|---|---|---|---|---|\n'
for kernel in $("$native"); do
    # In turns, so that whatever else the machine does falls on all three.
    for _ in $(seq "$repeats"); do
        # TSan wants its address space where it was when it was built.
        echo "$(measure "$native" "$kernel") $(measure "$ours" "$kernel") $(measure setarch -R "$theirs" "$kernel")"
    done | awk -v kernel="$kernel" '
        { for (i = 1; i <= 6; i++) if (NR == 1 || $i < least[i]) least[i] = $i }
        END { print kernel, least[1], least[3], least[5], least[2], least[4], least[6] }'
done | awk '{
    printf "| %s | %.2f | %.2f | %.2f | %.2f | %.0f | %.0f | %.0f | %.2f |\n", $1, $2, $3, $4, $3 / $4, $5 / 1024, $6 / 1024, $7 / 1024, $6 / $7; fflush()
    time += log($3 / $4); memory += log($6 / $7); n++
} END { printf "| geometric mean | | | | %.2f | | | | %.2f |\n", exp(time / n), exp(memory / n) }'
