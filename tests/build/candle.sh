#!/bin/sh
# candle.sh - names and arguments of candle's kernels, and the list of the others
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

H=${H:-build}
candle() { # KPACK's file of candle's kernels, README
    python3 tests/build/candle.py "$H/kpack" "$@"
}

check "all of candle's kernels, and the extensions in the README" \
    candle tests/build/candle.csv README.md

# ---- it would tell ----

sed 's/^\(affine,affine_bf16,.*\) 2$/\1 4/' tests/build/candle.csv >"$WORK/wider.csv"
refuse "another size" "affine_bf16: wanted" candle "$WORK/wider.csv" README.md
grep -v '^unary,uneg_f32,' tests/build/candle.csv >"$WORK/fewer.csv"
refuse "a kernel too many" "uneg_f32: neither" candle "$WORK/fewer.csv" README.md
sed 's|^ucopy_{i16,i32}|ucopy_{i16,i32,u16}|' README.md >"$WORK/README.md"
refuse "an extension too many" "ucopy_u16: an extension" candle tests/build/candle.csv "$WORK/README.md"
finish
