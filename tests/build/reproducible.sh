#!/bin/sh
# reproducible.sh - two builds in different environments give the same bytes
#
# The builds differ in folder, clock, time zone, number of jobs, umask, language,
# home and, if the system allows it, user. Archives are compared by member.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
make_cflags=-O2 # as for users

targets="gfx1100 gfx90a:xnack-"
kernels="$ROOT/kernels/vector_add.hip $ROOT/kernels/affine.hip"

build() { # folder jobs
    plain_make -C "$1" -j"$2" lib ARCHS="$targets"
}
tree() { # folder
    # shellcheck disable=SC2086 # words
    copy_tree "$1" $kernels
}

# Another user: root becomes nobody, nobody becomes root of a namespace.
as_user="unshare -r"
[ "$(id -u)" -ne 0 ] || as_user="setpriv --reuid 65534 --regid 65534 --clear-groups"
at_time="faketime 2031-03-04"
chmod 755 "$WORK"
if ! $as_user ls "$WORK" >/dev/null 2>&1; then
    skip "no other user can build here, or reach $WORK"
    as_user=
fi
if ! $at_time true 2>/dev/null; then
    skip "no faketime: both builds have one clock"
    at_time=
fi

elsewhere() { # folder: all else
    tree "$1" && mkdir "$1/home" &&
        { [ "$(id -u)" -ne 0 ] || [ -z "$as_user" ] || chown -R 65534:65534 "$1"; } &&
        (
            umask 077
            export HOME="$1/home" TMPDIR="$1/home" TZ=Asia/Kathmandu LC_ALL=C.UTF-8 USER=somebody HOSTNAME=elsewhere
            unset CCACHE_DIR
            CC=${CC##*ccache } # ccache's folder belongs to another user
            HIPCC=
            export CC HIPCC
            make_under="$as_user $at_time"
            build "$1" 1
        )
}

# Prints the differences of two archives: members, or their order.
same_archive() { # archive archive
    cmp "$1" "$2" && return 0
    ar t "$1" >"$WORK/first" && ar t "$2" >"$WORK/second" || return 1
    diff "$WORK/first" "$WORK/second" || echo "other members"
    sort -u "$WORK/first" | while read -r member; do
        ar p "$1" "$member" >"$WORK/first.o"
        ar p "$2" "$member" >"$WORK/second.o"
        cmp "$WORK/first.o" "$WORK/second.o" || echo "member $member differs"
    done
    return 1
}

no_trace() { # built folder, words
    ! grep -rlF -e "$2" "$1/build/hsaco" "$1/build/libkpack.a" \
        --include='*.hsaco' --include='*.a'
}

a=$WORK/a b=$WORK/a-folder-with-a-longer-name/below
tree "$a"
mkdir "$WORK/a-folder-with-a-longer-name"
check "first build" build "$a" 2
check "second build, where all else is other" elsewhere "$b"
check "libkpack.a is the same in both" same_archive "$a/build/libkpack.a" "$b/build/libkpack.a"
for f in include/kpack/candle.h gen/pack.c gen/affine.c \
    hsaco/gfx1100/vector_add.hsaco hsaco/gfx90a:xnack-/vector_add.hsaco \
    hsaco/gfx1100/affine.hsaco hsaco/gfx90a:xnack-/affine.hsaco; do
    check "$f is the same in both" cmp "$a/build/$f" "$b/build/$f"
done
c="$WORK/a folder with blanks"
tree "$c"
check "third build, in a folder with blanks" build "$c" 2
check "libkpack.a is the same there" same_archive "$a/build/libkpack.a" "$c/build/libkpack.a"
check "no path in the output" no_trace "$a" "$WORK"
for year in "$(date +%Y-%m-)" 2031-03; do
    check "no date in the output: $year" no_trace "$b" "$year"
done

# The comparison itself: it names the member.
mkdir "$WORK/m"
echo 1 >"$WORK/m/one" && echo 2 >"$WORK/m/two"
ar rcD "$WORK/x.a" "$WORK/m/one" "$WORK/m/two"
echo 3 >"$WORK/m/two"
ar rcD "$WORK/y.a" "$WORK/m/one" "$WORK/m/two"
refuse "archives that differ" "member two differs" same_archive "$WORK/x.a" "$WORK/y.a"
finish
