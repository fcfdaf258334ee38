#!/usr/bin/env bash
# Runs the benchmark of the registry server beside kellnr, verdaccio and a file server. They are installed where they are not there yet: kellnr
# from crates.io and verdaccio from npm into target/, wrk and nginx from Debian's packages.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
peers=$PWD/target/server-peers
KELLNR=6.13.0
absent=()
mkdir -p "$peers"

have() { command -v "$1" >/dev/null 2>&1; }

# Missing programs from Debian's packages, named `PROGRAM PACKAGE`.
debian() {
    have "$1" && return
    local runner=()
    [ "$(id -u)" -eq 0 ] || runner=(sudo)
    if ! have apt-get || ! "${runner[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "$2" >"$peers/apt.log" 2>&1; then
        echo "servers: Debian's package $2 is missing and could not be installed" >&2
        return 1
    fi
}

# The lockfile of kellnr may name a version that crates.io has no more, or not yet where there is a mirror: then the version before
# it is taken, and everything else is as locked.
install_kellnr() {
    local install=(nice -n 19 "$cargo" install --locked --quiet --root "$peers/kellnr" --target-dir "$peers/kellnr-build")
    echo "servers: installing kellnr $KELLNR, which takes long (log: $peers/kellnr.log)" >&2
    "${install[@]}" "kellnr@$KELLNR" >"$peers/kellnr.log" 2>&1 && return
    local named
    named=$(sed -n 's/.*for the requirement `\([^ ]*\) = .*(locked to \([^)]*\)).*/\1/p' "$peers/kellnr.log")
    local other
    other=$(sed -n 's/^candidate versions found which didn.t match: \([^,]*\).*/\1/p' "$peers/kellnr.log")
    [ -n "$named" ] && [ -n "$other" ] || return 1
    rm -rf "$peers/kellnr-source"
    cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"kellnr-$KELLNR" "$peers/kellnr-source"
    printf '\n[workspace]\n' >>"$peers/kellnr-source/Cargo.toml"
    "$cargo" update --quiet --manifest-path "$peers/kellnr-source/Cargo.toml" -p "$named" --precise "$other" &&
        "${install[@]}" --path "$peers/kellnr-source" >>"$peers/kellnr.log" 2>&1
}

# The newest that runs on this node. One of its dependencies is named by a tag that mirrors of npm may not have; it is pinned to what
# the tag says.
install_verdaccio() {
    have npm || debian npm npm || return 1
    local version=6.5.2
    case $(node -p 'Math.min(22, Number(process.versions.node.split(".")[0]))') in
        22) version=6.10.4 ;;
        20 | 21) version=6.8.0 ;;
    esac
    echo "servers: installing verdaccio $version" >&2
    mkdir -p "$peers/verdaccio"
    printf '{"private": true, "dependencies": {"verdaccio": "%s"}, "overrides": {"node-fetch": "2.6.7"}}\n' "$version" \
        >"$peers/verdaccio/package.json"
    npm install --prefix "$peers/verdaccio" --no-fund --no-audit >"$peers/verdaccio.log" 2>&1
}

debian wrk wrk || exit 3
debian strip binutils || exit 3
options=()
nginx=$(PATH=$PATH:/usr/sbin command -v nginx || true)
if [ -z "$nginx" ] && debian nginx nginx-light; then nginx=/usr/sbin/nginx; fi
if [ -n "$nginx" ]; then options+=(--nginx "$nginx"); else absent+=(--absent "nginx: Debian's package could not be installed"); fi
if [ -x "$peers/kellnr/bin/kellnr" ] || install_kellnr; then
    options+=(--kellnr "$peers/kellnr/bin/kellnr")
else
    absent+=(--absent "kellnr $KELLNR: could not be installed (see $peers/kellnr.log)")
fi
verdaccio=$peers/verdaccio/node_modules/verdaccio/bin/verdaccio
if [ -e "$verdaccio" ] || install_verdaccio; then
    options+=(--verdaccio "$verdaccio")
else
    absent+=(--absent "verdaccio: could not be installed (see $peers/verdaccio.log)")
fi
# The package of this name on crates.io was a placeholder when this was written, a program that prints one line.
margo=$("$cargo" info margo 2>/dev/null | sed -n 's/^version: \([^ ]*\).*/\1/p' || true)
case $margo in
    0.0.1) absent+=(--absent "margo: not installable, crates.io has only 0.0.1, a placeholder that prints one line") ;;
    *) absent+=(--absent "margo: crates.io has ${margo:-not answered}, which this script does not know how to run") ;;
esac

if [ -z "${EXO_BINARIES:-}" ]; then
    "$cargo" build --release --locked -p exo-cli -p exo-registry --bin exo --bin exo-registry
    EXO_BINARIES=${CARGO_TARGET_DIR:-$PWD/target}/release
fi
exec python3 tests/benches/peers/servers.py --exo "$EXO_BINARIES/exo" --exo-registry "$EXO_BINARIES/exo-registry" \
    "${options[@]}" "${absent[@]}" "$@"
