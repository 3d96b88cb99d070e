#!/bin/sh
# find_compiler.sh - which device compiler is taken, and what is said of none
#
# Compilers here are scripts that answer --version, in folders of the test, and
# PATH holds no other.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

find=$ROOT/gen/make/find-compiler
tools=$WORK/tools # the script's own tools, without a compiler
mkdir "$tools"
for tool in sh sed cmp mkdir dirname cat mv rm; do
    ln -s "$(command -v $tool)" "$tools/$tool"
done

compiler() { # path version
    mkdir -p "$(dirname "$1")"
    printf '#!/bin/sh\necho "Debian clang version %s (test)"\n' "$2" >"$1"
    chmod +x "$1"
}

# Runs with HIPCC=$1 and ROCM_PATH=$2, PATH with the folders after.
found() {
    hipcc=$1 rocm=$2
    shift 2
    path=$tools
    for dir in "$@"; do path=$path:$dir; done
    rm -f "$WORK/out.mk"
    env HIPCC="$hipcc" ROCM_PATH="$rocm" PATH="$path" sh "$find" "$WORK/out.mk" &&
        cat "$WORK/out.mk"
}
takes() { # words, then as for found
    words=$1
    shift
    found "$@" && grep -qF -e "$words" "$WORK/out.mk"
}

compiler "$WORK/new/clang-22" 22.1.8
compiler "$WORK/old/clang-20" 20.1.0
compiler "$WORK/ancient/clang-18" 18.1.0
compiler "$WORK/own/my-clang" 21.0.0
compiler "$WORK/rocm/bin/amdclang++" 19.0.0
mkdir -p "$WORK/rocm/include/hip" "$WORK/rocm/amdgcn/bitcode"
libs=$WORK/tree/usr/lib/llvm-22/lib/clang/22/amdgcn/bitcode
mkdir -p "$WORK/tree/usr/include/hip" "$libs" "$WORK/empty"

check "HIPCC is taken first" takes "KPACK_DEVICE_CXX := $WORK/own/my-clang" \
    "$WORK/own/my-clang" "" "$WORK/new"
check "ROCM_PATH brings its own compiler" \
    takes "KPACK_DEVICE_CXX := $WORK/rocm/bin/amdclang++" "" "$WORK/rocm" "$WORK/new"
check "and its own libraries" takes "KPACK_DEVICE_FLAGS := --rocm-path=$WORK/rocm" \
    "" "$WORK/rocm" "$WORK/new"
check "a tree without a compiler gets the newest clang" \
    takes "KPACK_DEVICE_CXX := $WORK/new/clang-22" "" "$WORK/tree" "$WORK/old" \
    "$WORK/new"
check "with the tree's headers before the system's" \
    takes "-isystem $WORK/tree/usr/include --rocm-device-lib-path=$libs" "" \
    "$WORK/tree" "$WORK/new"
check "HIPCC may go with a tree" takes "KPACK_DEVICE_CXX := $WORK/own/my-clang" \
    "$WORK/own/my-clang" "$WORK/tree"
check "an empty tree is refused" takes "ROCM_PATH=$WORK/empty holds no HIP" \
    "" "$WORK/empty" "$WORK/new"
check "a HIPCC that is not there is refused" \
    takes "KPACK_DEVICE_ERROR := HIPCC=$WORK/none is no program" "$WORK/none" ""
if [ ! -d /opt/rocm ]; then
    check "the newest clang wins" takes "KPACK_DEVICE_CXX := $WORK/new/clang-22" \
        "" "" "$WORK/old" "$WORK/new"
    check "an older one will do" takes "KPACK_DEVICE_CXX := $WORK/old/clang-20" \
        "" "" "$WORK/old"
    check "one that is too old will not" \
        takes "KPACK_DEVICE_ERROR := no device compiler: run 'make deps'" \
        "" "" "$WORK/ancient"
fi

# An unchanged answer leaves the file alone, so that nothing is rebuilt.
same_file() {
    found "" "$WORK/tree" "$WORK/new" >/dev/null || return 1
    touch -d 2001-01-01 "$WORK/out.mk"
    env HIPCC= ROCM_PATH="$WORK/tree" PATH="$tools:$WORK/new" sh "$find" \
        "$WORK/out.mk" && 
        [ -z "$(find "$WORK/out.mk" -newer "$WORK/new/clang-22")" ]
}
check "the same answer does not touch the file" same_file

# make without a compiler.
copy_tree "$WORK/copy" "$ROOT/kernels/vector_add.hip"
no_compiler() {
    plain_make -C "$WORK/copy" lib ARCHS=gfx1100 "$@"
}
refuse "make without a compiler says so in a sentence" \
    "kpack: HIPCC=/none is no program" no_compiler HIPCC=/none
check "make clean works without one" plain_make -C "$WORK/copy" clean \
    HIPCC=/none
check "make help works without one" plain_make -C "$WORK/copy" help HIPCC=/none
mkdir -p "$WORK/copy/src/sim/base"
cp "$ROOT/src/sim/base/cards.c" "$WORK/copy/src/sim/base/"
refuse "make sim without LLVM says what to install" "run 'make deps sim'" \
    plain_make -C "$WORK/copy" build/obj/src/sim/base/cards.o HIPCC=/none LLVM_CONFIG=/none
finish
