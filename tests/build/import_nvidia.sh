#!/bin/sh
# import_nvidia.sh - cubins and PTX of others become a pack, or are refused
#
# Cubins are made here, PTX is written here; where there is an nvcc, its own and
# clang's are imported, too.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
make_cubin=$H/test/import/make_cubin
gen=$B/kpack-gen
built=$WORK/b
kpack=$built/kpack
import() { # pack folder
    plain_make PACK="$1" IMPORT="$2" B="$built" KPACK_GEN="$gen"
}
ptx() { # target: kernel scale(8, 8, 2 and 4 bytes)
    cat <<END
// of no compiler
.version 7.8
.target $1
.address_size 64
.visible .entry scale(
    .param .u64 .ptr .global .align 4 scale_param_0,
    .param .u64 scale_param_1, .param .u16 scale_param_2, .param .f32 scale_param_3
)
.maxntid 256, 1, 1
{
    ret;
}
END
}
amd=$(cd "$B/hsaco" && printf '%s\n' gfx*/vector_add.hsaco | head -n 1 | cut -d/ -f1)
targets_of() { # module
    "$kpack" list | awk -v m="$1" '$1 == m { $1 = $2 = $3 = ""; print }' | sed 's/^ *//'
}

# ---- folders and names of files say what files are for ----

tree=$WORK/tree
mkdir -p "$tree/sm_80/k" "$tree/sm_90a/k" "$tree/compute_80/k" "$tree/k"
"$make_cubin" "$tree/sm_80/k/scale.cubin" 80
"$make_cubin" "$tree/sm_90a/k/scale.cubin" 90 # CUDA 11 states no suffix
ptx sm_80 >"$tree/compute_80/k/scale.ptx"
"$make_cubin" "$tree/k/named-sm_90.cubin" 90 "-arch sm_90 -m 64"
ptx sm_90a >"$tree/k/named.compute_90a.ptx"
"$make_cubin" "$tree/k/told.bin" 100 "-arch sm_100f"
ptx sm_75 >"$tree/k/told.text"
printf '.version 7.8\n.target sm_80\n.entry none() { ret; }\n.entry one(.param .u8 x) { ret; }\n' >"$tree/k/few.ptx"
"$H/test/import/make_bundle" "$tree/k/offload.out" 2 offload "nvptx64-nvidia-cuda,sm_80=$tree/sm_80/k/scale.cubin" \
    "nvptx64-nvidia-cuda,sm_75=$tree/k/told.text" "nvptx64-nvidia-cuda,sm_90a=$tree/k/named.compute_90a.ptx"
cp "$tree/k/told.text" "$tree/k/named-sm_90.cubin.orig"
printf 'knl_name,co_name,tile\nscale,scale.cubin,64\n' >"$tree/sm_80/k/k.csv"
check "a tree of cubins and PTX" import others "$tree"
cp "$WORK/check.out" "$WORK/told"
check "a kernel without arguments" sh -c "'$kpack' info none | grep -qx 'kernel none of module k/few: 0 arguments in 0 bytes'"
check "a kernel of one, without a name" sh -c "'$kpack' info one | grep -qx 'kernel one of module k/few: 1 argument in 1 bytes' &&
    '$kpack' info one | grep -qx ' *0  *0  *1  parameter  -'"
check "its line in the module" sh -c "'$kpack' info k/few | grep -qx 'one(1 bytes)'"
check "folders say it" test "$(targets_of k/scale)" = "compute_80 sm_80 sm_90a"
check "names of files say it" test "$(targets_of k/named)" = "compute_90a sm_90"
check "else the files say it" test "$(targets_of k/told)" = "compute_75 sm_100f"
check "an offload binary of them" test "$(targets_of k/offload)" = "compute_75 compute_90a sm_80"
check "a copy beside one is passed over" grep -qF "$WORK/told" \
    -e "named-sm_90.cubin.orig: note: passed over, for named-sm_90.cubin is there"
check "PTX tells of a pointer" says "  0       0      8  buffer" "$kpack" info scale
check "other parameters are no more than that" says "  2      16      2  parameter" "$kpack" info scale
check "as JSON, too" says '"kind": "parameter"' "$kpack" info scale --json
check "a row of theirs" says "table k: 1 row" "$kpack" info k
check "an exact cubin is selected" says "sm_90a" "$kpack" select sm_90 k/scale
check "PTX is, for a later one" says "the driver compiles for sm_120" "$kpack" select sm_120 k/scale
check "all are whole" says "11 right, 0 damaged" "$kpack" verify "$kpack"
same() { # module target file
    "$kpack" extract "$1" "$2" -o "$WORK/out" && cmp "$WORK/out" "$tree/$3"
}
check "a cubin comes out as it went in" same k/scale sm_80 sm_80/k/scale.cubin
check "and PTX" same k/scale compute_80 compute_80/k/scale.ptx

# ---- one module with AMD's code objects ----

mixed=$WORK/mixed
mkdir -p "$mixed/$amd/k" "$mixed/compute_80/k"
cp "$B/hsaco/$amd/vector_add.hsaco" "$mixed/$amd/k/add.co"
ptx sm_80 | sed -e 's/\.entry scale(/.entry vector_add(/' -e 's/\.ptr .global .align 4//' \
    -e 's/scale_param_2/c/' -e 's/\.u16 c/.u64 c/' -e 's/\.f32/.u32/' >"$mixed/compute_80/k/add.ptx"
check "AMD's and PTX of one kernel" import mixed "$mixed"
check "are one module" test "$(targets_of k/add)" = "compute_80 $amd"
check "with what AMD's tells of the arguments" says "24      4  value" "$kpack" info vector_add

