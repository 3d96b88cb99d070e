#!/bin/sh
# nvidia.sh - cubins and PTX in a pack, beside AMD's code objects
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

H=${H:-build}
gen=$(realpath "${B:-build}/kpack-gen")
tree=$WORK/tree
copy_tree "$tree" "$ROOT/kernels/vector_add.hip"
printf 'module,text,alias\n*,vector_add,add\n' >"$tree/kernels/aliases.csv"
kpack=$tree/build/kpack
object=$tree/build/hsaco

build() {
    plain_make -C "$tree" KPACK_GEN="$gen" "$@"
}

for arch in sm_9 sm_090 sm_90x compute_8 compute_80aa sm_90:xnack+; do
    refuse "ARCHS=$arch" "no such target: $arch" build ARCHS="gfx942 $arch"
done
refuse "no nvcc is one sentence" "sm_90 needs nvcc, which is not here: give NVCC=" \
    build ARCHS="gfx942 sm_90" NVCC=/nowhere/nvcc

need_nvcc "packs with cubins and PTX are not built"

check "a pack for both vendors builds" build NVCC="$nvcc" \
    ARCHS="gfx942 sm_80 sm_90a compute_80"
check "list shows all targets" says "compute_80 gfx942 sm_80 sm_90a" "$kpack" list
check "parameters agree with AMD's, names included" says "value   n" \
    "$kpack" info vector_add
check "an exact cubin" says "sm_90a" "$kpack" select sm_90
check "a cubin of the same major version" says "cubin for sm_80" "$kpack" select sm_86
check "PTX for a later one" says "the driver compiles for sm_120" "$kpack" select sm_120
check "nothing for an older one" says "ARCHS=\"compute_80 gfx942 sm_80 sm_90a sm_75\"" \
    "$kpack" select sm_75
check "verify names NVIDIA's GPUs, too" says "sm_80 sm_86 sm_87 sm_88 sm_89 sm_90" \
    "$kpack" verify "$kpack"
strip -o "$WORK/app" "$kpack"
rows() { # [file]: each target's registers and limits
    "$kpack" info vector_add "$@" | grep -E '^(sm|compute|gfx)[^ ]* .* [0-9]+$'
}
check "a program's cubins and PTX are read as AMD's code is" test "$(rows | wc -l)" -eq 4 -a "$(rows)" = "$(rows "$WORK/app")"
check "second names are the table's" says "kernel add of module" "$kpack" info add

same() { # target extension
    "$kpack" extract vector_add "$1" -o "$WORK/out" &&
        cmp "$WORK/out" "$object/$1/vector_add.$2"
}
check "a cubin comes out as it went in" same sm_90a cubin
check "PTX comes out as it went in" same compute_80 ptx
check "files are called by what they are" sh -c "cd '$WORK' && '$kpack' extract \
    '$tree/build/libkpack.a' --all -o all && ls all/*.cubin all/*.ptx all/*.hsaco"
exported() { # AMD's archives get only AMD's code
    says "for NVIDIA's GPUs left out" "$kpack" extract --kpack "$WORK/exported" &&
        ls "$WORK/exported" && [ "$(find "$WORK/exported" -name '*.kpack' | wc -l)" -eq 1 ] &&
        ls "$WORK/exported/"*_gfx942.kpack
}
check "NVIDIA's code goes into no archive of AMD's" exported
check "prune keeps PTX alone" "$kpack" prune "$tree/build/libkpack.a" \
    --keep compute_80 -o "$WORK/pruned.a"
kept() { # words of --keep, targets
    "$kpack" prune "$tree/build/libkpack.a" --keep "$1" -o "$WORK/kept.a" &&
        "$kpack" list "$WORK/kept.a" >"$WORK/said" && cat "$WORK/said" &&
        test "$(awk 'NR > 1 { print $3 }' "$WORK/said" | tr '\n' ' ')" = "$2 "
}
check "prune keeps a cubin alone" kept sm_80 sm_80
check "and an exact one with what else its GPU runs" kept sm_90 "compute_80 sm_90a"
check "and for a GPU without its own all that it runs" kept sm_86,gfx942 "compute_80 gfx942 sm_80"
check "a pruned archive runs where PTX does" says "sm_80 sm_86" \
    "$kpack" verify "$WORK/pruned.a"
