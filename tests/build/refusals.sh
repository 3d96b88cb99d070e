#!/bin/sh
# refusals.sh - what cannot be built is refused before or while it is built
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

tree=$WORK/tree
copy_tree "$tree"
small_kernel one >"$tree/kernels/one.hip"
echo '#define SMALL 0' >"$tree/kernels/include/small.h"

build() {
    plain_make -C "$tree" lib "$@"
}

# ---- targets ----

for arch in gfx90b gfx13-generic sm_9x gfx942:sramecc gfx1100:xnack+ \
    gfx942:xnack+:sramecc- gfx908:sramecc+:sramecc+ gfx11-generic:xnack-; do
    refuse "ARCHS=$arch" "no such target: $arch" build ARCHS="gfx942 $arch"
done
refuse "a wrong name lists the valid ones" gfx12-generic build ARCHS=nonsense
refuse "only where no name is near" "valid: gfx900" build ARCHS="gfx942 nonsense"
meant() { # ARCHS hint: the message's last line
    build ARCHS="$1" && return 1
    cp "$WORK/check.out" "$WORK/meant"
    [ "$(tail -n 2 "$WORK/meant" | sed -n 's/^  \(.*\)\.  Stop\.$/\1/p')" = "$2" ]
}
check "commas between targets" meant gfx942,gfx1100 'is ARCHS="gfx942 gfx1100" meant?'
check "capitals" meant "GFX942 Sm_90" 'is ARCHS="gfx942 sm_90" meant?'
check "a name that is near" meant "gfx942 gfx943" "names like gfx943: gfx942"
check "a feature that there is not" meant gfx1100:xnack+ "features of gfx1100: none"
check "a feature without its setting" meant gfx908:sramecc "features of gfx908: :sramecc+:xnack+ :sramecc+:xnack- \
:sramecc-:xnack+ :sramecc-:xnack- :sramecc+ :sramecc- :xnack+ :xnack-"
check "NVIDIA's without _" meant sm90 "of NVIDIA: sm_NN, a cubin, which nvcc makes; compute_NN, PTX, which clang makes"
refuse "a wrong code object version" "COV=7" build COV=7
refuse "a module that is not there" "no such file: kernels/on.hip; modules are: one" build MODULES="one on"
refuse "a pack with the name of a header" "a header of kpack's own" build PACK=types
refuse "a module that is named twice" "two sources have one file name" build MODULES="one one"
refuse "a test that is not written" "no tests/kernels/one.c" plain_make -C "$tree" build/test/kernels/one
refuse "a model's test without the model's modules" "make build/test/model/test_gguf needs affine" \
    plain_make -C "$tree" build/test/model/test_gguf

for name in a-b 1a _a a.b; do
    cp "$tree/kernels/one.hip" "$tree/kernels/$name.hip"
    refuse "a module called $name" "no name for a module: $name. " build
    rm "$tree/kernels/$name.hip"
done
for name in a-b 1a a__b a_; do
    refuse "a pack called $name" "PACK=$name: no name for a pack" build PACK=$name
done

# ---- the build folder ----

for folder in "my build" "b'x" 'b"x' 'b#x' 'b:x' 'b%x' 'b=x' 'b;x' 'b\x' 'b*x' 'b(x)' 'b&x'; do
    refuse "B=$folder" "in a folder's name as its own" build B="$folder"
done
refuse "B=-b" "write B=./-b" build B=-b
built_in() { # folder B
    plain_make -n -C "$tree" lib B="$2" | grep -q "^ar [a-zA-Z]* $1/libkpack.a"
}
check "B= is none, not the root" built_in build ""
check "blanks around it are not of its name" built_in b " b "
check "what is no letter may be in it" built_in b,x+y@z~1/ü "b,x+y@z~1/ü"
check "nothing was compiled so far" test ! -e "$tree/build/hsaco" -a ! -e "$tree/my"

# ---- every valid name is accepted ----

accepted() {
    plain_make -n -C "$tree" lib ARCHS="$*"
}
targets() { # what grep takes of target_table.h
    tr -d ' "' <"$ROOT/src/base/target_table.h" |
        awk -F'[(,)]' '/^X/ { print $2 ~ /_generic$/ ? $7 : $2 }' | grep "$@"
}
# shellcheck disable=SC2046 # words
check "all processors" accepted $(targets -v generic)
# shellcheck disable=SC2046
check "all generic targets" accepted $(targets generic)
check "features" accepted gfx90a:xnack+ gfx90a:sramecc- \
    gfx90a:sramecc+:xnack- gfx9-4-generic:xnack- gfx1010:xnack+

