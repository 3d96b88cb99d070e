#!/bin/sh
# check_gpu.sh - `make check-gpu`, with a stand-in for the card
#
# The stand-in runs no kernel, so kernels are wrong on it. The test proves the
# rest: programs are built with cubins and with PTX alone, find the card beside
# simulated GPUs, and hold the driver's answers against the pack.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build}
if [ -n "${SAN-}" ]; then
    skip "nothing of it is sanitized"
    finish
fi
run() { # make's words
    plain_make KPACK_GEN="$(realpath "$B/kpack-gen")" B="$WORK/b" MODULES=vector_add "$@"
}
refuse "no target of NVIDIA's" "has nothing for NVIDIA; give ARCHS='gfx942 sm_90 compute_80'" \
    run ARCHS=gfx942 check-gpu

need_nvcc "its tests are not built"

# The simulated GPU has been built.
mkdir -p "$WORK/b"
cp -R "$H/sim" "$WORK/b/sim"
KPK_CUDA_LIBRARY=$(realpath "$H/test/gpu/stand_in.so")
export KPK_CUDA_LIBRARY STAND_IN_DEVICES=90
parameters=0:8,8:8,16:8,24:4
both() { # the goal, whose kernels are wrong here
    STAND_IN_PARAMS=$parameters run -o "$WORK/b/sim/libamdhip64.so.7" \
        NVCC="$nvcc" ARCHS="gfx942 sm_90 compute_80" check-gpu
}
refuse "the goal runs" "passed," both
cp "$WORK/check.out" "$WORK/gpu.out"
said() { grep -qE -e "$1" "$WORK/gpu.out"; }
check "kernels with cubins" said "^FAIL .*/test/kernels/vector_add "
check "and with PTX" said "^FAIL .*/test/ptx/vector_add "
check "on the card alone" sh -c "grep '^FAIL vector_add' '$WORK/gpu.out' | grep -q ' sm_90 ' &&
    ! grep '^FAIL vector_add' '$WORK/gpu.out' | grep -v ' sm_90 '"
for ways in "$WORK/b/test/ways/test_ways" "$WORK/b/test/ptx/ways"; do
    KPK_SIM_DEVICES=gfx942 LD_LIBRARY_PATH=$WORK/b/sim "$ways" >"$WORK/ways.out" 2>&1
    # The test of kernels on both at once fails, because the card's kernel is
    # wrong.
    check "$ways: all but one test on gfx942" grep -q '^\[  PASSED  \] 18 test' "$WORK/ways.out"
    check "which is that of both" grep -q '^\[  FAILED  \] test_several_kernels_on_several_devices$' "$WORK/ways.out"
    check "and it goes on to the card" grep -q 'scale on sm_90\|on sm_90: ' "$WORK/ways.out"
done

# ---- the driver's attributes of kernels, against the pack's ----

vgprs=$("$WORK/b/kpack" info vector_add --json | python3 -c '
import json, sys
text = sys.stdin.read()
at = text.index("\"sm_90\"")
print(int(text[at:].split("\"vgprs\":")[1].split(",")[0].split("}")[0]))')
metadata() { # parameters attributes [which]
    KPK_HIP_LIBRARY=/nowhere STAND_IN_PARAMS=$1 STAND_IN_ATTRIBUTES=$2 "$WORK/b/test/${3:-gpu}/metadata"
}
right=1024,0,0,0,$vgprs
check "there are registers to compare" test "$vgprs" -gt 0
check "a driver that agrees" metadata $parameters "$right"
check "with PTX, too" metadata $parameters "$right" ptx
check "PTX leaves registers to the driver" metadata $parameters "512,2048,0,64,99" ptx
refuse "another offset" "parameter 2's offset is 16 in the pack, 20 by the driver" \
    metadata 0:8,8:8,20:8,24:4 "$right"
refuse "another size" "parameter 3's size is 4 in the pack, 8 by the driver" \
    metadata 0:8,8:8,16:8,24:8 "$right" ptx
refuse "a parameter less" "the number of parameters is 4 in the pack, 3 by the driver" \
    metadata 0:8,8:8,16:8 "$right"
refuse "a parameter more" "the number of parameters is 4 in the pack, 5 by the driver" \
    metadata $parameters,28:4 "$right"
refuse "another block" "vector_add of sm_90: the largest block is 1024 in the pack, 512 by the driver" \
    metadata $parameters "512,0,0,0,$vgprs"
refuse "a larger block than PTX's" "of compute_80: the largest block is 1024 in the pack, 2048 by the driver" \
    metadata $parameters "2048,0,0,0,$vgprs" ptx
refuse "shared memory" "shared memory is 0 in the pack, 16 by the driver" \
    metadata $parameters "1024,16,0,0,$vgprs"
refuse "local memory" "local memory is 0 in the pack, 8 by the driver" \
    metadata $parameters "1024,0,0,8,$vgprs"
refuse "registers" "registers is $vgprs in the pack, 1 by the driver" metadata $parameters 1024,0,0,0,1
refuse "no card" "For NVIDIA GPUs: no CUDA driver" env STAND_IN_DEVICES= KPK_CUDA_LIBRARY=/nowhere \
    KPK_HIP_LIBRARY=/nowhere "$WORK/b/test/gpu/metadata"

check "the demo is built for it" run B="$WORK/d" MODULES="vector_add affine" NVCC="$nvcc" \
    ARCHS="gfx942 sm_90" "$WORK/d/demo"
refuse "a kernel that writes nothing is told" "worst error inf ulp: WRONG" \
    env KPK_HIP_LIBRARY=/nowhere "$WORK/d/demo"
finish
