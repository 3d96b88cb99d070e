#!/bin/sh
# bounds.sh - the newest table of bounds keeps the rules of bounds-check
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

check_bounds() { # exceptions file
    tests/bench/sim/bounds-check "$1" "$2"
}
exceptions=tests/bench/sim/bounds-exceptions.csv
newest=
for file in tests/bench/results/????-??-??-bounds.txt; do
    newest=$file
done

check "the newest bounds keep the rules" check_bounds $exceptions "$newest"

# A pipe above its limit, bytes moved twice, loads too few; an exception that no
# kernel needs, and one that is missing.
worse() { # what, a field of affine_f32's and what it becomes
    awk -v OFS=' ' -v field="$2" -v value="$3" '
        $1 == "gfx942" && $2 == "affine_f32" && $4 == "recommended" { $field = value }
        { print }' "$newest" >"$WORK/worse.txt"
    check "$1 is a fault" sh -c "! tests/bench/sim/bounds-check $exceptions '$WORK/worse.txt'"
}
worse "a busy vector ALU" 7 61
worse "a byte moved twice" 14 103.0
worse "too few loads" 17 10
{ cat $exceptions; echo 'affine_f32,1024x1024,70,,none'; } >"$WORK/more.csv"
check "an exception without need is a fault" sh -c \
    "! tests/bench/sim/bounds-check '$WORK/more.csv' '$newest'"
grep -v '^rope_f16' $exceptions >"$WORK/fewer.csv"
check "a missing exception is a fault" sh -c \
    "! tests/bench/sim/bounds-check '$WORK/fewer.csv' '$newest'"
: >"$WORK/none.txt"
check "a table without lines is a fault" sh -c \
    "! tests/bench/sim/bounds-check $exceptions '$WORK/none.txt'"
finish
