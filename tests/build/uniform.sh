#!/bin/sh
# uniform.sh - sm_90's tiles of f16 and bf16, and its attention of many queries,
# keep the addresses of operands in uniform registers
#
# ptxas gives these up in a whole kernel when a branch depends on what one lane
# knows, or where LDS is read by a pointer to any memory, and does not say so.
# It then moves each instruction's operands from plain registers, by R2UR, which
# made products and attention up to a third slower.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

need_nvcc "kernels are compiled for no NVIDIA"

# One layout and type stands for all: they have the same code but for copies.
sed -E '/^(EXPORT|ALIGN)\(/d' "$ROOT/kernels/gemm.hip" >"$WORK/gemm.hip"
echo 'TILES(bf16, f32, nt, false, true)' >>"$WORK/gemm.hip"

sed -E '/^(EXPORT|UNPACK|SET_ROWS_OF)\(/d' "$ROOT/kernels/attention.hip" >"$WORK/attention.hip"
for d in 64 128 256; do
    echo "FORM1(PREFILL, bf16, $d) FORM2(PREFILL, bf16, $d)" >>"$WORK/attention.hip"
done

cat >"$WORK/branch.hip" <<'END'
#include "device.h"
#include "nvidia/unit/wgmma.h"

/* The first lane's answer, of one warp, decides what all warps do. */
extern "C" __global__ void branches(u32 lds, u32 *out, f32 *sums)
{
    f32 v[4] = {};
    const u32 stage = threadIdx.x % 32 == 0 ? out[threadIdx.x] : lds;

    for (u32 i = 0; i < lds; i++) {
        if (__syncthreads_or((int)(out[i] == threadIdx.x)))
            lds += stage;
        wgmma_fence();
        Wgmma<bf16, 8>::multiply(v, wgmma_operand(lds), wgmma_operand(stage), 1);
        wgmma_commit();
        wgmma_wait<0>();
    }
    sums[threadIdx.x] = v[0];
}
END

# Finds moves to uniform registers right before the products of each kernel in a
# cubin: more than a share of the products.
cat >"$WORK/count.py" <<'END'
import struct
import sys

NEAR = 14  # instructions, of 16 bytes
HGMMA, R2UR = 0x9F0, 0x2CA  # the lowest 12 bits, of which 4 may choose a form
data = open(sys.argv[1], "rb").read()
share = float(sys.argv[2])
shoff, = struct.unpack_from("<Q", data, 0x28)
entsize, count, names = struct.unpack_from("<3H", data, 0x3A)
sections = [struct.unpack_from("<2I4Q", data, shoff + i * entsize) for i in range(count)]
strings = sections[names][4]
kernels = 0
bad = 0
for name, _, _, _, at, size in sections:
    name = data[strings + name:data.index(b"\0", strings + name)].decode()
    if not name.startswith(".text."):
        continue
    code = [struct.unpack_from("<H", data, i)[0] & 0xFFF for i in range(at, at + size, 16)]
    products = [i for i, c in enumerate(code) if c == HGMMA]
    near = {j for i in products for j in range(max(0, i - NEAR), i) if code[j] == R2UR}
    kernels += bool(products)
    if len(near) > share * len(products):
        bad = 1
        print("%s: %d R2UR before %d products" % (name[6:], len(near), len(products)))
print("%d kernels with products" % kernels)
sys.exit(bad or not kernels)
END

compile() { # name
    "$nvcc" -x cu -cubin -O3 -std=c++17 "-I$ROOT/kernels/include" \
        -gencode=arch=compute_90a,code=sm_90a -o "$WORK/$1.cubin" "$WORK/$1.hip"
}
count() { # name share
    python3 "$WORK/count.py" "$WORK/$1.cubin" "$2"
}
check "the tiles compile" compile gemm
check "their products have uniform operands" count gemm 0
check "attention compiles" compile attention
check "its products have uniform operands, but for the first" count attention 0.25
check "one that branches compiles" compile branch
refuse "and is noticed" "R2UR before" count branch 0
finish
