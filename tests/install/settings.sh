#!/bin/sh
# settings.sh - `make install` installs what was built; `make uninstall` removes it
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build}
if [ -n "${SAN-}" ]; then # no part has sanitizers
    check "there is a generator" test -x "$B/kpack-gen"
    finish
fi
tree=$WORK/tree prefix=$WORK/prefix gen=$(realpath "$B/kpack-gen")
copy_tree "$tree"
small_kernel one >"$tree/kernels/one.hip"
small_kernel two >"$tree/kernels/two.hip"
echo '#define SMALL 0' >"$tree/kernels/include/small.h"

# The tools are this build's, to save their time.
make_in_tree() {
    # shellcheck disable=SC2317 # check calls it
    plain_make -C "$tree" -j2 KPACK_GEN="$gen" KPACK_COMPRESS= "$@"
}
files() { (cd "$prefix" && find . ! -name . | sort); }

# ---- installing what was built ----

check "a build with settings" make_in_tree MODULES=one ARCHS=gfx1100 HIPFLAGS='-DHASH="#" -DMORE=2'
check "make install" make_in_tree install PREFIX="$prefix"
cp "$WORK/check.out" "$WORK/said"
check "says what it installs" grep -qx "$WORK/said" \
    -e "kpack: installed in $prefix: pack candle: one for gfx1100"
check "and compiles nothing" sh -c "! grep -E '^  (HIPCC|CC|AR) ' '$WORK/said'"
check "it is the pack that was built" cmp "$tree/build/libkpack.a" "$prefix/lib/libkpack.a"
check "no header of another module" test ! -e "$prefix/include/kpack/candle/two.h"
check "other goals have their defaults" says 'hsaco/gfx942/two.hsaco' make_in_tree -n all
check "settings that are given hold" says "'two for gfx1100'" make_in_tree -n install MODULES=two
check "from the environment, too" says "'two for gfx1100'" env MODULES=two \
    make -n -C "$tree" install KPACK_GEN="$gen" KPACK_COMPRESS=

# ---- PREFIX ----

odd="$tree/a 'b'#c\$d"
# shellcheck disable=SC2016 # make reads one $ in two
check "a build with a PREFIX" make_in_tree MODULES=one ARCHS=gfx1100 HIPFLAGS='-DHASH="#" -DMORE=2' \
    PREFIX="$tree/a 'b'#c\$\$d"
check "make install puts it there" make_in_tree install
check "in the folder with an odd name" test -e "$odd/lib/libkpack.a"
check "make uninstall finds it" make_in_tree uninstall
check "and leaves nothing" test "$(ls "$odd")" = ""
check "a PREFIX that is given holds" says " '/given' " make_in_tree -n install PREFIX=/given

# ---- over an installation ----

files >"$WORK/before"
mkdir "$WORK/kept" && cp -R "$prefix" "$WORK/kept/"
check "another build" make_in_tree MODULES=two ARCHS=gfx1100
mkdir "$prefix/share/mine"
check "make install over the first" make_in_tree install PREFIX="$prefix"
check "the first one's header is gone" test ! -e "$prefix/include/kpack/candle/one.h" -a \
    -e "$prefix/include/kpack/candle/two.h"

# ---- uninstall ----

touch "$prefix/lib/mine.a"
check "make uninstall, which needs no compiler" make_in_tree uninstall PREFIX="$prefix" HIPCC=/none CC=/none
check "leaves what is not kpack's" test "$(files | tr '\n' ' ')" = "./lib ./lib/mine.a ./share ./share/mine "
refuse "a second time" "no kpack that lists its files is installed" make_in_tree uninstall PREFIX="$prefix"
rm -r "$prefix"
mkdir -p "$prefix/include" "$prefix/lib"
check "make install where folders are" make_in_tree install PREFIX="$prefix"
check "make uninstall" make_in_tree uninstall PREFIX="$prefix"
check "leaves the folders, empty" test "$(files | tr '\n' ' ')" = "./include ./lib "
finish
