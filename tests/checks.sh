# checks.sh - what the test scripts share; sourced, after `set -u`
# shellcheck shell=sh
#
#   check TEXT COMMAND...    a case: passes if the command does
#   refuse TEXT WORDS COMMAND...
#                            a case: the command fails and says WORDS
#   skip WHY                 a case that cannot run here
#   need_nvcc WHAT           sets nvcc; without one WHAT is skipped, and all else
#   program_of PAGE          prints the first C program of a page
#   dead_links FOLDER        prints its pages' links to files that are not there
#   finish                   the last line; exits
#
# For COMMAND:
#
#   says WORDS COMMAND...    whether it says WORDS, whatever its status
#   status N COMMAND...      whether it ends with exit status N
#
# ROOT is the tree, WORK a folder that is removed at exit, and `plain_make` a
# make that inherits neither settings nor jobs from the one that runs the tests;
# make_under, if set, is the command that runs it. It compiles the host's C in a
# third of the time, without optimising, or by make_cflags, if set.
# A case's output shows only if it fails.

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
WORK=$(mktemp -d)
trap 'keep_coverage; rm -rf "$WORK"' EXIT
# Elsewhere a grep finds other letters in [A-Z], and fewer cases run.
LC_ALL=C
export LC_ALL
# A compiler of several words, such as 'ccache gcc', becomes one.
case ${CC-} in *\ *)
    # shellcheck disable=SC2016 # for that script
    printf '#!/bin/sh\nexec %s "$@"\n' "$CC" >"$WORK/cc" && chmod +x "$WORK/cc"
    CC=$WORK/cc
    ;;
esac
checks_passed=0
checks_failed=0
checks_skipped=0

# Copies gcov's files below WORK, with their counts, to the folder
# KPACK_COVERAGE (tests/branches).
keep_coverage() {
    [ -n "${KPACK_COVERAGE-}" ] || return 0
    coverage_to=$KPACK_COVERAGE/$(basename "$0")
    mkdir -p "$coverage_to"
    (cd "$WORK" && find . -type f \( -name '*.gcno' -o -name '*.gcda' \) \
        -exec cp --parents -t "$coverage_to" {} +)
}

pass() {
    checks_passed=$((checks_passed + 1))
}

flunk() { # what
    checks_failed=$((checks_failed + 1))
    echo "FAILED: $1"
    sed 's/^/    /' "$WORK/check.out"
}

skip() { # why
    checks_skipped=$((checks_skipped + 1))
    echo "SKIPPED: $1"
}

check() {
    what=$1
    shift
    if "$@" >"$WORK/check.out" 2>&1; then pass; else flunk "$what"; fi
}

refuse() {
    what=$1 words=$2
    shift 2
    if "$@" >"$WORK/check.out" 2>&1; then
        flunk "$what: it was accepted"
    elif grep -qF -e "$words" "$WORK/check.out"; then
        pass
    else
        flunk "$what: wanted '$words' in"
    fi
}

says() {
    words=$1
    shift
    "$@" >"$WORK/check.said" 2>&1
    cat "$WORK/check.said"
    grep -qF -e "$words" "$WORK/check.said"
}

status() {
    wanted=$1
    shift
    "$@"
    got=$?
    [ "$got" -eq "$wanted" ] || {
        echo "wanted exit status $wanted, got $got"
        return 1
    }
}

program_of() {
    awk '/^```c$/ { take = !seen; seen = 1; next } /^```$/ { take = 0 } take' "$1"
}

dead_links() {
    find "$1" -name README.md | while read -r page; do
        grep -oE '\]\([^)# ]+' "$page" | sed 's/^](//' | grep -v '^https*:' | while read -r link; do
            [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
        done
    done
}

finish() {
    last="$checks_passed passed, $checks_failed failed"
    [ "$checks_skipped" -eq 0 ] || last="$last, $checks_skipped skipped"
    echo "$last"
    [ "$checks_failed" -eq 0 ] && [ $((checks_passed + checks_skipped)) -gt 0 ]
    exit
}

need_nvcc() { # the rest of the sentence that begins "there is no nvcc: "
    nvcc=
    for candidate in "${NVCC:-}" /usr/local/cuda/bin/nvcc nvcc \
        "${XDG_DATA_HOME:-${HOME:-/root}/.local/share}"/kpack/cuda/nvidia/*/bin/nvcc; do
        if command -v "$candidate" >/dev/null 2>&1; then
            # shellcheck disable=SC2034 # for the script that sources this
            nvcc=$(command -v "$candidate")
            return
        fi
    done
    skip "there is no nvcc: $1"
    finish
}

plain_make() {
    # shellcheck disable=SC2086 # words
    env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES -u MAKELEVEL -u B -u H \
        -u SAN -u ARCHS -u PACK -u MODULES -u IMPORT -u COV -u COMPRESS -u EMBED \
        -u HIPFLAGS -u LDFLAGS -u DEVICES -u PREFIX -u DESTDIR \
        CFLAGS="${make_cflags--O0}" \
        ${make_under-} make --no-print-directory "$@"
}

# A copy of what a build reads, with no kernels but those given after.
copy_tree() { # folder [kernel.hip...]
    mkdir -p "$1/kernels"
    cp -R "$ROOT/Makefile" "$ROOT/README.md" "$ROOT/LICENSE" "$ROOT/gen" "$ROOT/src" \
        "$ROOT/include" "$1/"
    cp -R "$ROOT/kernels/include" "$ROOT/kernels/README.md" "$1/kernels/"
    copy_to=$1
    (cd "$ROOT" && find tests -name '*.mk' -exec cp --parents {} "$copy_to" \;)
    shift
    for copy_kernel in "$@"; do cp "$copy_kernel" "$copy_to/kernels/"; done
}

# A module with one small kernel, for tests of the build and not of kernels.
small_kernel() { # name [signature]
    cat <<END
#include <hip/hip_runtime.h>
#include "small.h"
extern "C" __global__ void $1(${2:-float *x, unsigned n})
{
    if (threadIdx.x == SMALL)
        x[0] = n;
}
END
}
