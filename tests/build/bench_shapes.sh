#!/bin/sh
# bench_shapes.sh - the table of models' launches names candle's kernels, with
# as many arguments as they take
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

table=tests/bench/gpu/shapes.csv
bench=$WORK/bench-gpu
check "the benchmark compiles" "${CC:-cc}" -std=gnu11 -Isrc -o "$bench" tests/bench/gpu/*.c -ldl -lm
"$bench" list $table >"$WORK/launches" 2>"$WORK/said"
check "every row has a launch: $(cat "$WORK/said")" test ! -s "$WORK/said"
check "there are launches" test "$(wc -l <"$WORK/launches")" -gt 500
# candle.csv: module,kernel,bytes of each argument
awk -F, 'NR == FNR { if (NF == 3) nargs[$2] = split($3, part, " "); next }
    !($1 in nargs) { print $1 ": candle has no such kernel"; next }
    $2 != nargs[$1] { print $1 ": " $2 " arguments, candle has " nargs[$1] }
    $3 ~ /(^| )0( |$)/ || $4 ~ /(^| )0( |$)/ { print $1 ": an empty launch" }' \
    tests/build/candle.csv "$WORK/launches" | sort -u >"$WORK/wrong"
check "they are candle's: $(head -3 "$WORK/wrong")" test ! -s "$WORK/wrong"

# ---- refused tables ----

rows() { # row...
    printf 'kernel,layout,shape,tokens,model,what\n' >"$WORK/t.csv"
    printf '%s\n' "$@" >>"$WORK/t.csv"
}
listed() { "$bench" list "$WORK/t.csv"; }
rows 'badd_f32,,tx8,1 2,m,w'
check "two numbers of tokens" test "$(listed | wc -l)" = 2
rows 'badd_f32,,tx8,1,m'
refuse "a row that is too short" "t.csv:2: 6 columns wanted" listed
rows 'nothing_f32,,tx8,1,m,w'
refuse "a kernel of no family" "t.csv:2: no family of shapes_launch.c has the kernel" listed
rows 'rmsnorm_f32,,tx,1,m,w' 'rmsnorm_f32,,t,1,m,w'
refuse "a shape that ends too early" "t.csv:2: the shape is not what the family takes" listed
finish