# ---- one run refuses every wrong file ----

bad=$WORK/bad
mkdir -p "$bad/sm_90" "$bad/sm_100" "$bad/sm_80" "$bad/compute_80"
good=$tree/sm_80/k/scale.cubin
cp "$good" "$bad/sm_90/older.cubin"
"$make_cubin" "$bad/sm_100/arch.cubin" 100 "-arch sm_100a"
"$make_cubin" "$bad/plain-sm_90a.cubin" 90 "-arch sm_90"
ptx sm_80 >"$bad/sm_80/text.cubin"
cp "$good" "$bad/compute_80/code.ptx"
ptx sm_90 >"$bad/compute_80/newer.ptx"
head -c 900 "$good" >"$bad/sm_80/cut.cubin"
ptx sm_80 | head -n 8 >"$bad/compute_80/cut.ptx"
ptx sm_80 | sed '/ret;/,$d' >"$bad/compute_80/open.ptx"
ptx sm_80 | sed 's/^\.version.*/.version new/' >"$bad/compute_80/version.ptx"
ptx sm_80 | sed '/entry/,$d' >"$bad/compute_80/empty.ptx"
ptx sm_80 | tr 'n' '\0' >"$bad/compute_80/zeros.ptx"
echo "text" >"$bad/compute_80/text.ptx"
: >"$bad/sm_80/empty.cubin"
cp "$good" "$bad/sm_80/twice.cubin"
cp "$good" "$bad/twice-sm_80.cubin"
printf '\120\355\125\272rest' >"$bad/some.fatbin"
printf '\120\355\125\272rest' >"$WORK/section"
objcopy --add-section .nv_fatbin="$WORK/section" "$H/obj/src/select_object.o" "$bad/host.o"
refuse "a tree of bad files" "nothing was written" "$gen" import bad "$WORK/none" "$bad"
cp "$WORK/check.out" "$WORK/bad.out"
refused() { # file words
    check "$1: $2" grep -qF -e "$bad/$1: $2" "$WORK/bad.out"
}
refused sm_90/older.cubin "is for sm_80, but labelled sm_90"
refused sm_100/arch.cubin "is for sm_100a, but labelled sm_100"
refused plain-sm_90a.cubin "is for sm_90, but labelled sm_90a"
refused sm_80/text.cubin "is for compute_80, but labelled sm_80"
refused compute_80/code.ptx "is for sm_80, but labelled compute_80"
refused compute_80/newer.ptx "is for compute_90, but labelled compute_80"
refused sm_80/cut.cubin ""
refused compute_80/cut.ptx "PTX:"
refused compute_80/open.ptx "PTX: truncated: the file ends within a kernel"
refused compute_80/version.ptx "PTX: no version"
refused compute_80/empty.ptx "PTX: no .entry"
refused compute_80/zeros.ptx ""
refused compute_80/text.ptx "not an ELF file"
refused sm_80/empty.cubin "not an ELF file"
refused some.fatbin "NVIDIA's fat binary, which kpack does not read; take its parts out first (cuobjdump"
refused host.o ".nv_fatbin: NVIDIA's fat binary"
check "nothing is left behind" test ! -e "$WORK/none"
two=$WORK/two
mkdir -p "$two/sm_80"
cp "$good" "$two/sm_80/twice.cubin"
cp "$good" "$two/twice-sm_80.cubin"
refuse "a module twice for one target" "a second code object of module twice for sm_80" \
    "$gen" import bad "$WORK/none" "$two"

# ---- compilers' files ----

need_nvcc "its own cubins and PTX are not imported"
real=$WORK/real
mkdir -p "$real/sm_80" "$real/sm_90a" "$real/compute_80"
cat >"$WORK/tile.cu" <<'END'
struct by { float mul; short add; };
__constant__ float table[4];
__device__ int seen;
template <int N> __global__ void __launch_bounds__(N) tile(float *x, by b, char last)
{
    __shared__ float s[N];
    s[threadIdx.x] = x[threadIdx.x] * b.mul + b.add + table[last & 3];
    __syncthreads();
    x[threadIdx.x] = s[N - 1 - threadIdx.x];
    seen = 1;
}
template __global__ void tile<64>(float *, by, char);
template __global__ void tile<256>(float *, by, char);
END
compile() {
    "$nvcc" -cubin -arch=sm_80 -o "$real/sm_80/tile.cubin" "$WORK/tile.cu" &&
        "$nvcc" -cubin -gencode=arch=compute_90a,code=sm_90a -lineinfo -o "$real/sm_90a/tile.cubin" "$WORK/tile.cu" &&
        "$nvcc" -ptx -arch=compute_80 -o "$real/compute_80/tile.ptx" "$WORK/tile.cu" &&
        "$nvcc" -fatbin -arch=sm_80 -o "$WORK/tile.fatbin" "$WORK/tile.cu" &&
        "$nvcc" -c -arch=sm_80 -o "$WORK/tile.o" "$WORK/tile.cu"
}
check "nvcc compiles" compile
check "its cubins and PTX" import real "$real"
check "are one module, whose parameters agree" test "$(targets_of tile)" = "compute_80 sm_80 sm_90a"
check "of two kernels" says "module tile: 2 kernels" "$kpack" info tile
for file in tile.fatbin tile.o; do
    mkdir "$WORK/$file.d"
    cp "$WORK/$file" "$WORK/$file.d"
    refuse "its $file" "take its parts out first" "$gen" import bad "$WORK/none" "$WORK/$file.d"
done
finish
