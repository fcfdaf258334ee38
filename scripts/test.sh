#!/usr/bin/env bash
# All tests, cheapest first: formatting, lints, the workspace's tests, the demo with its checks, a short fuzz run.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
built=${CARGO_TARGET_DIR:-$PWD/target}/debug

step() { printf '\n== %s\n' "$*"; }

step "formatting and lints"
scripts/lint.sh

step "tests of the workspace"
# With the binary that the end-to-end tests drive, which `cargo test` does not build. The whole workspace at once: another
# selection would have other features, and build the dependencies a second time.
"$cargo" build --workspace --bins --tests --locked
export EXO_TEST_BINARY=$built/exo
if "$cargo" nextest --version >/dev/null 2>&1; then
    "$cargo" nextest run --workspace --locked --no-fail-fast
else
    "$cargo" test --workspace --locked --no-fail-fast
fi

step "demo"
# The unoptimised binary, which is there already; `make demo` runs the optimised one.
EXO_FOLDER=$built scripts/demo.sh

step "fuzz"
"$built/fuzz" --schedules 1000000 --minutes 1

step "all tests passed"