check "PTX is of an ISA that older drivers take" grep -q '^.version 7.8' \
    "$object/compute_80/vector_add.ptx"
ptxas=$(dirname "$nvcc")/ptxas
for sm in sm_80 sm_90 sm_120; do
    check "PTX assembles for $sm" "$ptxas" -arch=$sm -o "$WORK/cubin" \
        "$object/compute_80/vector_add.ptx"
done
# A cubin for sm_90 is compiled with the instructions of sm_90a, and says so;
# some PTX wants a newer ISA.
both="gfx942 sm_90 sm_90a compute_80 compute_90 compute_90a compute_120"
check "compressed, too" build NVCC="$nvcc" B=packed COMPRESS=zstd ARCHS="$both"
check "the compressed pack is whole" says "7 right, 0 damaged" \
    "$tree/packed/kpack" verify "$tree/packed/kpack"
check "pruned, as well" "$tree/packed/kpack" prune "$tree/packed/libkpack.a" --keep sm_90,gfx942 -o "$WORK/packed.a"
check "what is left is" says "runs on: gfx942 sm_90" "$kpack" verify "$WORK/packed.a"
same_packed() { # target extension
    "$tree/packed/kpack" extract vector_add "$1" -o "$WORK/out" &&
        cmp "$WORK/out" "$tree/packed/hsaco/$1/vector_add.$2"
}
check "a cubin of sm_90 comes out as it went in" same_packed sm_90 cubin
isa() { # target version
    grep -qx "\.version $2" "$tree/packed/hsaco/$1/vector_add.ptx" &&
        "$ptxas" -arch="sm_${1#compute_}" -o "$WORK/cubin" "$tree/packed/hsaco/$1/vector_add.ptx"
}
check "PTX that may copy in bulk" isa compute_90 8.0
check "PTX of sm_90's own instructions" isa compute_90a 8.3
check "PTX for sm_120" isa compute_120 8.7
cat >"$WORK/bulk.hip" <<'END'
#include "nvidia/copy/bulk_copy.h"

KERNEL bulk(const u8 *from, u8 *to)
{
    __shared__ __attribute__((aligned(16))) u8 lds[64];
    __shared__ u64 barrier;

    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        barrier_expect(&barrier, sizeof lds);
        bulk_copy(&barrier, lds, from, sizeof lds);
    }
    __syncthreads();
    barrier_wait(&barrier, 0);
    to[threadIdx.x] = lds[threadIdx.x];
}
END
cat >"$WORK/maps.hip" <<'END'
#include "device.h"
#include "nvidia/copy/tensor_map.h"

KERNEL maps(const void *matrix)
{
    __shared__ TensorMap map;

    if (threadIdx.x == 0)
        tensor_map_fill(&map, {matrix, 64, 64, 64, 1, 8, 64});
    __syncwarp();
    tensor_map_write(tensor_map_places(), &map);
    tensor_map_read(tensor_map_places());
}
END
assembles() { # module compute_NN
    copy_tree "$WORK/$1" "$WORK/$1.hip" &&
        plain_make -C "$WORK/$1" KPACK_GEN="$gen" NVCC="$nvcc" ARCHS="$2" cubins &&
        "$ptxas" -arch="sm_${2#compute_}" -o "$WORK/cubin" "$WORK/$1/build/hsaco/$2/$1.ptx"
}
check "PTX with a bulk copy assembles" assembles bulk compute_90
check "and with maps" assembles maps compute_90a

taken_out() { # extracted code objects become a pack
    (cd "$WORK" && "$kpack" extract "$tree/packed/libkpack.a" --all -o out.d) &&
        build PACK=again IMPORT="$WORK/out.d" B=again &&
        says "compute_120 compute_80 compute_90 compute_90a sm_90 sm_90a" "$tree/again/kpack" list
}
check "and is imported under its names" taken_out
check "so are the files of the build" build PACK=again IMPORT="$tree/packed/hsaco" B=anew
check "a pack for NVIDIA alone" build NVCC="$nvcc" B=alone ARCHS="sm_90 compute_80"
check "names its arguments" says "parameter  n" "$tree/alone/kpack" info vector_add
check "and has the launchers that AMD's targets give" cmp \
    "$tree/alone/include/kpack/candle/vector_add.h" "$tree/build/include/kpack/candle/vector_add.h"

