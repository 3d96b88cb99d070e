#!/bin/sh
# second_names.sh - kernels get the second names of aliases.csv, or are refused
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build}
gen=$ROOT/$B/kpack-gen
tree=$WORK/tree
copy_tree "$tree"
echo '#define SMALL 0' >"$tree/kernels/include/small.h"
{
    small_kernel one_u16_u16 "const unsigned short *x, unsigned short *y" | sed 's/x\[0\] = n/y[0] = x[0]/'
    small_kernel two "float *x, unsigned n" | grep -v '#include'
} >"$tree/kernels/both.hip"
rules() { # row...
    printf '# second names\nmodule,text,alias\n' >"$tree/kernels/aliases.csv"
    printf '%s\n' "$@" >>"$tree/kernels/aliases.csv"
}
build() {
    plain_make -C "$tree" lib ARCHS="gfx1100 gfx942" KPACK_GEN="$gen"
}
object() { echo "$tree/build/hsaco/$1/both.hsaco"; }

rules '*,u16,i16' 'both,two,zwei' 'other,two,due'
check "a build with second names" build
for target in gfx1100 gfx942; do
    nm -D "$(object $target)" >"$WORK/nm"
    at() { awk -v name="$1" '$3 == name { print $1, $2 }' "$WORK/nm"; }
    for pair in one_i16_i16=one_u16_u16 zwei=two; do
        alias=${pair%=*} kernel=${pair#*=}
        for end in "" .kd; do
            check "$target: $alias$end is there" test -n "$(at "$alias$end")"
            check "$target: it is $kernel$end" test "$(at "$alias$end")" = "$(at "$kernel$end")"
        done
    done
    check "$target: another module's rule is not for this one" test -z "$(at due)"
done
table=$tree/build/gen/both.c
check "the table has four kernels" grep -q '"zwei\\0"' "$table"
header=$tree/build/include/kpack/candle/both.h
check "launchers have the alias's types" grep -q 'const int16_t \*x, int16_t \*y' "$header"
check "its comment says whose name it is" grep -q 'a second name of one_u16_u16' "$header"

sleep 0.05 # a moment that file times can tell from others
touch "$WORK/mark"
sleep 0.05
rules '*,u16,i16' 'both,two,deux'
check "another rule" build
check "links again" test "$(object gfx942)" -nt "$WORK/mark"
check "and compiles nothing" test "$WORK/mark" -nt "$tree/build/code/gfx942/both.o"
check "under the new name" grep -q '"deux\\0"' "$tree/build/gen/both.c"

# ---- refused rules ----

rules '*,two,one_u16_u16'
refuse "another kernel's name" "alias one_u16_u16 of two is taken by one_u16_u16" build
rules '*,two,zwei' 'both,two,zwei'
refuse "a name made twice" "alias zwei of two is taken by two" build
printf 'module,alias\nboth,zwei\n' >"$tree/kernels/aliases.csv"
refuse "a file without the columns" "wants the columns module, text and alias" build
printf 'module,text,alias\nboth,zwei\n' >"$tree/kernels/aliases.csv"
refuse "a row that is too short" "aliases.csv:2: 2 cells where 3 columns are named" build

rules '*,two,zwei'
code=$tree/build/code/gfx942/both.o
names() { "$gen" second-names t.both "$WORK/out.o" "$1" "$tree/kernels/aliases.csv"; }
check "an object" names "$code"
refuse "a linked one" "not a relocatable object for AMDGPU" names "$(object gfx942)"
refuse "one of the host" "not a relocatable object for AMDGPU" names "$tree/build/obj/src/select_object.o"
refuse "none" "No such file" names "$WORK/none.o"
n=$(wc -c <"$code")
for part in 0 16 63 64 500 $((n / 2)) $((n - 100)); do
    head -c "$part" "$code" >"$WORK/cut.o"
    refuse "an object cut to $part bytes" "$WORK/cut.o: " names "$WORK/cut.o"
done
finish
