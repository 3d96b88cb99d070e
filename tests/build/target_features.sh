#!/bin/sh
# target_features.sh - target_table.h's features agree with clang's, and kernels
# use them
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

CLANG=$(for v in 22 21 20 19; do command -v clang-$v; done | head -n 1)
OBJDUMP=$(for v in 22 21 20 19; do command -v llvm-objdump-$v; done | head -n 1)

# target major wave dot4 mfma wmma pk32 bf16, and the waves of a SIMD by registers
rows() {
    tr -d ' "' <"$ROOT/src/base/target_table.h" | awk -F'[(,)]' '
        function waves(used) {
            used = int((used + $17 - 1) / $17) * $17
            return $16 < used * $18 ? int($16 / used) : $18
        }
        /^X/ {
            print ($2 ~ /_generic$/ ? $7 : $2), $4, $10, $11, $12, $13, $14, $15, \
                waves(1) "/" waves(33) "/" waves(65) "/" waves(100) "/" waves(129)
        }'
}
rows >"$WORK/rows"

# ---- by clang ----

# Clang's list of features has no packed f32, and of gfx950 no rounding to bf16:
# there the code tells. A kernel's comments tell its waves.
cat >"$WORK/pairs.c" <<'END'
#define USES(n, last)                                                          \
    __attribute__((amdgpu_kernel)) void uses_##n(void)                         \
    {                                                                          \
        __asm__ volatile("" ::: last);                                         \
    }
USES(1, "v0") USES(33, "v32") USES(65, "v64") USES(100, "v99") USES(129, "v128")

typedef float pair __attribute__((ext_vector_type(2)));

pair product(pair a, pair b, pair c)
{
    return __builtin_elementwise_fma(a, b, c);
}

void rounded(float a, __bf16 *b)
{
    *b = (__bf16)a;
}
END
compiled() { # target option...
    "$CLANG" --target=amdgcn-amd-amdhsa "-mcpu=$1" -nogpulib -O2 -S -o - "$WORK/pairs.c" "$2"
}
clang_says() { # target
    compiled "$1" -emit-llvm >"$WORK/ir" && compiled "$1" -g0 >"$WORK/asm" || return 1
    awk -v target="$1" '
        FNR == NR && match($0, /"target-features"="[^"]*"/) {
            n = split(substr($0, RSTART + 19, RLENGTH - 20), list, ",")
            while (n > 0)
                has[substr(list[n--], 2)] = 1
        }
        /v_pk_fma_f32/ { pk32 = 1 }
        /v_cvt_pk_bf16_f32/ { bf16 = 1 }
        /^; Occupancy:/ { waves = waves (waves ? "/" : "") $3 }
        END {
            major = 9
            for (n = 10; n <= 12; n++)
                if (("gfx" n "-insts") in has)
                    major = n
            mfma = ("mai-insts" in has) + ("gfx90a-insts" in has) + \
                ("gfx940-insts" in has) + ("gfx950-insts" in has)
            wmma = major >= 11 && !("gfx1250-insts" in has) ? major : 0
            print target, major, "wavefrontsize64" in has ? 64 : 32, \
                "dot8-insts" in has ? 2 : "dot1-insts" in has ? 1 : 0, \
                mfma, wmma, pk32 + 0, bf16 + 0, waves
        }' "$WORK/ir" "$WORK/asm"
}
agree() { # a row
    said=$(clang_says "${1%% *}")
    echo "the table: $1"
    echo "clang:     $said"
    [ "$said" = "$1" ]
}
if "$CLANG" --target=amdgcn-amd-amdhsa -mcpu=gfx1251 -x c -fsyntax-only /dev/null 2>/dev/null; then
    while read -r row; do
        check "clang knows ${row%% *} as the table does" agree "$row"
    done <"$WORK/rows"
else
    skip "this clang does not know all targets"
fi

# ---- in kernels ----

tree=$WORK/tree
copy_tree "$tree"
cat >"$tree/kernels/dot.hip" <<'END'
#include "dot4.h"

extern "C" __global__ void dot(const u32 *a, const u32 *b, int *sum)
{
    const u32 i = threadIdx.x;

    sum[i] = dot4(a[i], b[i], sum[i]);
}
END

# all generic targets, and the first processor of each kind
awk '$1 ~ /generic/ || !seen[$2 $3 $4 $5 $6 $7 $8]++' "$WORK/rows" >"$WORK/kinds"
check "build for every kind of target" \
    plain_make -C "$tree" hsaco ARCHS="$(cut -d ' ' -f 1 "$WORK/kinds" | tr '\n' ' ')"

dots() { # target: its dot products, each once
    "$OBJDUMP" -d "$tree/build/hsaco/$1/dot.hsaco" |
        grep -o 'v_dot[0-9a-z]*_i32_i[u]*8' | sort -u
}

uses() { # pattern target
    found=$(dots "$2")
    echo "$2 has '$found'"
    echo "$found" | grep -qEx "$1"
}

while read -r target _ _ dot4 _; do
    case $dot4 in
    1) check "$target has v_dot4_i32_i8" uses 'v_dot4c?_i32_i8' "$target" ;;
    2) check "$target has v_dot4_i32_iu8" uses 'v_dot4_i32_iu8' "$target" ;;
    *) check "$target takes bytes apart" uses '' "$target" ;;
    esac
done <"$WORK/kinds"
finish
