#!/bin/sh
# waves64.sh - a module in two parts: some kernels in waves of 64, others of 32
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

READELF=$(for v in 22 21 20 19; do command -v llvm-readelf-$v; done | head -n 1)

tree=$WORK/tree
copy_tree "$tree"
cat >"$tree/kernels/parts.hip" <<'END'
#include "device.h"

#include "parts.h"

#if KPK_WAVES != 64
KERNEL usual(u32 *lanes)
{
    lanes[threadIdx.x] = lane_id() + STEP * wave_size();
}
#endif
#if KPK_WAVES != 32
KERNEL wide(u32 *lanes)
{
    lanes[threadIdx.x] = lane_id() + STEP * wave_size();
}
#endif
END
cat >"$tree/kernels/include/parts.h" <<'END'
#ifndef KPK_WAVES
#define KPK_WAVES 0
#endif
#define STEP 100
END
small_kernel one >"$tree/kernels/one.hip"
echo '#define SMALL 0' >"$tree/kernels/include/small.h"

build() {
    plain_make -C "$tree" lib ARCHS="gfx1201 gfx942" "$@"
}

object() { # target
    echo "$tree/build/hsaco/$1/parts.hsaco"
}

# prints a kernel's wave size, from the metadata
waves() { # target kernel
    "$READELF" --notes "$(object "$1")" | awk -v name="$2" '
        $1 == ".name:" { kernel = $2 }
        $1 == ".wavefront_size:" && kernel == name { print $2 }'
}

waves_are() { # target kernel lanes
    found=$(waves "$1" "$2")
    echo "$2 on $1: '$found'"
    test "$found" = "$3"
}

# A function not inlined in one part might replace the other part's.
kernels_alone() { # target
    "$READELF" -s "$(object "$1")" | awk '$4 == "FUNC" { print $8 }' | sort -u >"$WORK/functions"
    cat "$WORK/functions"
    test "$(paste -sd, "$WORK/functions")" = usual,wide
}

check "build without parts" build
check "both kernels have waves of 32" waves_are gfx1201 wide 32
check "build with parts for gfx1201" build WAVES64_parts=gfx1201
check "one has waves of 64" waves_are gfx1201 wide 64
check "the other has waves of 32" waves_are gfx1201 usual 32
check "gfx942 has waves of 64 alone" waves_are gfx942 usual 64
check "there are no functions but kernels" kernels_alone gfx1201

sleep 0.05
touch "$WORK/mark"
sleep 0.05
newer() { # file below build
    find "$tree/build/$1" -newer "$WORK/mark" | grep .
}
check "build with nothing to do" build WAVES64_parts=gfx1201
check "nothing to do makes nothing" test -z "$(newer hsaco)"
echo '#define KPK_LATER' >>"$tree/kernels/include/parts.h"
check "build after changing a header of both parts" build WAVES64_parts=gfx1201
check "both are compiled again" newer code/gfx1201/parts.w64.bc
check "so is their code object" newer hsaco/gfx1201/parts.hsaco
check "build without parts again" build
check "all have waves of 32 again" waves_are gfx1201 wide 32
finish
