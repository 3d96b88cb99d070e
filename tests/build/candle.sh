#!/bin/sh
# candle.sh - names and arguments of candle's kernels, and the list of the others
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

H=${H:-build}
list=tests/build/candle.csv extensions=tests/build/candle_extensions.txt
candle() { # candle's kernels, extensions
    python3 tests/build/candle.py "$H/kpack" "$@"
}

check "all of candle's kernels, and the extensions that are listed" \
    candle "$list" "$extensions"

# ---- it would tell ----

for kernel in affine_bf16 uneg_f32; do
    if ! "$H/kpack" info $kernel >"$WORK/info" 2>&1; then
        skip "the pack has no $kernel to be wrong about"
        finish
    fi
done
sed 's/^\(affine,affine_bf16,.*\) 2$/\1 4/' "$list" >"$WORK/wider.csv"
refuse "another size" "affine_bf16: wanted" candle "$WORK/wider.csv" "$extensions"
grep -v '^unary,uneg_f32,' "$list" >"$WORK/fewer.csv"
refuse "a kernel too many" "uneg_f32: neither" candle "$WORK/fewer.csv" "$extensions"
sed 's|^ucopy_{i16,i32}|ucopy_{i16,i32,u16}|' "$extensions" >"$WORK/more.txt"
refuse "an extension too many" "ucopy_u16: an extension" candle "$list" "$WORK/more.txt"
finish
