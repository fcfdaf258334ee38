#!/usr/bin/env bash
# Runs the benchmark against Exo, which is installed from PyPI into target/ where it is not there yet.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
venv=target/bench-venv

if ! "$venv/bin/python" -c 'import exo' >/dev/null 2>&1; then
    echo "bench: installing exo-lang into $venv"
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet exo-lang==1.0.0; }; then
        echo "bench: exo-lang could not be installed (python3-venv and a connection to PyPI are needed)" >&2
        exit 3
    fi
fi
"$cargo" build --release --locked -p exo-cli -p exo-tests --bin exo --bin bench
built=${CARGO_TARGET_DIR:-$PWD/target}/release
EXO_TEST_BINARY=$built/exo "$built/bench" --python "$venv/bin/python" "$@"
