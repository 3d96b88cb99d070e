#!/bin/sh
# cross.sh - library and command of another machine, run under an emulator
#
# CC is the machine's compiler, RUN_BY the emulator, HIP a driver that runs one
# kernel, vector_add. `make check-cross` runs it in the machine's build folder.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

EXE=${EXE:-}
kpack=$ROOT/$H/kpack$EXE lib=$ROOT/$H/libkpack.a
here() { # PROGRAM WORD...: runs it
    # shellcheck disable=SC2086 # words
    ${RUN_BY:-} "$@"
}
with_hip() { # the same with a HIP driver
    KPK_HIP_LIBRARY=$hip here "$@"
}
refused() { # PROGRAM: it does not run
    ! here "$@" 2>"$WORK/refused"
}
prints() { # TEXT COMMAND...: COMMAND prints the line TEXT, with LF or CRLF
    wanted=$1
    shift
    "$@" >"$WORK/printed" 2>&1
    tr -d '\r' <"$WORK/printed" | grep -qxF -e "$wanted" || { cat "$WORK/printed"; false; }
}
hip=$ROOT/$HIP
compile() { # OUT WORD...: README's program
    out=$1
    shift
    # shellcheck disable=SC2086 # words
    $CC -o "$out" "$WORK/app.c" "$@"
}
libs='-ldl -pthread'
[ -z "$EXE" ] || libs=

# ---- README's program ----

program_of README.md >"$WORK/app.c"
# shellcheck disable=SC2086 # words
check "README's program compiles" compile "$WORK/app$EXE" -I"$B/include" -Iinclude "$lib" $libs
check "it is for another machine" sh -c '! "$1"' - "$WORK/app$EXE"
check "without a driver it says so" says "no HIP runtime on this machine" here "$WORK/app$EXE"
check "with one it adds" prints 'c[999] = 999.5' with_hip "$WORK/app$EXE"
mkdir "$WORK/äöü"
cp "$ROOT/$HIP" "$WORK/äöü/"
hip="$WORK/äöü/${HIP##*/}"
check "with one whose path is not ASCII" prints 'c[999] = 999.5' with_hip "$WORK/app$EXE"
check "a driver that is not there" says "names $WORK/äöü/none, which does not load" \
    env KPK_HIP_LIBRARY="$WORK/äöü/none" sh -c '$RUN_BY "$1"' - "$WORK/app$EXE"
if [ -n "$EXE" ]; then
    cp "$ROOT/$HIP" "$WORK/"
    check "a driver beside the program is found" prints 'c[999] = 999.5' here "$WORK/app$EXE"
    (cd "$WORK/äöü" && says "no HIP runtime" here "$kpack" devices) >"$WORK/check.out" 2>&1
    check "one in the current folder is not" [ $? -eq 0 ]
    rm "$WORK/${HIP##*/}"
fi

# ---- the command ----

check "list" says "vector_add        1" here "$kpack" list
check "info" says "vector_add(pointer a, pointer b, pointer c, 4 bytes n)" here "$kpack" info vector_add
check "devices" says "gfx90a" with_hip "$kpack" devices
check "run adds" says ": 3 3 3" with_hip "$kpack" run vector_add f32x3:1 f32x3:2 f32x3:0 u32:3
check "verify of itself" says "SHA-256: 2 right, 0 damaged" here "$kpack" verify "$kpack"
check "list of a program" says "vector_add  gfx90a" here "$kpack" list "$WORK/app$EXE"
check "select" says "exact processor" here "$kpack" select gfx90a
check "run -k" says "1 kernels loaded" with_hip "$kpack" run -k 'vector_*'
check "a word of no ASCII" says "no module and no kernel is called \"ä\"" here "$kpack" info ä

# Files: names that are no ASCII, and one that is there takes its place whole.
for turn in new old; do
    check "extract, $turn" here "$kpack" extract vector_add gfx90a -o "$WORK/äöü/ö.hsaco"
    check "it is the code object" cmp "$B/hsaco/gfx90a/vector_add.hsaco" "$WORK/äöü/ö.hsaco"
done
touch "$WORK/äöü/.kpack-1-1.new"
check "extract over a stray file" here "$kpack" extract vector_add gfx90a -o "$WORK/äöü/ö.hsaco"
check "which is swept" [ ! -e "$WORK/äöü/.kpack-1-1.new" ]
check "a folder that is not there" status 4 here "$kpack" extract vector_add gfx90a -o "$WORK/none/a"
check "extract --all" here "$kpack" extract --all "$WORK/app$EXE" -o "$WORK/alle"
check "extract --kpack" here "$kpack" extract --kpack "$WORK/archives" "$WORK/app$EXE"
check "the archive is AMD's" says "vector_add" here "$kpack" list "$WORK/archives/candle_gfx90a.kpack"
if [ -z "$EXE" ]; then
    check "prune" here "$kpack" prune "$lib" --keep gfx90a -o "$WORK/less.a"
    # shellcheck disable=SC2086 # words
    check "what is left links" compile "$WORK/less" -I"$B/include" -Iinclude "$WORK/less.a" $libs
    check "and runs" prints 'c[999] = 999.5' with_hip "$WORK/less"
