#!/bin/sh
# bounds.sh - the newest table of bounds keeps the rules of bounds-check, and is that of
# the kernels as they are
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
sed 's/^\(asort_asc_f32,256x1024\),[0-9]*/\1,999/' $exceptions >"$WORK/more.csv"
check "an exception that allows too much is a fault" sh -c \
    "! tests/bench/sim/bounds-check '$WORK/more.csv' '$newest'"
{ cat $exceptions; echo 'affine_f32,1x1,70,,none'; } >"$WORK/more.csv"
check "an exception for nothing is a fault" sh -c \
    "! tests/bench/sim/bounds-check '$WORK/more.csv' '$newest'"
grep -v '^moe_topk' $exceptions >"$WORK/fewer.csv"
check "a missing exception is a fault" sh -c \
    "! tests/bench/sim/bounds-check '$WORK/fewer.csv' '$newest'"
: >"$WORK/none.txt"
check "a table without lines is a fault" sh -c \
    "! tests/bench/sim/bounds-check $exceptions '$WORK/none.txt'"

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
    "LD_LIBRARY_PATH='$H/sim' KPK_SIM_DEVICES=gfx942,gfx1100 '$bench' '$WORK/live.csv' >'$WORK/live.txt'"
check "the newest bounds are those of the kernels" \
    tests/bench/sim/bounds-same "$newest" "$WORK/live.txt"
awk '$1 == "gfx942" && !done { $5 *= 1.1; done = 1 } { print }' "$WORK/live.txt" >"$WORK/worse.txt"
refuse "a bound that is not the file's" "bound of" \
    tests/bench/sim/bounds-same "$newest" "$WORK/worse.txt"
refuse "no bounds" "no line" tests/bench/sim/bounds-same "$newest" "$WORK/none.txt"
finish
