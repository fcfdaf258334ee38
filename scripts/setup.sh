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

clang_major() { clang -dumpversion | cut -d. -f1; }

# Whether clang can link the address sanitizer, which the tests of generated C run under.
clang_sanitizes() { [ -n "$(find -L "$(clang -print-resource-dir)" -name 'libclang_rt.asan*' -print -quit)" ]; }

# Prints the Debian names of the missing packages, one a line. Some can only be named once others are there.
missing_packages() {
    # A C compiler and the C library's headers: for zstd's sources, and because `exo test` and the demo compile C.
    have gcc || echo gcc
    have gcc && echo '#include <stdio.h>' | gcc -E -x c - >/dev/null 2>&1 || echo libc6-dev
    # Z3 is C++: linking it needs libstdc++.
    have g++ || echo g++
    have make || echo make
    # Fetches git dependencies.
    have git || echo git
    # Its sanitizers are a package of their own, named by version.
    if have clang; then clang_sanitizes || echo "libclang-rt-$(clang_major)-dev"; else echo clang; fi
    have pkg-config || echo pkg-config
    # The tests of the registry server start clusters of their own.
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || echo postgresql
    # The tests of the registry's pages look at them in a browser.
    have chromium || echo chromium
    have chromedriver || echo chromium-driver
    # For the test of the CMake package.
    have cmake || echo cmake
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

# Sets `runner` to what gives apt-get its rights, or ends the script where it cannot run.
find_runner() {
    runner=()
    if ! have apt-get; then
        echo "setup: missing (by their Debian names): ${missing[*]}" >&2
        echo "setup: install what this system calls them, then run the command again" >&2
        exit 3
    fi
    if [ "$(id -u)" -eq 0 ]; then return; fi
    if have sudo; then runner=(sudo); return; fi
    echo "setup: missing: ${missing[*]}" >&2
    echo "setup: run as root or with sudo: apt-get install ${missing[*]}" >&2
    exit 3
}

install_missing() {
    echo "setup: installing ${missing[*]}"
    local log
    log=$(mktemp)
    if ! { "${runner[@]}" apt-get update &&
        "${runner[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } \
        >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        echo "setup: apt-get could not install: ${missing[*]}" >&2
        exit 3
    fi
    rm -f "$log"
}

problems=$(toolchain_problems)
tried=
mapfile -t missing < <(missing_packages)
while [ ${#missing[@]} -gt 0 ]; do
    if [ "${missing[*]}" = "$tried" ]; then
        echo "setup: still missing after the installation: ${missing[*]}" >&2
        exit 3
    fi
    find_runner
    install_missing
    tried="${missing[*]}"
    mapfile -t missing < <(missing_packages)
done

if [ -n "$problems" ]; then
    echo "setup: $problems" >&2
    exit 3
fi
