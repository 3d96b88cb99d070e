#!/bin/sh
# reproducible.sh - two builds in two folders give the same bytes
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

build() { # folder jobs
    copy_tree "$1" "$ROOT/kernels/vector_add.hip" "$ROOT/kernels/affine.hip"
    plain_make -C "$1" -j"$2" lib ARCHS="gfx1100 gfx90a:xnack-"
}

no_trace() { # folder that was built, words
    ! grep -rlF -e "$2" "$1/build/hsaco" "$1/build/libkpack.a" \
        --include='*.hsaco' --include='*.a'
}

a=$WORK/a b=$WORK/a-folder-with-a-longer-name/below
check "first build" build "$a" 2
check "second build, elsewhere, one job" build "$b" 1
for f in libkpack.a include/kpack/candle.h gen/pack.c gen/affine.c \
    hsaco/gfx1100/vector_add.hsaco hsaco/gfx90a:xnack-/vector_add.hsaco \
    hsaco/gfx1100/affine.hsaco hsaco/gfx90a:xnack-/affine.hsaco; do
    check "$f is the same in both" cmp "$a/build/$f" "$b/build/$f"
done
c="$WORK/a folder with blanks"
check "third build, in a folder with blanks" build "$c" 2
check "libkpack.a is the same there" cmp "$a/build/libkpack.a" "$c/build/libkpack.a"
check "no path in the output" no_trace "$a" "$WORK"
check "no date in the output" no_trace "$a" "$(date +%Y-%m-)"
finish
