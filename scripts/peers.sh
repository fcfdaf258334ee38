#!/usr/bin/env bash
# Runs the benchmark of the package manager beside cargo and uv; uv is installed from PyPI into target/ where it is not there yet.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
venv=target/bench-venv

if ! "$venv/bin/uv" --version >/dev/null 2>&1; then
    echo "peers: installing uv into $venv"
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet uv; }; then
        echo "peers: uv could not be installed (python3-venv and a connection to PyPI are needed)" >&2
        exit 3
    fi
fi
"$cargo" build --release --locked -p exo-cli -p exo-registry --bin exo --bin exo-registry
built=${CARGO_TARGET_DIR:-$PWD/target}/release
exec python3 tests/benches/peers/clients.py --exo "$built/exo" --exo-registry "$built/exo-registry" --uv "$PWD/$venv/bin/uv" "$@"
