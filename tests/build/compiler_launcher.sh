#!/bin/sh
# compiler_launcher.sh - device compilers behind ccache, sccache and distcc
#
# The launcher here is a cache of its own: it keeps what -o and -MF name, by the
# words of the command less the folder that it runs in, and logs HIT or MISS.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

clang=$(sed -n 's/^KPACK_DEVICE_CXX := //p' "${B:-build}/device/compiler.mk")
log=$WORK/log
cat >"$WORK/cache" <<'END'
#!/bin/sh
folder=$(dirname "$0")
key=$(echo "$*" | sed "s,$PWD/,,g" | sha256sum | cut -d' ' -f1)
out='' deps='' last=''
for word in "$@"; do
    case $last in -o) out=$word ;; -MF) deps=$word ;; esac
    last=$word
done
if [ -e "$folder/$key.out" ]; then
    echo "HIT $out libraries ${CCACHE_EXTRAFILES-}" >>"$folder/log"
    cp "$folder/$key.out" "$out"
    [ -z "$deps" ] || cp "$folder/$key.deps" "$deps"
    exit 0
fi
echo "MISS $out libraries ${CCACHE_EXTRAFILES-}" >>"$folder/log"
"$@" || exit
cp "$out" "$folder/$key.out"
[ -z "$deps" ] || cp "$deps" "$folder/$key.deps"
END
chmod +x "$WORK/cache"

tree=$WORK/tree
make_tree() { # folder
    copy_tree "$1"
    small_kernel one >"$1/kernels/one.hip"
    small_kernel two >"$1/kernels/two.hip"
    echo '#define SMALL 0' >"$1/kernels/include/small.h"
    printf 'module,text,alias\none,one,uno\n' >"$1/kernels/aliases.csv"
}
build() { # folder launcher...
    folder=$1
    shift
    plain_make -C "$folder" lib ARCHS="gfx1100 gfx942" HIPCC="$* $clang"
}
logged() { # word count: so many lines begin with it
    test "$(grep -c "^$1 " "$log")" -eq "$2"
}

make_tree "$tree"
check "the first build" build "$tree" "$WORK/cache"
# Two modules for two targets, and each once for its launchers.
check "compiles all behind the launcher" logged MISS 6
check "and takes nothing from it" logged HIT 0
if grep -q '^KPACK_DEVICE_BITCODE := .' "$tree/build/device/compiler.mk"; then
    check "which is told of device libraries" sh -c \
        "[ \$(grep -c 'libraries .*ocml.bc' '$log') -eq 4 ]"
fi
cp "$tree/build/libkpack.a" "$WORK/first.a"

: >"$log"
sleep 0.05 # a moment that file times can tell from the last
touch "$WORK/mark"
check "another build" build "$tree" "$WORK/cache"
check "has nothing to compile" test ! -s "$log"
check "without the launcher, too" build "$tree" ""
check "and makes nothing" test "$tree/build/libkpack.a" -ot "$WORK/mark"

make_tree "$WORK/elsewhere/tree"
check "a clean checkout elsewhere" build "$WORK/elsewhere/tree" "$WORK/cache"
check "takes all from the launcher" logged HIT 6
check "and compiles nothing" logged MISS 0
check "to the same bytes" cmp "$WORK/first.a" "$WORK/elsewhere/tree/build/libkpack.a"
: >"$log"
echo '#define SMALL 1' >"$WORK/elsewhere/tree/kernels/include/small.h"
check "a header that changes" build "$WORK/elsewhere/tree" "$WORK/cache"
check "is known without having compiled" sh -c "grep -q gfx942/one '$log'"

# A launcher with options of its own, and none.
make_tree "$WORK/nice"
check "nice -n 1" build "$WORK/nice" nice -n 1
check "to the same bytes" cmp "$WORK/first.a" "$WORK/nice/build/libkpack.a"
refuse "a launcher that is not there" "the launcher /none/ccache is no program" \
    build "$WORK/nice" /none/ccache
refuse "a compiler that is not there" "/none is no program" \
    plain_make -C "$WORK/nice" lib ARCHS=gfx1100 HIPCC="$WORK/cache /none"

if command -v ccache >/dev/null; then
    CCACHE_DIR=$WORK/ccache
    export CCACHE_DIR
    hits() { ccache --print-stats | awk '/^(direct|preprocessed)_cache_hit/ { n += $2 } END { print n }'; }
    check "ccache" build "$WORK/nice" ccache
    rm -rf "$WORK/nice/build"
    check "ccache: first build" build "$WORK/nice" ccache
    rm -rf "$WORK/nice/build"
    check "ccache: a clean build" build "$WORK/nice" ccache
    check "ccache: takes all from the cache" test "$(hits)" -ge 6
    check "ccache: the same bytes" cmp "$WORK/first.a" "$WORK/nice/build/libkpack.a"
    echo '#define SMALL 0xabcd' >"$WORK/nice/kernels/include/small.h"
    check "ccache: a header that changes" build "$WORK/nice" ccache
    check "ccache: is compiled again" sh -c "! cmp -s \
        '$WORK/nice/build/hsaco/gfx942/one.hsaco' '$tree/build/hsaco/gfx942/one.hsaco'"
else
    skip "there is no ccache here"
fi
finish