else
    check "prune knows no COFF" says "or its object files are Windows'" here "$kpack" prune "$lib" --keep gfx90a -o "$WORK/less.a"
fi
check "standard output has the bytes" sh -c '$RUN_BY "$1" extract vector_add gfx90a -o - | cmp - "$2"' - \
    "$kpack" "$B/hsaco/gfx90a/vector_add.hsaco"

# ---- a DLL, for compilers that do not link mingw's object files ----

# Its data is imported as Visual Studio does it, not as mingw's linker can.
if [ -n "$EXE" ]; then
    check "README's program with kpack.dll" compile "$WORK/by_dll$EXE" -DKPK_DLL -I"$B/include" -Iinclude "$H/kpack.lib" \
        -Wl,--disable-auto-import
    check "without the DLL it does not start" refused "$WORK/by_dll$EXE"
    cp "$H/kpack.dll" "$WORK/"
    check "with it, it adds" prints 'c[999] = 999.5' with_hip "$WORK/by_dll$EXE"
    check "list of the DLL" says "vector_add  gfx90a" here "$kpack" list "$H/kpack.dll"
    "${CC%gcc}objdump" -p "$H/kpack.dll" >"$WORK/exports"
    check "the DLL exports kpk_candle and no name that is not ours" awk \
        '/Name Pointer. Table/ { on = 1; next } on && !NF { exit } on && $NF == "kpk_candle" { has = 1 }
         on && $NF !~ /^kpk_/ { print; other = 1 } END { exit other || !has }' "$WORK/exports"
fi

# ---- code objects that the assembler reads ----

check "EMBED=incbin" plain_make B="$WORK/incbin" CC="$CC" EMBED=incbin KPACK_GEN="$ROOT/$B/kpack-gen" MODULES=vector_add ARCHS=gfx90a lib
# shellcheck disable=SC2086 # words
check "README's program with it" compile "$WORK/incbin/app$EXE" -I"$WORK/incbin/include" -Iinclude "$WORK/incbin/libkpack.a" $libs
check "adds, too" prints 'c[999] = 999.5' with_hip "$WORK/incbin/app$EXE"

# ---- the installation ----

check "make install" plain_make B="$B" CC="$CC" RUN_BY="$RUN_BY" MODULES='vector_add affine' ARCHS=gfx90a CFLAGS=-O2 \
    ${EXE:+LDFLAGS=-static} PREFIX="$WORK/prefix" install
check "its manual is the command's" grep -q '^\.TH KPACK' "$WORK/prefix/share/man/man1/kpack.1"
flags() { PKG_CONFIG_PATH=$WORK/prefix/lib/pkgconfig pkg-config --cflags --libs kpack; }
# shellcheck disable=SC2046 # words
check "README's program by pkg-config" compile "$WORK/installed$EXE" $(flags)
check "adds from there" prints 'c[999] = 999.5' with_hip "$WORK/installed$EXE"

# ---- kernels of one's own ----

cp -r tests/install/own_make "$WORK/own"
own_make() { PKG_CONFIG_PATH=$WORK/prefix/lib/pkgconfig plain_make -C "$WORK/own" CC="$CC"; }
check "tests/install/own_make compiles" own_make
[ -z "$EXE" ] || mv "$WORK/own/app.exe" "$WORK/own/app" 2>/dev/null
check "the program has its pack" says "SHA-256: 4 right, 0 damaged" here "$kpack" verify "$WORK/own/app"
check "and says which devices would do" says "It holds: gfx1100, gfx942" with_hip "$WORK/own/app"

# ---- the archive without compilers for GPUs ----

check "make dist" plain_make B="$B" CC="$CC" MODULES='vector_add affine' ARCHS=gfx90a CFLAGS=-O2 ${EXE:+LDFLAGS=-static} dist
tar -C "$WORK" -xzf "$(echo "$B"/kpack-*.tar.gz)"
check "it builds from its archive" plain_make -C "$(echo "$WORK"/kpack-*)" CC="$CC" ${EXE:+LDFLAGS=-static}
built=$(echo "$WORK"/kpack-*)/build
# shellcheck disable=SC2086 # words
check "README's program with it" compile "$WORK/from_archive$EXE" -I"$built/include" -I"$(echo "$WORK"/kpack-*)/include" "$built/libkpack.a" $libs
check "adds, too" prints 'c[999] = 999.5' with_hip "$WORK/from_archive$EXE"
check "its command runs" says "vector_add        1" here "$built/kpack$EXE" list

finish
