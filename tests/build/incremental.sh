#!/bin/sh
# incremental.sh - a change rebuilds what depends on it and nothing else
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

tree=$WORK/tree
copy_tree "$tree"
small_kernel one >"$tree/kernels/one.hip"
small_kernel two >"$tree/kernels/two.hip"
echo '#define SMALL 0' >"$tree/kernels/include/small.h"

archs="gfx1100 gfx942"

build() {
    plain_make -C "$tree" lib ARCHS="$archs" "$@"
}

# Files of the last build: paths below build, stamps left out.
changed() {
    (cd "$tree/build" && find . -newer "$WORK/mark" -type f \
        ! -path './stamp/*' ! -name '*.d' | sort)
}

mark() { # a moment that file times can tell from the next
    sleep 0.05
    touch "$WORK/mark"
    sleep 0.05
}

rebuilt() { # pattern: there is such a file among the changed ones
    changed | grep -E -e "$1"
}

kept() {
    ! rebuilt "$1"
}

check "first build" build
mark
check "build with nothing to do" build
check "nothing to do makes nothing" kept .

mark
touch "$tree/kernels/one.hip"
check "build after touching one.hip" build
check "one is compiled again" rebuilt 'hsaco/gfx942/one\.hsaco'
check "two is not" kept 'two\.'
check "the library is not compiled" kept 'obj/src/'

mark
echo '#define SMALL 1' >"$tree/kernels/include/small.h"
check "build after changing a header" build
check "one depends on it" rebuilt 'hsaco/gfx1100/one\.hsaco'
check "two depends on it" rebuilt 'hsaco/gfx942/two\.hsaco'
check "the archive follows" rebuilt 'libkpack\.a'

mark
check "build with other device flags" build HIPFLAGS=-DOTHER
check "they compile all modules" rebuilt 'hsaco/gfx942/two\.hsaco'
check "and not the library" kept 'obj/src/'

mark
check "build with flags for two alone" build HIPFLAGS=-DOTHER HIPFLAGS_two=-DTWO
check "they compile two" rebuilt 'hsaco/gfx942/two\.hsaco'
check "and not one" kept 'hsaco/gfx942/one\.hsaco'

mark
check "build without them" build HIPFLAGS=-DOTHER
check "it compiles two again" rebuilt 'hsaco/gfx942/two\.hsaco'

mark
check "build with other host flags" build HIPFLAGS=-DOTHER CFLAGS=-O1
check "they compile the library" rebuilt 'obj/src/select_object\.o'
check "and no module" kept '\.hsaco'

mark
check "build with a flag that has a comma" build HIPFLAGS=-DOTHER CFLAGS="-O1 -Wa,-L"
mark
check "build with another behind the comma" build HIPFLAGS=-DOTHER CFLAGS="-O1 -Wa,-W"
check "it compiles the library" rebuilt 'obj/src/select_object\.o'

mark
check "build with one target less" build ARCHS=gfx1100 HIPFLAGS=-DOTHER \
    CFLAGS=-O1
check "the table follows" rebuilt 'gen/one\.c'
check "it no longer names that target" sh -c \
    "! grep gfx942 '$tree/build/gen/one.c'"
check "nor does the archive" sh -c "! ar t '$tree/build/libkpack.a' | grep gfx942"

mark
rm "$tree/kernels/two.hip"
check "build with one module less" build ARCHS=gfx1100 HIPFLAGS=-DOTHER \
    CFLAGS=-O1
check "the pack follows" sh -c "! grep two '$tree/build/gen/pack.c'"

# Files beside the sources that are added and removed.
rebuild() { build ARCHS=gfx1100 HIPFLAGS=-DOTHER CFLAGS=-O1; }
table() { grep -c "$1" "$tree/build/gen/one.c"; }
mark
printf 'kernel,tile\none,64\n' >"$tree/kernels/one.csv"
check "build with a table beside one.hip" rebuild
check "the table is in" test "$(table tile)" -gt 0
check "nothing is compiled" kept 'code/'
mark
rm "$tree/kernels/one.csv"
check "build without it" rebuild
check "the table is gone" test "$(table tile)" -eq 0
printf 'module,text,alias\n*,one,uno\n' >"$tree/kernels/aliases.csv"
check "build with second names" rebuild
check "the second name is in" test "$(table uno)" -gt 0
rm "$tree/kernels/aliases.csv"
check "build without them" rebuild
check "the second name is gone" test "$(table uno)" -eq 0
header=$tree/build/include/kpack/candle/one.h
printf 'type,host\nfloat,kpk_f32\n' >"$tree/kernels/types.csv"
check "build with names of types" rebuild
check "the launcher has them" grep kpk_f32 "$header"
rm "$tree/kernels/types.csv"
check "build without them" rebuild
check "the launcher has not" sh -c "! grep kpk_f32 '$header'"
check "and compiles" grep 'float \*x' "$header"

# A removed file of the build is made again.
for file in gen/one.c blob/gfx1100/one.head include/kpack/candle/one.h \
    include/kpack/candle.h include/kpack/candle_launch.h gen/pack.c; do
    rm "$tree/build/$file"
    check "build without $file" rebuild
    check "$file is there again" test -s "$tree/build/$file"
done
mark
check "build with nothing to do" rebuild
check "nothing to do makes nothing, still" kept .

# A change within a kernel keeps what programs include.
mark
sed -i 's/x\[0\] = n;/x[0] = n + 1;/' "$tree/kernels/one.hip"
check "build with another kernel" rebuild
check "its code object is compiled" rebuilt 'hsaco/gfx1100/one'
check "its launchers are kept" kept 'include/kpack/candle/one\.h'

# Code objects that are goals need not be of the pack's targets.
check "a code object for another target" plain_make -C "$tree" ARCHS=gfx1100 \
    build/hsaco/gfx950/one.hsaco
check "is there" test -s "$tree/build/hsaco/gfx950/one.hsaco"
check "a cubin for benchmarks has a rule" plain_make -C "$tree" -n ARCHS=gfx1100 \
    build/hsaco/sm_90/one.cubin build/hsaco/sm_80/one.cubin

check "make -n check" plain_make -n -C "$ROOT" B="$WORK/dry" check
cp "$WORK/check.out" "$WORK/dry.out"
check "it runs no test" sh -c "grep tests/run '$WORK/dry.out' && ! grep '[0-9] passed, ' '$WORK/dry.out'"
check "and makes nothing" test ! -e "$WORK/dry/kpack-gen"
finish
