#!/bin/sh
# import.sh - trees of prebuilt code objects become packs, or are refused
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
make_tree=$H/test/import/make_tree
make_bundle=$H/test/import/make_bundle
gen=$B/kpack-gen
built=$WORK/b

# Real code objects, of whatever two targets the build has. The host's object
# comes from the library.
targets=$(cd "$B/hsaco" && printf '%s\n' gfx*/vector_add.hsaco | cut -d/ -f1)
# shellcheck disable=SC2086
set -- $targets
one=$1 two=$2
object() { echo "$B/hsaco/$1/${2:-vector_add}.hsaco"; }
host_object=$H/obj/src/select_object.o

# ---- a tree like AMD's ----

tree=$WORK/hsa
check "a tree is made" "$make_tree" "$tree" 100 3000000
import() { # pack folder
    plain_make PACK="$1" IMPORT="$2" B="$built" KPACK_GEN="$gen"
}
check "it is imported" import made "$tree"
cp "$WORK/check.out" "$WORK/import.out"
kpack=$built/kpack
noted() { grep -c "pa.csv:[0-9]*: note: there is no gone.co; the row is left out" "$WORK/import.out"; }
check "each row without a file is noted" test "$(noted)" -ge 2

listed() { "$kpack" list --json | python3 -c "$1"; }
count='import json, sys
print(sum(len(m["objects"]) for m in json.load(sys.stdin)["modules"]))'
check "all code objects are in it" test "$(listed "$count")" -eq 100
sums='import json, sys
print("\n".join(o["sha256"] for m in json.load(sys.stdin)["modules"]
                for o in m["objects"]))'
same_bytes() {
    listed "$sums" | sort >"$WORK/listed"
    find "$tree" -name '*.co' -exec sha256sum {} + | cut -c1-64 | sort |
        cmp - "$WORK/listed"
}
check "with the bytes of the files" same_bytes
table() { "$kpack" info "$1" | grep -F "$2"; }
check "a table has both targets' columns" table pa "qTile (int)"
check "a table of a folder below is of the folder at the top" table fmoe "table fmoe_silu: "
refuse "which has no module of tables" "no module" "$kpack" info fmoe/silu
check "rows of files in folders below say which" table fmha_v3_fwd "folder (text)"
check "types follow the cells" table topksoftmax "topk (int), dtype (text)"
slots=$("$kpack" list --kernels | awk 'NR == 2 { print $1 }')
check "info of a kernel with padding" sh -c "'$kpack' info '$slots' | grep -q ' padding  *pad$' &&
    '$kpack' info '$slots' --json | python3 -c 'import json, sys
