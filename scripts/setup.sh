#!/usr/bin/env bash
# Installs what a make target needs from Debian's packages, and says what it does. Does nothing when all is there.
#
#   scripts/setup.sh demo     a C compiler
#   scripts/setup.sh test     both compilers, the build systems, the solver and the browser that the tests drive, and
#                             NVIDIA's compiler from PyPI (130 MB, below the target folder)
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
    # Software Vulkan, on which the kernels of the GPU engine run where there is no GPU.
    wanted+=(libvulkan1 mesa-vulkan-drivers)
    # Not every Debian has it; without it one test, that of the HTML page, is left out.
    # pip brings NVIDIA's compiler.
    optional=(chromium python3-pip)
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

# NVIDIA's compiler, assembler and shared runtime, as Python packages. Without them the tests that need them say so.
nvidia() {
    local tools="${CARGO_TARGET_DIR:-target}/cuda" version=13.4.92
    [ ! -x "$tools/nvidia/cu13/bin/nvcc" ] || return 0
    echo "setup: installing nvcc, ptxas and the CUDA runtime from PyPI into $tools"
    local packages=()
    for name in nvcc crt runtime nvrtc; do packages+=("nvidia-cuda-$name==$version"); done
    packages+=("nvidia-nvvm==$version" "nvidia-cuda-cccl==13.3.5.0.6")
    if python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps \
        --target "$tools.new" "${packages[@]}"; then
        chmod -R u+x "$tools.new/nvidia/cu13/bin" "$tools.new/nvidia/cu13/nvvm/bin"
        ln -sf libcudart.so.13 "$tools.new/nvidia/cu13/lib/libcudart.so"
        rm -rf "$tools" && mv "$tools.new" "$tools"
    else
        echo "setup: NVIDIA's packages cannot be installed here; the tests of nvcc's programs are left out" >&2
        rm -rf "$tools.new"
    fi
}

# What a first `make test` leaves in the target folder.
ROOM_GB=8
room() {
    local target="${CARGO_TARGET_DIR:-target}" free
    [ ! -d "$target/debug" ] || return 0
    mkdir -p "$target"
    free=$(df -BG --output=avail "$target" | tail -1 | tr -dc 0-9)
    [ "$free" -ge "$ROOM_GB" ] ||
        echo "setup: only $free GB are free there and the tests' target folder takes about $ROOM_GB; CARGO_TARGET_DIR puts it elsewhere" >&2
}

# The packages among the arguments that are not installed.
missing_of() {
    for package in "$@"; do
        status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
        [ "$status" = "install ok installed" ] || echo "$package"
    done
}
as_root=()
install() {
    echo "setup: installing $* (apt-get${as_root:+ with sudo})"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}

# Debian's packages, if any is missing.
debian() {
    mapfile -t missing < <(missing_of "${wanted[@]}")
    mapfile -t absent < <(missing_of "${optional[@]}")
    [ $((${#missing[@]} + ${#absent[@]})) -gt 0 ] || return 0

    if ! command -v apt-get >/dev/null; then
        echo "setup: this is no Debian; please install what these packages hold and run this again: ${missing[*]} ${absent[*]}" >&2
        exit 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "setup: missing packages: ${missing[*]}" >&2
            echo "setup: neither root nor sudo; please run as root: apt-get install ${missing[*]}" >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
    [ "${#missing[@]}" -eq 0 ] || install "${missing[@]}"
    for package in "${absent[@]}"; do
        install "$package" || echo "setup: $package cannot be installed here; going on without it" >&2
    done
}

[ $((${#wanted[@]} + ${#optional[@]})) -eq 0 ] || debian
[ "$1" != test ] || { room; nvidia; }