# ---- the example of src/README.md, on simulated GPUs and a stand-in for a card ----

on_both() {
    "${CC:-cc}" -std=c11 -Wall -Wextra -Werror "$ROOT/tests/install/on_both/on_both.c" \
        "-I$tree/build/include" "-I$ROOT/include" "$tree/build/libkpack.a" -ldl -pthread -o "$WORK/on_both"
}
device() { # line: a program built once, which finds all three
    STAND_IN_DEVICES=90,120 KPK_CUDA_LIBRARY=$(realpath "$ROOT/$H/test/gpu/stand_in.so") \
        LD_LIBRARY_PATH=$ROOT/$H/sim KPK_SIM_DEVICES=gfx942 "$WORK/on_both" >"$WORK/said" 2>&1
    cat "$WORK/said"
    grep -qF -e "$1" "$WORK/said"
}
if [ -z "${SAN-}" ]; then
    check "the example for both compiles" on_both
    check "AMD's GPU is right" device "device 0: AMD Instinct MI300X (simulated), gfx942:sramecc+:xnack-, runs gfx942: right"
    check "an sm_90 takes its cubin" device "device 1: Fake CUDA 0, sm_90, runs sm_90a: "
    check "an sm_120 takes PTX" device "device 2: Fake CUDA 1, sm_120, runs compute_80: "
fi

# ---- a project's own kernels ----

version=$(sed -n 's/.*KPK_VERSION_STRING "\(.*\)"/\1/p' "$ROOT/include/kpack.h")
prefix=$WORK/prefix own=$WORK/own
mkdir -p "$own/kernels" "$own/words"
cat >"$own/kernels/shade.hip" <<'END'
#include <device.h>
#include "words.h"
KERNEL shade(float *x, unsigned n)
{
    const u64 i = global_thread();
    if (i < n)
        x[i] = x[i] * FIRST + SECOND + third;
}
END
echo '#define third 3.0f' >"$own/words/words.h"
cat >"$own/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(own LANGUAGES CXX)
find_package(kpack 0.1 REQUIRED)
set(KPACK_NVCC ${NVCC_HERE})
kpack_add_pack(tint SOURCES kernels/shade.hip ARCHS gfx942 sm_90 compute_80 COMPRESS zstd
  FLAGS -DFIRST=1 -DSECOND=2 -I${CMAKE_CURRENT_SOURCE_DIR}/words)
add_executable(app app.cpp)
target_link_libraries(app PRIVATE tint)
END
cat >"$own/app.cpp" <<'END'
#include <kpack/tint/shade.h>
#include <cstdio>
int main()
{
    kpk_selection s;
    const bool ok = kpk_select(kpk_pack_module(&kpk_tint, 0), "sm_90", &s) == KPK_OK;
    return std::puts(ok ? s.target : kpk_error_message()) < 0;
}
END
own_make() { # settings
    plain_make -C "$own" -f "$prefix/share/kpack/kpack.mk" PACK=tint KERNELS=kernels NVCC="$nvcc" \
        ARCHS="gfx942 sm_90 compute_80" "$@"
}
own_cmake() {
    (cd "$own" && CMAKE_PREFIX_PATH=$prefix cmake -G Ninja -B cmake -DNVCC_HERE="$nvcc" &&
        cmake --build cmake && test "$(cmake/app)" = sm_90)
}
same_code() { # the same kernel whichever way its macros came
    for file in sm_90/shade.cubin compute_80/shade.ptx; do
        cmp "$own/build/hsaco/$file" "$own/alone/hsaco/$file" || return
    done
}
install_kpack() {
    (cd "$ROOT" && gen/ship/install "${B:-build}" "$H" "" "$prefix" candle "$version")
}
check "kpack is installed" install_kpack
check "device.h, macros and folders hold for all targets" own_make \
    HIPFLAGS="-DFIRST=1 -DSECOND=2 -Iwords -Wno-unused"
