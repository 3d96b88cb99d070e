#!/bin/sh
# lint.sh - the part of `make lint` that takes seconds: clang-format, shellcheck,
# the pages' tables of settings
#
# Other releases of these tools format otherwise and find other things, so only
# those of Debian 12 are asked.
# shellcheck disable=SC2016 # pages have backticks
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

case $(clang-format --version 2>/dev/null) in
*" version 14."*) check "every file is formatted" plain_make B="$WORK/lint" lint-format ;;
*) skip "there is no clang-format 14" ;;
esac
case $(shellcheck --version 2>/dev/null) in
*"version: 0.9."*) check "shellcheck finds nothing" plain_make B="$WORK/lint" lint-shell ;;
*) skip "there is no shellcheck 0.9" ;;
esac
check "the pages have every setting" plain_make B="$WORK/lint" lint-settings

# ---- it would tell ----

mkdir "$WORK/tree"
find Makefile gen src tests -name Makefile -o -name '*.mk' -o -name '*.c' -o -name README.md |
    tar -cf - -T - | tar -xf - -C "$WORK/tree"
refuse_page() { # page words sed-script: a tree whose page that script changed
    sed -i "$3" "$WORK/tree/$1"
    refuse "$1 after sed '$3'" "$1: $2" python3 -B tests/build/settings.py "$WORK/tree"
    cp "$1" "$WORK/tree/$1"
}
refuse_page gen/README.md 'setting COV is missing' '/^| `COV`/d'
refuse_page tests/README.md 'setting INTO is missing' '/^| `INTO`/d'
refuse_page tests/README.md 'setting NONE: nothing reads it' 's/^| `INTO`/| `INTO`, `NONE`/'
refuse_page tests/sim/README.md 'variable KPK_SIM_TRACE is missing' '/^| `KPK_SIM_TRACE`/d'
refuse_page tests/sim/README.md 'variable KPK_SIM_TRACK: nothing reads it' 's/^| `KPK_SIM_TRACE`/| `KPK_SIM_TRACK`/'
refuse_page src/README.md 'variable KPK_HIP_LIBRARY is missing' '/^| `KPK_HIP_LIBRARY`/d'
finish