# ---- targets of one module that differ ----

differ() { # signature on gfx1100, signature elsewhere
    {
        echo '#if defined(__gfx1100__)'
        small_kernel one "$1"
        echo '#else'
        small_kernel one "$2"
        echo '#endif'
    } >"$tree/kernels/one.hip"
    build ARCHS="gfx1100 gfx942"
}
refuse "another argument size" \
    "hsaco/gfx942/one.hsaco: argument 1 of kernel one is a value of 8 bytes" \
    differ "float *x, unsigned n" "float *x, unsigned long n"
refuse "another kind" "is a value of 8 bytes at offset 8" \
    differ "float *x, float *n_, unsigned n" \
    "float *x, unsigned long n_, unsigned n"
refuse "another number of arguments" "takes 3 arguments on gfx942, but 2" \
    differ "float *x, unsigned n" "float *x, unsigned n, int more"
{
    small_kernel one
    echo '#if defined(__gfx942__)'
    small_kernel extra | sed '/#include/d'
    echo '#endif'
} >"$tree/kernels/one.hip"
refuse "another set of kernels" \
    "kernel extra is there for gfx942, but not for gfx1100" \
    build ARCHS="gfx1100 gfx942"
check "no table is left behind" test ! -e "$tree/build/gen/one.c"

# ---- sources without kernels, and with HIP's headers for NVIDIA ----

echo '#include <hip/hip_runtime.h>' >"$tree/kernels/one.hip"
check "a source without kernels gets a sentence" says "kpack: module one has no kernels: " build ARCHS=gfx1100

small_kernel one >"$tree/kernels/one.hip"
for text in 'In file included from /usr/include/hip/hip_runtime.h:64' 'fatal error: hip/hip_runtime.h: No such file'; do
    # shellcheck disable=SC2016 # for the stand-in
    printf '#!/bin/sh\necho "%s\nerror: the first\nerror: more" >&2; exit 1\n' "$text" >"$WORK/nvcc"
    chmod +x "$WORK/nvcc"
    refuse "HIP's headers for sm_90" "one.hip: HIP's headers are for AMD's GPUs" build ARCHS=sm_90 NVCC="$WORK/nvcc"
    check "of the errors only the first" test "$(grep -c 'error:' "$WORK/check.out")" -eq 1
done
printf '#!/bin/sh\necho "error: one\nerror: two" >&2; exit 1\n' >"$WORK/nvcc"
refuse "other errors are shown" "error: two" build ARCHS=sm_90 NVCC="$WORK/nvcc"
printf '#!/bin/sh\necho "warning: one" >&2; : >build/hsaco/sm_90/one.cubin\n' >"$WORK/nvcc"
refuse "warnings, too" "warning: one" build ARCHS=sm_90 NVCC="$WORK/nvcc"

# ---- files that are no good code objects ----

small_kernel one >"$tree/kernels/one.hip"
check "a good build" build ARCHS="gfx1100 gfx942"
gen=$tree/build/kpack-gen
object=$tree/build/hsaco/gfx942/one.hsaco
table() { # file [target]
    "$gen" module t.one "$WORK/out" "${2:-gfx942}=$1"
}
check "a good object" table "$object"
n=$(wc -c <"$object")
for part in 0 1 16 63 64 100 512 $((n / 4)) $((n / 2)) $((n - 2000)); do
    head -c "$part" "$object" >"$WORK/cut.hsaco"
    refuse "an object cut to $part bytes" "$WORK/cut.hsaco: " \
        table "$WORK/cut.hsaco"
done
refuse "a file that is not there" "none.hsaco: No such file" \
    table "$WORK/none.hsaco"
refuse "an object of another target" "is for gfx942, not for gfx90a" \
    table "$object" gfx90a
refuse "a host object" "not for AMDGPU" table "$tree/build/obj/src/select_object.o"
refuse "a module name that is no identifier" "no C identifier" \
    "$gen" module t.a-b "$WORK/out" "gfx942=$object"
refuse "a target given twice" "given twice" \
    "$gen" module t.one "$WORK/out" "gfx942=$object" "gfx942=$object"
for names in a_.one a__b.one a._one .one a. a; do
    refuse "symbols that another pack could have: $names" "name '" \
        "$gen" module $names "$WORK/out" "gfx942=$object"
done
echo nonsense >"$tree/kernels/one.hip"
refuse "a kernel that does not compile" "error:" build MODULES=one
finish
