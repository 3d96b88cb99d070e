#!/bin/sh
# bounds.sh - the table of bounds keeps the rules of bounds-check, and is that of the
# kernels as they are
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

check_bounds() { # exceptions file
    tests/bench/sim/bounds-check "$1" "$2"
}
exceptions=tests/bench/sim/bounds-exceptions.csv
bounds=tests/bench/results/bounds.csv

check "the bounds keep the rules" check_bounds $exceptions "$bounds"

# A pipe above its limit, bytes moved twice, loads too few; an exception that no
# kernel needs, and one that is missing.
worse() { # name, a field of affine_f32's row, its new value
    awk -F, -v OFS=, -v field="$2" -v value="$3" '
        $1 == "gfx942" && $2 == "affine_f32" && $5 == "recommended" { $field = value }
        { print }' "$bounds" >"$WORK/worse.csv"
    check "$1 is a fault" sh -c "! tests/bench/sim/bounds-check $exceptions '$WORK/worse.csv'"
}
worse "a busy vector ALU" 8 61
worse "a byte moved twice" 15 103.0
worse "too few loads" 18 10
{ cat $exceptions; echo 'affine_f32,1024x1024,70,,none'; } >"$WORK/more.csv"
check "an exception without need is a fault" sh -c \
    "! tests/bench/sim/bounds-check '$WORK/more.csv' '$bounds'"
sed 's/^\(asort_asc_f32,256x1024\),[0-9]*/\1,999/' $exceptions >"$WORK/more.csv"
check "an exception that allows too much is a fault" sh -c \
    "! tests/bench/sim/bounds-check '$WORK/more.csv' '$bounds'"
{ cat $exceptions; echo 'affine_f32,1x1,70,,none'; } >"$WORK/more.csv"
check "an exception for nothing is a fault" sh -c \
    "! tests/bench/sim/bounds-check '$WORK/more.csv' '$bounds'"
grep -v '^moe_topk' $exceptions >"$WORK/fewer.csv"
check "a missing exception is a fault" sh -c \
    "! tests/bench/sim/bounds-check '$WORK/fewer.csv' '$bounds'"
: >"$WORK/none.csv"
check "a table without lines is a fault" sh -c \
    "! tests/bench/sim/bounds-check $exceptions '$WORK/none.csv'"

# The table's exceptions match the kernels, on a card of each kind.
bench=$H/bench-bounds
if [ ! -x "$bench" ] || [ ! -d "$B/hsaco/gfx942" ] || [ ! -d "$B/hsaco/gfx1100" ]; then
    skip "the build is not of all modules, or not for gfx942 and gfx1100"
    finish
fi
awk -F, '
FNR == NR { if (!/^#/) wanted[$1 "," $2] = 1; next }
/^kernel,/ { print; next }
$1 ($2 == "" ? "" : ":" $2) "," $3 in wanted' $exceptions tests/bench/sim/bounds.csv >"$WORK/live.csv"
check "the exceptions run" sh -c \
    "LD_LIBRARY_PATH='$H/sim' KPK_SIM_DEVICES=gfx942,gfx1100 '$bench' '$WORK/live.csv' >'$WORK/live-bounds.csv'"
check "the bounds are those of the kernels" \
    tests/bench/sim/bounds-same "$bounds" "$WORK/live-bounds.csv"
awk -F, -v OFS=, '$1 == "gfx942" && !done { $6 *= 1.1; done = 1 } { print }' "$WORK/live-bounds.csv" >"$WORK/worse.csv"
refuse "a bound that is not the file's" "bound of" \
    tests/bench/sim/bounds-same "$bounds" "$WORK/worse.csv"
refuse "no bounds" "no line" tests/bench/sim/bounds-same "$bounds" "$WORK/none.csv"
finish
