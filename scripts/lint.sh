#!/usr/bin/env bash
# Formatting and lints. A toolchain without rustfmt or clippy is said, not passed over: the check cannot be made there.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}

for component in fmt:rustfmt clippy:clippy; do
    if ! "$cargo" "${component%%:*}" --version >/dev/null 2>&1; then
        echo "lint: ${component##*:} is missing in this toolchain: rustup component add ${component##*:}" >&2
        exit 3
    fi
done
"$cargo" fmt --all --check
"$cargo" clippy --workspace --all-targets --locked -- -D warnings
