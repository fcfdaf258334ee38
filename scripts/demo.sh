#!/usr/bin/env bash
# The main job, with every command shown as it runs: a project, a published schedule library, C for two machines, checked.
# Needs a build of `exo`: the optimised one that `make demo` makes, or the one in the folder EXO_FOLDER. Anything unexpected ends it with a message and a code that is not 0.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
demo=$repository/tests/demo
PATH=${EXO_FOLDER:-${CARGO_TARGET_DIR:-$repository/target}/release}:$PATH
workspace=$(mktemp -d)
trap 'rm -rf "$workspace"' EXIT
trap 'echo "demo: failed at line $LINENO" >&2' ERR
export XDG_CACHE_HOME=$workspace/cache XDG_CONFIG_HOME=$workspace/config

say() { printf '\n\n# %s\n' "$*"; }
show() {
    printf '\n$ %s\n' "$*"
    eval "$*"
}
fail() {
    echo "demo: $*" >&2
    exit 1
}

command -v exo >/dev/null || fail "no exo: run 'make demo'"
cd "$workspace"

say "1. A fresh project. It builds and passes its tests as generated."
show "exo new edge-kernels --kind kernel"
show "cd edge-kernels"
show "exo build"
show "exo test"

say "2. A published schedule library. It is resolved, checked, and every claim it makes is proven again, here."
show "exo add neon-conv2d"
show "cat Exo.toml"

say "3. A kernel of our own, composed with the library and with a target."
show "cp '$demo/edge.exo' src/edge.exo"
show "cat src/edge.exo"
show "cat '$demo/kernel.toml' >> Exo.toml"
show "tail -n +2 '$demo/kernel.toml'"
show "exo build --kernel edge_conv"

say "   The same kernel for another machine: one more dependency, one more word in the kernel's targets."
show "exo add avx2"
show "sed -i 's/targets = \[\"neon\"\]/targets = [\"neon\", \"avx2\"]/' Exo.toml"
show "exo build"
show "ls build/neon build/avx2"
for target in neon avx2; do
    for file in edge_conv.c edge_conv.h; do
        [ -s "build/$target/$file" ] || fail "build/$target/$file is missing or empty"
    done
done
grep -q 'vfmaq_f32\|vmlaq_f32\|vfmaq_laneq_f32' build/neon/edge_conv.c || fail "the Neon kernel uses no Neon multiply-add"
grep -q '_mm256_fmadd_ps' build/avx2/edge_conv.c || fail "the AVX2 kernel uses no AVX2 multiply-add"

say "4. The C, compiled without a warning and run against a plain reference on twelve sizes."
strict="-std=c11 -Wall -Wextra -Werror"
compilers=(gcc)
if command -v clang >/dev/null; then compilers+=(clang); fi

# How programs for a machine run here: empty where the machine is this one.
case $(uname -m) in
    x86_64)
        neon="qemu-aarch64"
        if grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo; then avx2=""; else avx2="qemu-x86_64 -cpu max"; fi
        ;;
    *) fail "the demo knows how to run both kernels on x86_64 only, not on $(uname -m)" ;;
esac

run_target() { # name, compiler, flags, runner
    local program=build/$1-check-${2%% *}
    show "$2 $strict $3 -Ibuild/$1 build/$1/edge_conv.c '$demo/main.c' -lm -o $program"
    show "$4${4:+ }./$program"
}
for compiler in "${compilers[@]}"; do
    run_target avx2 "$compiler" "-O3 -mavx2 -mfma" "$avx2"
done
run_target avx2 gcc "-g -O1 -mavx2 -mfma -fsanitize=address,undefined -fno-sanitize-recover=all" "$avx2"
for compiler in "${compilers[@]}"; do
    case $compiler in
        gcc) cross="aarch64-linux-gnu-gcc" ;;
        clang) cross="clang --target=aarch64-linux-gnu" ;;
    esac
    run_target neon "$cross" "-O3 -march=armv8.2-a+fp16 -static" "$neon"
done

say "5. What the schedule did, step by step (the first lines of it)."
exo show edge_conv --target neon --diff >"$workspace/steps"
steps=$(grep -c '^# step ' "$workspace/steps") || fail "the schedule shows no step"
# The whole text is kept in a file, so that cutting it short ends no pipe early.
printf '\n$ exo show edge_conv --target neon --diff\n'
head -n 70 "$workspace/steps"
echo "... ($steps steps, $(wc -l <"$workspace/steps") lines in all)"
[ "$steps" -ge 5 ] || fail "a schedule of $steps steps cannot have vectorised the kernel"

say "6. Once more in another folder, with another cache: the same bytes."
show "cp -r ../edge-kernels ../elsewhere && rm -r ../elsewhere/build"
rm -f build/*-check-*
(
    show "cd ../elsewhere"
    show "XDG_CACHE_HOME='$workspace/other-cache' exo build --locked"
)
files=0
for file in $(cd build && find . -type f | sort | sed 's|^\./||'); do
    show "cmp build/$file ../elsewhere/build/$file"
    files=$((files + 1))
done
[ "$files" -ge 10 ] || fail "only $files files were compared"

printf '\n\ndemo: all six steps passed\n'
