#!/bin/sh
# dies.sh - kernels of which most groups leave keep all dies of an MI300X busy
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

bench=$H/bench-bounds table=tests/bench/sim/dies.csv
if [ ! -x "$bench" ] || [ ! -d "$B/hsaco/gfx942" ]; then
    skip "the build is not of all modules, or not for gfx942"
    finish
fi
all_launches() {
    wanted=$(grep -vc -e '^#' -e '^kernel,' "$table")
    got=$(grep -c '^gfx942,' "$WORK/bounds.csv")
    echo "wanted $wanted, got $got"
    [ "$got" -eq "$wanted" ]
}
check "the launches run" sh -c "LD_LIBRARY_PATH='$H/sim' KPK_SIM_DEVICES=gfx942 '$bench' '$table' >'$WORK/bounds.csv'"
check "all of them" all_launches
check "their work is even" tests/bench/sim/dies-check "$WORK/bounds.csv"
awk -F, -v OFS=, '$2 == "affine_f32" { $20 = 12 } { print }' "$WORK/bounds.csv" >"$WORK/worse.csv"
refuse "a launch on one die" "affine_f32" tests/bench/sim/dies-check "$WORK/worse.csv"
refuse "nothing" "no line" tests/bench/sim/dies-check /dev/null
finish
