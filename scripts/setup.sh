#!/usr/bin/env bash
# Installs the system packages that building, testing and the demo need, and only those that are missing.
# Debian and Ubuntu, as root or with sudo. Elsewhere it names what is missing and exits 3; with nothing missing it
# is silent and exits 0 on any system.
set -euo pipefail

have() { command -v "$1" >/dev/null 2>&1; }

# The Rust toolchain comes from rustup, not from the system: Debian's own is older than this project needs.
RUST_VERSION=1.95.0

toolchain_problems() {
    if ! have cargo || ! have rustc; then
        echo "Rust $RUST_VERSION or newer is missing: install it with rustup (https://rustup.rs)"
        return
    fi
    local found
    found=$(rustc --version | cut -d' ' -f2)
    if [ "$(printf '%s\n%s\n' "$RUST_VERSION" "${found%%-*}" | sort -V | head -n 1)" != "$RUST_VERSION" ]; then
        echo "rustc $found is too old: this project needs $RUST_VERSION or newer (rustup update stable)"
    fi
}

# Prints the Debian names of the missing packages, one a line.
missing_packages() {
    # A C compiler and the C library's headers: for zstd's sources, and because `exo test` and the demo compile C.
    have gcc || echo gcc
    have gcc && echo '#include <stdio.h>' | gcc -E -x c - >/dev/null 2>&1 || echo libc6-dev
    # Z3 is C++: linking it needs libstdc++.
    have g++ || echo g++
    have make || echo make
    have clang || echo clang
    have pkg-config || echo pkg-config
    # The check is of the library itself, so that it holds where pkg-config is missing too.
    { have pkg-config && pkg-config --exists 'z3 >= 4.8.12'; } || echo libz3-dev
    # Cross compiler and emulator for the Neon and SVE targets.
    have aarch64-linux-gnu-gcc || echo gcc-aarch64-linux-gnu
    have aarch64-linux-gnu-gcc && echo '#include <stdio.h>' | aarch64-linux-gnu-gcc -E -x c - >/dev/null 2>&1 \
        || echo libc6-dev-arm64-cross
    have qemu-aarch64 || have qemu-aarch64-static || echo qemu-user
    # The libraries of the RISC-V target, for which clang compiles.
    have riscv64-linux-gnu-gcc || echo gcc-riscv64-linux-gnu
    have riscv64-linux-gnu-gcc && echo '#include <stdio.h>' | riscv64-linux-gnu-gcc -E -x c - >/dev/null 2>&1 \
        || echo libc6-dev-riscv64-cross
    # Stands in for AVX-512 where this machine has none.
    grep -qw avx512f /proc/cpuinfo 2>/dev/null || [ -f /usr/include/simde/x86/avx512.h ] || echo libsimde-dev
}

problems=$(toolchain_problems)
mapfile -t missing < <(missing_packages)

if [ ${#missing[@]} -gt 0 ]; then
    runner=()
    if have apt-get && [ "$(id -u)" -ne 0 ]; then
        if have sudo; then runner=(sudo); else
            echo "setup: missing: ${missing[*]}" >&2
            echo "setup: run as root or with sudo: apt-get install ${missing[*]}" >&2
            exit 3
        fi
    elif ! have apt-get; then
        echo "setup: missing (by their Debian names): ${missing[*]}" >&2
        echo "setup: install what this system calls them, then run the command again" >&2
        exit 3
    fi
    echo "setup: installing ${missing[*]}"
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    if ! { "${runner[@]}" apt-get update &&
        "${runner[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } \
        >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "setup: apt-get could not install: ${missing[*]}" >&2
        exit 3
    fi
    mapfile -t left < <(missing_packages)
    if [ ${#left[@]} -gt 0 ]; then
        echo "setup: still missing after the installation: ${left[*]}" >&2
        exit 3
    fi
fi

if [ -n "$problems" ]; then
    echo "setup: $problems" >&2
    exit 3
fi
