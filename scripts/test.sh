#!/usr/bin/env bash
# All tests, cheapest first: formatting, lints, the workspace's tests, the demo with its checks, a short fuzz run.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}

step() { printf '\n== %s\n' "$*"; }

step "formatting and lints"
scripts/lint.sh

step "tests of the workspace"
# The binary that the end-to-end tests drive; `cargo test` alone does not build it.
"$cargo" build --locked -p exo-cli
export EXO_TEST_BINARY=${CARGO_TARGET_DIR:-$PWD/target}/debug/exo
if "$cargo" nextest --version >/dev/null 2>&1; then
    "$cargo" nextest run --workspace --locked --no-fail-fast
else
    "$cargo" test --workspace --locked --no-fail-fast
fi

step "demo"
# The unoptimised binary, which is there already; `make demo` runs the optimised one.
EXO_FOLDER=${CARGO_TARGET_DIR:-$PWD/target}/debug scripts/demo.sh

step "fuzz"
"$cargo" run --locked -p exo-tests --bin fuzz -- --schedules 1000000 --minutes 1

step "all tests passed"