check "macros of one module, too" own_make B=alone HIPFLAGS=-Iwords \
    HIPFLAGS_shade="-DFIRST=1 -DSECOND=2"
check "it is the same code" same_code
check "another macro compiles it again" own_make B=alone HIPFLAGS=-Iwords \
    HIPFLAGS_shade="-DFIRST=1 -DSECOND=7"
refuse "which is other code" differ same_code
# Macros, folders and nvcc's own words, without a target of AMD's.
nvidia_make() { # text, settings
    said=$1
    shift
    own_make ARCHS=sm_90 B=nvidia HIPFLAGS=-Iwords "$@" >"$WORK/said" 2>&1 || { cat "$WORK/said"; return 1; }
    cat "$WORK/said"
    grep -q "$said" "$WORK/said"
}
launches() {
    grep "kpk_shade(" "$own/nvidia/include/kpack/tint/shade.h" || { echo none && false; }
}
check "signatures of a pack for NVIDIA alone" nvidia_make AR \
    HIPFLAGS_shade="-DFIRST=1 -DSECOND=2"
check "are the project's" launches
sed '1i #ifdef __clang__\n#error "for nvcc"\n#endif' "$own/kernels/shade.hip" >"$WORK/shade.hip"
mv "$WORK/shade.hip" "$own/kernels/shade.hip"
check "what clang does not compile builds with a note" nvidia_make \
    'module shade has no typed launchers .* "for nvcc"' HIPFLAGS_shade="-DFIRST=1 -DSECOND=2"
refuse "and without launchers" none launches
sed -i 1,3d "$own/kernels/shade.hip"
# With sanitizers or coverage in the library every program would need them.
[ -n "${SAN-}${KPACK_COVERAGE-}" ] || check "by CMake, from C++, compressed" own_cmake

# ---- make dist ----

copy_dist() { # copies files that only make dist reads
    cp "$ROOT/tests/run" "$ROOT/tests/unit.mk" "$ROOT/tests/README.md" "$tree/tests/" &&
        cp -R "$ROOT/tests/dist" "$ROOT/tests/unit" "$tree/tests/"
}
dist=$WORK/kpack-$version
check "what a distribution has beside" copy_dist
check "make dist" build NVCC="$nvcc" ARCHS="gfx942 sm_80 sm_90 sm_90a compute_80" lib dist
check "it unpacks" tar xzf "$tree/build/kpack-$version.tar.gz" -C "$WORK"
check "SHA256SUMS has cubins and PTX" sh -c "grep -q 'hsaco/sm_90a/vector_add.cubin$' \
    '$dist/SHA256SUMS' && grep -q 'hsaco/compute_80/vector_add.ptx$' '$dist/SHA256SUMS'"
check "the SPDX list says what made them" grep -q 'Code objects compiled by .*clang.*, nvcc V[0-9]' \
    "$dist/kpack.spdx.json"
check "it builds without nvcc or clang" plain_make -C "$dist" NVCC=/nowhere HIPCC=/nowhere lib build/kpack
# A library with coverage contains paths.
[ -n "${KPACK_COVERAGE-}" ] ||
    check "the same library, to the byte" cmp "$dist/build/libkpack.a" "$tree/build/libkpack.a"
check "whose command knows all" says "PTX for compute_80" "$dist/build/kpack" select sm_120
echo >>"$dist/prebuilt/hsaco/sm_80/vector_add.cubin"
refuse "a cubin that changed" "prebuilt/hsaco/sm_80/vector_add.cubin: FAILED" \
    plain_make -C "$dist" B=again lib

# ---- refused cubins ----

cp "$object/sm_80/vector_add.cubin" "$object/sm_90a/vector_add.cubin"
touch -d '+1 minute' "$object/sm_90a/vector_add.cubin"
refuse "a mislabelled cubin" "is for sm_80, not for sm_90a" build NVCC="$nvcc" \
    ARCHS="gfx942 sm_80 sm_90a compute_80"
finish
