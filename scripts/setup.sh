#!/usr/bin/env bash
# Installs what a make target needs from Debian's packages, and says what it does. Does nothing when all is there.
#
#   scripts/setup.sh demo     a C compiler
#   scripts/setup.sh test     both compilers, the build systems, the solver and the browser that the tests drive
#   scripts/setup.sh gpu      what compiles kernels, the solver, and Oclgrind, for make bench-gpu
#
# What only `make bench` and `make real-programs` need is installed by them.
set -euo pipefail
wanted=()
optional=()

case "${1:-}" in
demo)
    command -v gcc >/dev/null || command -v clang >/dev/null || command -v clang-19 >/dev/null ||
        wanted=(gcc binutils libc6-dev)
    ;;
test)
    wanted=(gcc g++ binutils libc6-dev make clang-19 llvm-19 lld-19 libclang-rt-19-dev cmake ninja-build meson pkg-config libclc-19 libclc-19-dev libz3-4)
    # Not every Debian has it; without it one test, that of the HTML page, is left out.
    optional=(chromium)
    ;;
gpu)
    wanted=(clang-19 llvm-19 libclc-19 libclc-19-dev libz3-4)
    # Without it that part of the page is left out.
    optional=(oclgrind)
    ;;
*)
    echo "usage: scripts/setup.sh demo|test|gpu" >&2
    exit 2
    ;;
esac

if ! command -v cargo >/dev/null; then
    echo "setup: cargo is not on the PATH; install Rust from https://rustup.rs, then run this again" >&2
    exit 1
fi
[ $((${#wanted[@]} + ${#optional[@]})) -gt 0 ] || exit 0

# The packages among the arguments that are not installed.
missing_of() {
    for package in "$@"; do
        status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
        [ "$status" = "install ok installed" ] || echo "$package"
    done
}
mapfile -t missing < <(missing_of "${wanted[@]}")
mapfile -t absent < <(missing_of "${optional[@]}")
[ $((${#missing[@]} + ${#absent[@]})) -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "setup: this is no Debian; please install what these packages hold and run this again: ${missing[*]} ${absent[*]}" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: missing packages: ${missing[*]}" >&2
        echo "setup: neither root nor sudo; please run as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
install() {
    echo "setup: installing $* (apt-get${as_root:+ with sudo})"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
[ "${#missing[@]}" -eq 0 ] || install "${missing[@]}"
for package in "${absent[@]}"; do
    install "$package" || echo "setup: $package cannot be installed here; going on without it" >&2
done
