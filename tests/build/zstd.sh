#!/bin/sh
# zstd.sh - the kpack command on compressed packs, where libzstd is not there, is
# old, or fails
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
kpack=$(realpath "$H/kpack")
nine=$(cd "$B/hsaco" && printf '%s\n' gfx9*/affine.hsaco | grep -e gfx90a -e gfx942 | head -n 1 | cut -d/ -f1)
[ -n "$nine" ] || {
    skip "the build has no target of two features"
    finish
}

# A small pack of two targets, compressed, as an archive. The code objects are
# alike but for a feature, so one is stored against the other.
one=$nine:xnack- two=$nine:xnack+
featured() { # target bits: 2 off, 3 on
    python3 - "$B/hsaco/$nine/affine.hsaco" "$WORK/$1.hsaco" "$2" <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
flags, = struct.unpack_from("<I", data, 48)
struct.pack_into("<I", data, 48, flags & ~0x300 | int(sys.argv[3]) << 8)
open(sys.argv[2], "wb").write(data + bytes(400000)) # badly compressing objects are not tied together
END
}
featured "$one" 2
featured "$two" 3
mkdir "$WORK/z" "$WORK/fake"
check "it is compressed" "$B/kpack-compress" p "$WORK/z" "m/$one=$WORK/$one.hsaco" "m/$two=$WORK/$two.hsaco"
archive() {
    for name in dictionary "$one/m" "$two/m"; do
        "$B/kpack-embed" incbin "$WORK/part.c" - "$WORK/z/$name.head" "$WORK/z/$name.zst" &&
            $CC -c -o "$WORK/part.${name%/m}.o" "$WORK/part.c" || return 1
    done
    ar rcs "$WORK/z.a" "$WORK"/part.*.o
}
check "an archive of it" archive
check "it is whole" "$kpack" verify "$WORK/z.a"
kept() {
    for t in "$one" "$two"; do
        "$kpack" prune "$WORK/z.a" --keep "$t" -o "$WORK/kept-$t.a" 2>/dev/null &&
            "$kpack" extract "$WORK/kept-$t.a" m "$t" -o "$WORK/kept" &&
            cmp "$WORK/kept" "$WORK/$t.hsaco" || return 1
    done
}
check "either target is kept alone, with its bytes" kept
exported() {
    "$kpack" extract --kpack "$WORK/exported" "$WORK/z.a" && python3 -B - "$WORK" "$one" "$two" <<'END'
import sys
sys.path.insert(0, "tests/build")
from kpak import read_folder
work, *targets = sys.argv[1:]
archives, kernels = read_folder(work + "/exported")
for t in targets:
    with open(f"{work}/{t}.hsaco", "rb") as file:
        assert archives[f"p_{t}.kpack"] == {("m", t): file.read()}
    assert kernels[f"p_{t}.kpack", "m"]
END
}
check "AMD's archives of it have its bytes" exported
damage() { # file output: the last byte of the last code object
    python3 - "$1" "$2" <<'END'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
at = b.rindex(b"KPACK BLOB")
data, _, stored = struct.unpack_from("<IQQ", b, at + 20)
b[at + data + stored - 1] ^= 1
open(sys.argv[2], "wb").write(b)
END
}
check "one is damaged" damage "$WORK/z.a" "$WORK/damaged.a"
refuse "prune of that" "damaged.a: code object at byte " "$kpack" prune "$WORK/damaged.a" --keep "$one,$two" -o "$WORK/no.a"
check "nothing is written" [ ! -e "$WORK/no.a" ]

check "verify names the devices that one setting bounds" sh -c "'$kpack' verify '$WORK/kept-$one.a' |
    grep -F 'runs on: $nine:sramecc+:xnack- $nine:sramecc-:xnack-'"
refuse "part of a processor's name keeps nothing" "has nothing for --keep ${nine%?}" \
    "$kpack" prune "$WORK/z.a" --keep "${nine%?}" -o "$WORK/out.a"
check "a processor keeps its settings" sh -c "'$kpack' prune '$WORK/z.a' --keep '$nine' -o '$WORK/out.a' &&
    cmp '$WORK/z.a' '$WORK/out.a'"