args = json.load(sys.stdin)[\"kernels\"][0][\"args\"]
sys.exit(not any(a[\"padding\"] for a in args) or all(a[\"padding\"] for a in args))'"
check "a module's line leaves padding out" sh -c "'$kpack' info \$('$kpack' list --kernels | awk 'NR == 2 { print \$2 }') |
    grep -F '$slots(' | grep -v pad"
check "JSON of rows" sh -c "'$kpack' info fmoe --json | python3 -m json.tool"

unchanged() {
    import made "$tree" >"$WORK/out" 2>&1 && ! grep -E "IMPORT|CC|AR|LD" "$WORK/out"
}
check "a second make does nothing" unchanged
rm "$(find "$tree" -name 'old_*' | head -n 1)"
check "a file less is another pack" import made "$tree"
check "of one code object less" test "$(listed "$count")" -eq 99
reproduced() {
    "$gen" import made "$WORK/again" "$tree" 2>/dev/null &&
        (cd "$WORK/again" && find . -type f) | while read -r f; do
            cmp "$WORK/again/$f" "$built/import/made/$f" || exit 1
        done
}
check "the same tree gives the same bytes" reproduced

head -n 1 "$tree/gfx942/fmoe/silu/fmoe_silu.csv" >"$tree/gfx942/fmoe/gelu/fmoe_silu.csv"
check "tables of one name in two folders" import made "$tree"
check "are told by their folders" table fmoe "table silu/fmoe_silu: "
check "and have a row or none" table fmoe "table gelu/fmoe_silu: 0 rows"
check "a kernel of a module is extracted" "$kpack" extract fmoe/silu/fmoe_silu_0x1 \
    gfx950 -o "$WORK/extracted"
check "as it was" cmp "$WORK/extracted" "$tree/gfx950/fmoe/silu/fmoe_silu_0x1.co"
in_its_folder() {
    (cd "$WORK" && "$kpack" extract pa/pa__0x1 gfx942 && test -s pa_pa__0x1-gfx942.hsaco)
}
check "into a file of a name without folders" in_its_folder
check "verify knows the pack" "$kpack" verify "$kpack"

# ---- real kernels: selected, found by row, launched ----

real=$WORK/real
mkdir -p "$real/$one/add" "$real/$two/add"
for t in "$one" "$two"; do
    cp "$(object "$t")" "$real/$t/add/tile.co"
    printf 'knl_name,co_name,tile,kind\nvector_add,tile.co,%s,%s\n' \
        "$([ "$t" = "$one" ] && echo 64 || echo 128)" "$t" >"$real/$t/add/add.csv"
done
printf 'knl_name,co_name,k\nvector_add,tile.co,4\nvector_add,tile.co,6.5\n' \
    >"$real/$one/add/twice.csv"
# One module name, with different kernels on the two targets.
cp "$(object "$one")" "$real/$one/add/other.co"
# A file with the name of a folder of tables.
mkdir "$real/$one/sub"
cp "$(object "$one")" "$real/$one/sub.co"
cp "$(object "$one")" "$real/$one/sub/x.co"
printf 'knl_name,co_name,k\nvector_add,x.co,4\n' >"$real/$one/sub/sub.csv"
cp "$(object "$two" affine)" "$real/$two/add/other.co"
check "a tree of real kernels" import real "$real"
check "tables give way to a module of their name" table sub.tables "table sub: 1 row"
check "a kernel may have two rows" table add "table twice: 2 rows"
check "of floats" sh -c "'$kpack' info add --json | python3 -c 'import json, sys
print([r[\"cells\"] for m in json.load(sys.stdin)[\"modules\"] for t in m[\"tables\"] for r in t[\"rows\"]])' | grep -F '[6.5]'"
check "of two modules of one name select takes one" sh -c "test \$('$kpack' select $one | grep -c '^add/other ') -eq 1"
check "info shows both" sh -c "test \$('$kpack' info add/other | grep -c '^module add/other: ') -eq 2"
cat >"$WORK/use.c" <<'END'
#include <kpack.h>
#include <kpack/real.h>
#include <stdio.h>
#include <string.h>

/* Selects the tile that divides, launches its kernel; the other module is the
 * one for this device. */
int main(int argc, char **argv)
{
    enum { N = 1000 };
    float a[N], b[N], c[N];
    void *da, *db, *dc;
    const kpk_module *add = kpk_pack_find(&kpk_real_add, "add");
    kpk_instance *gpu;
    const kpk_kernel *k, *other;
    size_t table, column, row;
    kpk_shape shape = kpk_shape_1d(N, 256);
    uint32_t n = N;

    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = 0.5f;
    if (argc != 3 || kpk_open(&kpk_real_add, 0, &gpu) ||
        kpk_module_find_table(add, "add", &table) ||
        kpk_table_find_column(add, table, "tile", &column))
        return fprintf(stderr, "%s\n", kpk_error_message()), 1;
    kpk_condition divides = {column, KPK_DIVIDES, 1280, NULL};
    kpk_query query = {.target = kpk_instance_device(gpu)->target,
                       .conditions = &divides, .nconditions = 1};
    if (kpk_table_select(add, table, &query, &row) ||
        kpk_table_kernel(gpu, add, table, row, &k) ||
        kpk_malloc(gpu, sizeof(a), &da) || kpk_malloc(gpu, sizeof(b), &db) ||
        kpk_malloc(gpu, sizeof(c), &dc) || kpk_copy_to(gpu, da, a, sizeof(a)) ||
        kpk_copy_to(gpu, db, b, sizeof(b)) ||
        kpk_launch(k, &shape, NULL, KPK_ARGS(da, db, dc, n)) ||
        kpk_copy_from(gpu, c, dc, sizeof(c)) ||
        kpk_kernel_get_in(gpu, "add/other", argv[1], &other))
        return fprintf(stderr, "%s\n", kpk_error_message()), 1;
    if (kpk_table_kernel(gpu, add, table, 1 - row, &k) != KPK_ERR_NO_TARGET ||
        !strstr(kpk_error_message(), argv[2]))
        return fprintf(stderr, "a row of %s was taken\n", argv[2]), 1;
    if (kpk_free(gpu, da) || kpk_free(gpu, db) || kpk_free(gpu, dc) ||
        kpk_close(gpu))
        return fprintf(stderr, "%s\n", kpk_error_message()), 1;
    return c[999] == 999.5f ? 0 : 1;
}
END
san=${SAN:+-fsanitize=$SAN} # for the simulated GPU and the installed library
# shellcheck disable=SC2086 # nothing, or a flag
check "a program for it" "$CC" $san -Wall -Wextra -I"$built/include" -Iinclude \
    "$WORK/use.c" "$built/libkpack.a" -o "$WORK/use" -pthread -ldl
run_on() { # target, kernel of add/other, the other target
    LD_LIBRARY_PATH=$H/sim KPK_SIM_DEVICES=$1 "$WORK/use" "$2" "$3"
}
check "runs on $one" run_on "$one" vector_add "$two"
check "runs on $two" run_on "$two" affine_f32 "$one"
refuse "no kernels of the other target's file" "no kernel" \
    run_on "$one" affine_f32 "$two"

# ---- Triton's JSON beside its code objects ----

triton=$WORK/triton
mkdir -p "$triton/$one" "$triton/$two"
says_triton() { # target warps shared
    printf '{"hash": "0", "target": {"backend": "hip", "arch": "%s", "warp_size": 64}, "num_warps": %d, ' "$1" "$2"
    printf '"num_ctas": 1, "debug": false, "shared": %d, "name": "vector_add"}\n' "$3"
}
for t in "$one" "$two"; do cp "$(object "$t")" "$triton/$t/add.hsaco"; done
says_triton "$one" 4 512 >"$triton/$one/add.json"
says_triton "$two" 2 1024 >"$triton/$two/add.json"
echo '{"child_paths": {}}' >"$triton/$one/other.json"
check "a tree of Triton's" import triton "$triton"
check "has a table of launch shapes" table add "table triton: 2 rows of block_x (int)"
cat >"$WORK/triton.c" <<'END'
#include <kpack.h>
#include <kpack/triton.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* argv: warps and shared memory that the JSON says for this device */
int main(int argc, char **argv)
{
    enum { N = 1000 };
    float a[N], b[N], c[N];
    void *da, *db, *dc;
    kpk_instance *gpu;
    const kpk_kernel *k;
    kpk_shape shape, other;
    kpk_attrs attrs;
    uint32_t n = N;

    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = 0.5f;
    if (argc != 3 || kpk_open(&kpk_triton, 0, &gpu) ||
        kpk_kernel_get(gpu, "vector_add", &k) ||
        kpk_kernel_shape(k, 3, 2, &shape) || kpk_kernel_attrs(k, &attrs))
        return fprintf(stderr, "%s\n", kpk_error_message()), 1;
    const uint32_t block = (uint32_t)atoi(argv[1]) * attrs.wave_size;
    if (shape.block[0] != block || shape.block[1] != 1 || shape.block[2] != 1 ||
        shape.grid[0] != 3 || shape.grid[1] != 2 || shape.grid[2] != 1 ||
        shape.shared_nbytes != (uint32_t)atoi(argv[2]))
        return fprintf(stderr, "blocks of %u, %u bytes, a grid of %u x %u\n", shape.block[0],
                       shape.shared_nbytes, shape.grid[0], shape.grid[1]), 1;
    if (kpk_kernel_shape(k, (N + block - 1) / block, 0, &shape) ||
        kpk_malloc(gpu, sizeof(a), &da) || kpk_malloc(gpu, sizeof(b), &db) ||
        kpk_malloc(gpu, sizeof(c), &dc) || kpk_copy_to(gpu, da, a, sizeof(a)) ||
        kpk_copy_to(gpu, db, b, sizeof(b)) ||
        kpk_launch(k, &shape, NULL, KPK_ARGS(da, db, dc, n)) ||
        kpk_copy_from(gpu, c, dc, sizeof(c)))
        return fprintf(stderr, "%s\n", kpk_error_message()), 1;
    other = shape;
    other.block[0] = shape.block[0] / 2;
    if (kpk_launch(k, &other, NULL, KPK_ARGS(da, db, dc, n)) != KPK_ERR_SHAPE)
        return fprintf(stderr, "half a block was launched\n"), 1;
    printf("%s\n", kpk_error_message());
    other = shape;
    other.shared_nbytes--;
    if (kpk_launch(k, &other, NULL, KPK_ARGS(da, db, dc, n)) != KPK_ERR_SHAPE ||
        !strstr(kpk_error_message(), "are fewer than the"))
        return fprintf(stderr, "too little shared memory was taken\n"), 1;
    if (kpk_free(gpu, da) || kpk_free(gpu, db) || kpk_free(gpu, dc) ||
        kpk_close(gpu))
        return fprintf(stderr, "%s\n", kpk_error_message()), 1;
    return c[999] == 999.5f ? 0 : 1;
}
END
# shellcheck disable=SC2086 # nothing, or a flag
check "a program for it" "$CC" $san -Wall -Wextra -I"$built/include" -Iinclude \
    "$WORK/triton.c" "$built/libkpack.a" -o "$WORK/use-triton" -pthread -ldl
run_triton() { # target warps shared
    LD_LIBRARY_PATH=$H/sim KPK_SIM_DEVICES=$1 "$WORK/use-triton" "$2" "$3"
}
check "launches in the shape of $one" run_triton "$one" 4 512
check "launches in the shape of $two" run_triton "$two" 2 1024
says_triton "$two" 2 1024 >"$triton/$one/add.json"
printf '{"num_warps": 4, ' >"$triton/$two/add.json"
import_triton_bad() { "$gen" import bad "$WORK/none" "$triton"; }
refuse "JSON of another target's" "$one/add.json: is about a kernel for $two, but the code beside it is for $one" \
    import_triton_bad
refuse "half of one" "$two/add.json: no JSON that can be read" import_triton_bad

# ---- vendors' other files beside code objects ----

left=$WORK/left
mkdir -p "$left/$one/pa" "$left/$two/pa"
for t in "$one" "$two"; do cp "$(object "$t")" "$left/$t/pa/tile.co"; done
cp "$(object "$one")" "$left/$one/pa/tile.co.orig"
cp "$(object "$one" affine)" "$left/$one/pa/tile.co.poc_kl_merg"
cp "$(object "$one")" "$left/$one/pa/tile.bak"
cp "$(object "$one")" "$left/$one/pa/tile.co~"
cp "$(object "$one")" "$left/$one/pa/other.v2" # without other.co
echo "text" >"$left/$one/pa/tile.txt"
check "copies beside a code object" import left "$left"
cp "$WORK/check.out" "$WORK/left.out"
for copy in tile.co.orig tile.co.poc_kl_merg tile.bak tile.co~; do
    check "$copy is noted" grep -qxF "$WORK/left.out" \
        -e "$left/$one/pa/$copy: note: passed over, for tile.co is there"
done
check "and no other file" test "$(grep -c 'passed over' "$WORK/left.out")" -eq 4
modules='import json, sys
print(" ".join(m["name"] for m in json.load(sys.stdin)["modules"]))'
check "the pack has two modules" test "$(listed "$modules")" = "pa/other pa/tile"
check "of three code objects" test "$(listed "$count")" -eq 3
check "the launchers' header says that there are none" \
    grep -q "imported: there are none, for code objects" "$built/include/kpack/left_launch.h"
check "that of a pack of sources does not" sh -c \
    "! grep 'there are none' '$B/include/kpack/candle_launch.h'"

# ---- the same in projects of their own ----

stage=$WORK/stage
check "install" gen/ship/install "$B" "$H" "$stage" /usr candle 0
downstream() {
    plain_make -f "$stage/usr/share/kpack/kpack.mk" PACK=real IMPORT="$real" B="$WORK/down"
}
check "kpack.mk" downstream
link() { # archive, includes
    # shellcheck disable=SC2086
    "$CC" $san -I"$2" -I"$stage/usr/include" "$WORK/use.c" "$1" -o "$WORK/use2" \
        -L"$stage/usr/lib" -lkpack -pthread -ldl
}
check "its archive, with the installed library" link "$WORK/down/libreal.a" "$WORK/down/include"
mkdir "$WORK/cmake"
cat >"$WORK/cmake/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(imports C)
find_package(kpack REQUIRED)
kpack_add_pack(real IMPORT $real)
add_executable(use ../use.c)
target_link_libraries(use real)
END
by_cmake() {
    cmake -S "$WORK/cmake" -B "$WORK/cmake/b" -DCMAKE_PREFIX_PATH="$stage/usr" \
        -DCMAKE_C_FLAGS="$san" &&
        env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u B -u H cmake --build "$WORK/cmake/b"
}
check "CMake" by_cmake
check "a program of either" test -x "$WORK/cmake/b/use" -a -x "$WORK/use2"

# ---- bundles and files of the host ----

fat=$WORK/fat
mkdir -p "$fat"
amd=hipv4-amdgcn-amd-amdhsa-
bundle() { # out version method
    "$make_bundle" "$@" "$amd-$one=$(object "$one")" "$amd-$two=$(object "$two")"
}
bundle "$fat/plain.hipfb" 0 none
for version in 1 2 3; do
    for method in zlib zstd; do
        bundle "$fat/v${version}_$method.hipfb" $version $method
    done
done
"$make_bundle" "$fat/old-names.bin" 0 none "hip-amdgcn-amd-amdhsa-unknown-$one=$(object "$one")"
cp "$(object "$one")" "$fat/loose-$one.hsaco"
cp "$(object "$two")" "$fat/loose-$two.hsaco"
echo "not read" >"$fat/README.md"
# As in a program of three sources: each bundle begins at a multiple of 4096.
{
    for f in plain v3_zstd v1_zlib; do
        cat "$fat/$f.hipfb"
        head -c $((4096 - $(wc -c <"$fat/$f.hipfb") % 4096)) /dev/zero
    done
} >"$WORK/section"
add_section() { # in out section
    objcopy --add-section .hip_fatbin="$3" "$1" "$2"
}
check "an object with GPU code" add_section "$host_object" "$fat/three.o" "$WORK/section"
check "a program with GPU code" add_section "$WORK/use" "$fat/program" "$fat/plain.hipfb"
check "bundles of all kinds" import fat "$fat"
targets_of() { # module
    "$kpack" list | awk -v m="$1" '$1 == m { print $2, $4, $5 }'
}
for m in plain v1_zlib v1_zstd v2_zlib v2_zstd v3_zlib v3_zstd loose \
    three.0 three.1 three.2 program; do
    check "module $m" test "$(targets_of $m)" = "1 $one $two"
done
check "module old-names" test "$(targets_of old-names)" = "1 $one "

# ---- offload binaries ----

off=$WORK/off
mkdir -p "$off"
offloads() { # out version [more]
    out=$1 version=$2
    shift 2
    "$make_bundle" "$out" "$version" offload "amdgcn-amd-amdhsa,$one=$(object "$one")" \
        "x86_64-unknown-linux-gnu,=$WORK/use.c" "amdgcn-amd-amdhsa,$two=$(object "$two")" "$@"
}
for version in 1 2; do offloads "$off/v$version.out" $version; done
offloads "$off/no-name-for-code" 1
offloads "$WORK/section" 1
cat "$WORK/section" "$WORK/section" >"$WORK/sections" # of two sources
check "an object with .llvm.offloading" objcopy --add-section .llvm.offloading="$WORK/section" "$host_object" "$off/one.o"
check "one of two sources" objcopy --add-section .llvm.offloading="$WORK/sections" "$host_object" "$off/two.o"
check "an object of two parts" objcopy --add-section .llvm.offloading="$WORK/section" \
    --add-section .hip_fatbin="$fat/plain.hipfb" "$host_object" "$off/parts.o"
id=__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--
check "an object as -fgpu-rdc makes them, with code objects" objcopy --add-section "$id$one=$(object "$one")" \
    --add-section "$id$two=$(object "$two")" \
    --add-section __CLANG_OFFLOAD_BUNDLE__host-x86_64-unknown-linux-gnu-="$WORK/use.c" "$host_object" "$off/linked.o"
check "offload binaries" import off "$off"
for m in v1 v2 no-name-for-code one two.0 two.1 parts parts.1 linked; do
    check "module $m of them" test "$(targets_of $m)" = "1 $one $two"
done
check "and no other" test "$("$kpack" list | sed 1d | wc -l)" -eq 9
check "with the bytes that went in" sh -c "'$kpack' extract two.1 '$two' -o - | cmp - '$(object "$two")'"
# As LLVM's own tool writes them, which release 22 renamed.
packager=$(for v in 22 21 20 19; do command -v llvm-offload-binary-$v clang-offload-packager-$v; done | head -n 1)
if [ -n "$packager" ]; then
    mkdir "$WORK/packager"
    by_llvm() {
        "$packager" -o "$WORK/packager/llvm.out" "--image=file=$(object "$one"),triple=amdgcn-amd-amdhsa,arch=$one,kind=hip" \
            "--image=file=$(object "$two"),triple=amdgcn-amd-amdhsa,arch=$two,kind=hip" && import packager "$WORK/packager"
    }
    check "an offload binary of LLVM's" by_llvm
    check "module llvm" test "$(targets_of llvm)" = "1 $one $two"
else
    skip "there is no llvm-offload-binary"
fi

# ---- one run refuses every wrong file ----

bad=$WORK/bad
mkdir -p "$bad/$one/k" "$bad/$two/k"
head -c 3000 "$(object "$one")" >"$bad/$one/k/cut.co"
: >"$bad/$one/k/empty.co"
cp "$host_object" "$bad/$one/k/host.co"
cp "$(object "$two")" "$bad/$one/k/elsewhere.co"
cp "$(object "$one")" "$bad/$one/k/twice.co"
cp "$(object "$one")" "$bad/$one/k/twice.hsaco"
cp "$(object "$one")" "$bad/loose-$two.hsaco"
echo "text" >"$bad/$one/k/text.co"
head -c 9000 "$fat/plain.hipfb" >"$bad/cut.hipfb"
head -c 2000 "$fat/v3_zstd.hipfb" >"$bad/cut3.hipfb"
{ printf 'CCOB\11\0\1\0'; head -c 100 /dev/zero; } >"$bad/version9.hipfb"
"$make_bundle" "$bad/no-gpu.hipfb" 0 none "cuda-nvptx64-nvidia-cuda--sm_90=$WORK/use.c"
printf 'BC\300\336bitcode' >"$WORK/bitcode"
"$make_bundle" "$bad/bitcode.hipfb" 0 none "$amd-$one=$WORK/bitcode"
"$make_bundle" "$bad/wrong-entry.hipfb" 0 none "$amd-$two=$(object "$one")"
echo "garbage" >"$WORK/garbage"
add_section "$host_object" "$bad/garbage.o" "$WORK/garbage"
ar rcs "$bad/archive.a" "$host_object"
"$make_bundle" "$bad/bitcode.out" 1 offload "amdgcn-amd-amdhsa,$one=$WORK/bitcode"
"$make_bundle" "$bad/no-image.out" 2 offload "spirv64-amd-amdhsa,amdgcnspirv=$WORK/bitcode"
"$make_bundle" "$bad/wrong-image.out" 2 offload "amdgcn-amd-amdhsa,$two=$(object "$one")"
"$make_bundle" "$bad/version3.out" 3 offload "amdgcn-amd-amdhsa,$one=$(object "$one")"
head -c 4000 "$off/v2.out" >"$bad/cut2.bin"
check "an object as -fgpu-rdc makes them" objcopy --add-section "$id$one=$WORK/bitcode" "$host_object" "$bad/rdc.o"
check "and with the new driver" objcopy --add-section .llvm.offloading="$bad/bitcode.out" "$host_object" "$bad/new-rdc.o"
check "one without its code" objcopy --add-section .rocm_kpack_ref="$WORK/garbage" "$host_object" "$bad/split.so"
cp "$WORK/bitcode" "$bad/bitcode.co"
{ printf '\336\300\027\013' && cat "$WORK/bitcode"; } >"$bad/wrapped.o"
printf '\003\002\043\007code' >"$bad/spirv.co"
printf 'KPAK\1\0\0\0' >"$bad/blas_lib_gfx942.kpack"
printf '!<thin>\n' >"$bad/thin.a"
cp "$WORK/bitcode" "$bad/passed-over.bc"
table_of() { # name text
    printf '%b' "$2" >"$bad/$one/k/$1.csv"
}
table_of nokey 'a,b\n1,2\n'
table_of ragged 'knl_name,co_name,x\nvector_add,twice.co\n'
table_of mixed 'knl_name,co_name,x\nvector_add,twice.co,1\nvector_add,elsewhere.co,one\n'
table_of stranger 'knl_name,co_name\nnobody,twice.co\n'
table_of again 'knl_name,co_name\nvector_add,twice.co\nvector_add,twice.co\n'
table_of quote 'knl_name,co_name\n"vector_add,twice.co\n'
cp "$(object "$one")" "$bad/$one/k/a name.co"
printf 'kernel,target\nvector_add,gfx9999\n' >"$bad/target.csv"
import_bad() { "$gen" import bad "$WORK/none" "$bad"; }
refuse "a tree of bad files" "nothing was written" import_bad
cp "$WORK/check.out" "$WORK/bad.out"
says() { # file words
    check "$1: $2" grep -qF -e "$bad/$1: $2" "$WORK/bad.out"
}
says "$one/k/cut.co" "truncated"
says "$one/k/empty.co" "not an ELF file"
says "$one/k/host.co" "an ELF file, but neither an AMDGPU code object nor"
says "$one/k/elsewhere.co" "is for $two, but labelled $one"
says "$one/k/twice.hsaco" "a second code object of module k/twice for $one"
says "loose-$two.hsaco" "is for $one, but labelled $two"
says "$one/k/text.co" "not an ELF file"
says "cut.hipfb" "the bundle is truncated"
says "cut3.hipfb" "the compressed bundle is truncated"
says "version9.hipfb" "compressed bundle of version 9"
says "no-gpu.hipfb" "the bundle has no code object for AMDGPU"
says "bitcode.hipfb" "entry $amd-$one: LLVM bitcode"
says "wrong-entry.hipfb" "entry $amd-$two: is for $one, but labelled $two"
says "garbage.o" ".hip_fatbin: no bundle at byte 0"
says "bitcode.out" "image for $one: LLVM bitcode, not a code object; compile without -fgpu-rdc"
says "no-image.out" "the offload binary has no image for AMDGPU or NVIDIA"
says "wrong-image.out" "image for $two: is for $one, but labelled $two"
says "version3.out" "an offload binary of another version than 1 and 2"
says "cut2.bin" "the offload binary is truncated"
says "rdc.o" "$id$one: LLVM bitcode, not a code object; compile without -fgpu-rdc"
says "new-rdc.o" ".llvm.offloading: image for $one: LLVM bitcode"
says "split.so" ".rocm_kpack_ref is damaged: no MessagePack map; copy the library again"
says "bitcode.co" "LLVM bitcode, not a code object"
says "wrapped.o" "LLVM bitcode, not a code object"
says "spirv.co" "SPIR-V, not a code object"
says "blas_lib_gfx942.kpack" "AMD's kernel archive is truncated in its header; copy it again"
says "thin.a" "a thin archive, of the names of object files alone"
check "bitcode that claims nothing is passed over" sh -c "! grep passed-over '$WORK/bad.out'"
says "archive.a" "an archive"
says "$one/k/a name.co" "rename it"
says "$one/k/nokey.csv" "no column is named knl_name or kernel"
says "$one/k/ragged.csv:2" "2 cells where 3 columns are named"
says "$one/k/mixed.csv:3" "column x holds numbers above this line, but not 'one'"
says "$one/k/stranger.csv:2" "no kernel nobody in twice.co"
says "$one/k/again.csv:3" "the same row of kernel vector_add is in line 2 already"
says "$one/k/quote.csv:2" "a quoted cell is not closed"
says "target.csv:2" "no such processor: gfx9999"
check "nothing is left behind" test ! -e "$WORK/none"

# ---- further files in a tree ----

others=$WORK/others
mkdir -p "$others/$one/k"
cp "$(object "$one")" "$others/$one/k/vector_add.co"
: >"$others/$one/k/vector_add~"
cp "$(object "$one")" "$others/$one/k/vector_add.co.1"
ln -s . "$others/loop"
ln -s nowhere "$others/.dangling"
ln -s ../../small.co "$others/$one/k/linked.co"
cp "$(object "$one")" "$others/small.co"
import_others() { # says nothing of links
    import others "$others" >"$WORK/others.out" 2>&1 && ! grep -i loop "$WORK/others.out"
}
check "a tree with a folder that is a link to itself" import_others
check "a copy is noted" grep -q 'vector_add.co.1: note: passed over, for vector_add.co is there' "$WORK/others.out"
new_link() {
    ln -sf vector_add.co "$others/$one/k/linked.co"
    import others "$others" >"$WORK/others.out" 2>&1 && cat "$WORK/others.out" && grep -q ' IMPORT ' "$WORK/others.out"
}
check "a link that leads to another file is imported anew" new_link
# Pipes, sockets and links with names that matter.
mkfifo "$others/$one/k/pipe.co" "$others/pipe.csv" "$others/pipe"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$others/s.hsaco"
ln -s "$(realpath "$(object "$one")")" "$others/$one/k/out.co"
ln -s /dev/zero "$others/zero.co"
ln -s ../others-too/small.co "$others/beside.co"
mkdir "$WORK/others-too"
cp "$others/small.co" "$WORK/others-too"
no_files() {
    make_under="timeout 60"
    import others "$others" >"$WORK/others.out" 2>&1
    status=$?
    make_under=
    cat "$WORK/others.out"
    [ "$status" -eq 2 ]
}
check "what is no file is refused, by a make that imported the tree before" no_files
for words in "$one/k/pipe.co: a FIFO, not a file" "pipe.csv: a FIFO, not a file" "s.hsaco: a socket, not a file" \
    "$one/k/out.co: a link that leads out of the tree" "zero.co: a link that leads out of the tree" \
    "beside.co: a link that leads out of the tree"; do
    check "$words" grep -qF -e "$others/$words" "$WORK/others.out"
done
check "and nothing else" test "$(grep -c "^$others/.*\(not a file\|leads out\)" "$WORK/others.out")" -eq 6
rm "$others/$one/k/pipe.co" "$others/pipe.csv" "$others/s.hsaco" "$others/$one/k/out.co" "$others/zero.co" \
    "$others/beside.co"
ln -s others "$WORK/linked-tree"
check "a link to the tree leads nowhere else" "$gen" import others "$WORK/others.made" "$WORK/linked-tree"
rm "$others/pipe"
cp -R "$others" "$WORK/it's"
check "a tree with a quote in its name" import quoted "$WORK/it's"
truncate -s 3G "$others/weights.bin"
limited() { # limit number command...
    python3 -c 'import os, resource, sys
resource.setrlimit(getattr(resource, sys.argv[1]), (int(sys.argv[2]),) * 2)
os.execvp(sys.argv[3], sys.argv[3:])' "$@"
}
check "a file of 3 GB that is no code is passed over" \
    limited RLIMIT_AS 400000000 "$gen" import others "$WORK/others.made" "$others"
rm "$others/weights.bin"
many_others() { # time grows with their number, not with its square
    mkdir "$others/many" && (cd "$others/many" && seq -f 'readme-%.0f.txt' 30000 | xargs touch) &&
        limited RLIMIT_CPU 5 "$gen" import others "$WORK/others.made" "$others"
}
check "30,000 other files" many_others

mkdir "$WORK/nothing"
refuse "an empty tree" "no code object in it" "$gen" import bad "$WORK/none" "$WORK/nothing"
refuse "a folder that is not there" "IMPORT=$WORK/gone: no such folder" import bad "$WORK/gone"
mkdir "$WORK/two words"
refuse "a path with blanks" "paths have no blanks" import bad "$WORK/two words"
refuse "make says that the tree is refused" "IMPORT=$WORK/nothing is refused" import bad "$WORK/nothing"
cp "$WORK/check.out" "$WORK/refused.out"
check "and nothing of its own files" sh -c "! grep kinds.mk '$WORK/refused.out'"
refuse "the next make says so again" "no code object in it" import bad "$WORK/nothing"
refuse "IMPORT without a name" "name the pack that it becomes" \
    plain_make IMPORT="$real" B="$built" lib
refuse "IMPORT with MODULES" "an imported tree is a pack of its own" \
    plain_make PACK=bad IMPORT="$real" MODULES=affine B="$built" lib

# A clock that was set back leaves a generator from the future.
cp "$gen" "$WORK/gen-of-tomorrow"
touch -d tomorrow "$WORK/gen-of-tomorrow"
of_tomorrow() {
    make_under="timeout 200"
    plain_make PACK=real IMPORT="$real" B="$WORK/tomorrow" KPACK_GEN="$WORK/gen-of-tomorrow" lib >"$WORK/tomorrow.out" 2>&1
    status=$?
    make_under=
    tail "$WORK/tomorrow.out"
    [ "$status" -eq 0 ] && [ "$(grep -c IMPORT "$WORK/tomorrow.out")" -eq 1 ]
}
check "it is used once" of_tomorrow
finish
