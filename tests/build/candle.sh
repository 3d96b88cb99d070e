#!/bin/sh
# candle.sh - names and arguments of candle's kernels
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

H=${H:-build}
list=tests/build/candle.csv
candle() { # candle's kernels
    python3 tests/build/candle.py "$H/kpack" "$@"
}

check "all of candle's kernels" candle "$list"

# ---- errors are found ----

for kernel in affine_bf16 uneg_f32; do
    if ! "$H/kpack" info $kernel >"$WORK/info" 2>&1; then
        skip "the pack has no $kernel to be wrong about"
        finish
    fi
done
sed 's/^\(affine,affine_bf16,.*\) 2$/\1 4/' "$list" >"$WORK/wider.csv"
refuse "another size" "affine_bf16: wanted" candle "$WORK/wider.csv"
sed 's/^unary,uneg_f32,/unary,unegg_f32,/' "$list" >"$WORK/another.csv"
refuse "another name" "unegg_f32: wanted" candle "$WORK/another.csv"
others() {
    candle "$WORK/another.csv" --others >"$WORK/others" &&
        grep -qx uneg_f32 "$WORK/others" && ! grep -qx affine_bf16 "$WORK/others"
}
check "what candle does not have is listed" others
finish