# Two modules, each for one setting.
mkdir "$WORK/y"
check "a pack of two modules" "$B/kpack-compress" p "$WORK/y" "m/$one=$WORK/$one.hsaco" "n/$two=$WORK/$two.hsaco"
for file in dictionary "$one/m" "$two/n"; do cat "$WORK/y/$file.head" "$WORK/y/$file.zst"; done >"$WORK/parts"
check "each runs in part" sh -c "'$kpack' verify '$WORK/parts' --json | python3 -c 'import json, sys
pack, = json.load(sys.stdin)[\"packs\"]
part = {d[\"device\"]: d[\"modules\"] for d in pack[\"runs_in_part_on\"]}
sys.exit(pack[\"runs_on\"] != [] or part != {\"$nine\": 1})'"

fake() { # flag...
    $CC -O1 -shared -fPIC "$@" -o "$WORK/fake/libzstd.so.1" tests/build/fake_zstd.c
}
with_fake() { # command...: with the fake library before the others in the path
    FAKE_ZSTD=$failing LD_LIBRARY_PATH="$WORK/fake:${LD_LIBRARY_PATH-}" "$@"
}
says() { # status words command...
    wanted=$1 words=$2
    shift 2
    rm -f "$WORK/out"
    with_fake "$@" >"$WORK/said" 2>&1
    got=$?
    cat "$WORK/said"
    [ "$got" -eq "$wanted" ] && grep -qF -e "$words" "$WORK/said" && [ ! -e "$WORK/out" ]
}
anew=$one root=$two
[ "$(wc -c <"$WORK/z/$one/m.zst")" -lt "$(wc -c <"$WORK/z/$two/m.zst")" ] || anew=$two root=$one
failing=''
: >"$WORK/fake/libzstd.so.1"
for t in "$anew" "$root"; do # which refer to the other, and to the dictionary
    check "no libzstd" says 1 "module m for $t: it is compressed, and libzstd.so.1 does not load here: " \
        "$kpack" extract "$WORK/z.a" m "$t" -o "$WORK/out"
done
check "verify without one" says 1 "DAMAGED: module m for $root" "$kpack" verify "$WORK/z.a"
for name in createDCtx freeDCtx decompress_usingDict createCCtx freeCCtx CCtx_setParameter compress2 \
    compressBound isError getErrorName; do
    name=ZSTD_$name
    check "the command asks for $name" grep -q "^    X(.*$name," src/cmd/libzstd.c
    check "a libzstd without $name" fake "-DWITHOUT_$name"
    check "is refused" says 1 "this machine's libzstd.so.1 has no $name" \
        "$kpack" extract "$WORK/kept-$anew.a" m "$anew" -o "$WORK/out"
done
check "and for no other" test "$(grep -c '^    X(.*ZSTD_' src/cmd/libzstd.c)" -eq 10
check "a libzstd that fails" fake
for failing in createDCtx memory; do
    check "$failing fails" says 5 "out of memory" "$kpack" extract "$WORK/kept-$anew.a" m "$anew" -o "$WORK/out"
done
failing=short
check "it gives less" says 1 "it decompresses to fewer bytes" "$kpack" extract "$WORK/kept-$anew.a" m "$anew" -o "$WORK/out"
failing=zeros
check "it gives other bytes" says 1 "its SHA-256 is not the one" "$kpack" extract "$WORK/kept-$anew.a" m "$anew" -o "$WORK/out"

# If prune removes an object, the objects compressed against it are compressed
# again.
REAL_ZSTD=$(ldd "$B/kpack-compress" | sed -n 's/.*libzstd[^ ]* => \([^ ]*\).*/\1/p')
export REAL_ZSTD
prune_anew() { # status words
    check "prune, $failing fails" says "$1" "$2" "$kpack" prune "$WORK/z.a" --keep "$anew" -o "$WORK/out"
}
failing=createCCtx
prune_anew 5 "out of memory"
failing=compress2
prune_anew 1 "made to fail"
failing=zeros
prune_anew 1 "its SHA-256 is not the one that it was packed with"
finish
