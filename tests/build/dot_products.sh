#!/bin/sh
# dot_products.sh - each target multiplies bytes with its own instruction
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

OBJDUMP=$(for v in 22 21 20 19; do command -v llvm-objdump-$v; done | head -n 1)

tree=$WORK/tree
copy_tree "$tree"
cat >"$tree/kernels/dot.hip" <<'END'
#include "device.h"

#include "gguf/block.h"

extern "C" __global__ void dot(const u32 *a, const u32 *b, int *sum)
{
    const u32 i = threadIdx.x;

    sum[i] = dot4(a[i], b[i], sum[i]);
}
END

signed="gfx906 gfx908 gfx90a gfx942 gfx950 gfx9-4-generic gfx1011 gfx1030 gfx10-3-generic"
mixed="gfx1100 gfx1151 gfx11-generic gfx1200 gfx1201 gfx12-generic"
none="gfx900 gfx90c gfx9-generic gfx1010 gfx10-1-generic"

check "build for every group of targets" \
    plain_make -C "$tree" hsaco ARCHS="$signed $mixed $none"

dots() { # target: its dot products, each once
    "$OBJDUMP" -d "$tree/build/hsaco/$1/dot.hsaco" |
        grep -o 'v_dot[0-9a-z]*_i32_i[u]*8' | sort -u
}

uses() { # pattern target
    found=$(dots "$2")
    echo "$2 has '$found'"
    echo "$found" | grep -qEx "$1"
}

for t in $signed; do
    check "$t has v_dot4_i32_i8" uses 'v_dot4c?_i32_i8' "$t"
done
for t in $mixed; do
    check "$t has v_dot4_i32_iu8" uses 'v_dot4_i32_iu8' "$t"
done
for t in $none; do
    check "$t takes bytes apart" uses '' "$t"
done
finish
