#!/bin/sh
# files.sh - the kpack command on damaged files, and without memory
#
# Archives with wrong places of code objects, files with several code objects of
# one name, and each allocation failing in turn.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
kpack=$ROOT/$H/kpack lib=$ROOT/$H/libkpack.a
case $H in /*) kpack=$H/kpack lib=$H/libkpack.a ;; esac

# An archive of two of vector_add's code objects alone.
mkdir "$WORK/members"
# shellcheck disable=SC2046 # names without blanks
(cd "$WORK/members" && ar x "$lib" $(ar t "$lib" | grep '^pack\.vector_add\.gfx.*\.o$' | head -n 2))
small=$WORK/small.a
ar rcs "$small" "$WORK"/members/*.o
targets=$("$kpack" list "$small" | sed 1d | awk '{ print $3 }')
first=$(echo "$targets" | head -n 1)
last=$(echo "$targets" | tail -n 1)
check "there are two targets" [ "$first" != "$last" ]

# ---- heads with a wrong extent ----

# A head: the magic of 16 bytes, version, data_at, nbytes, stored_nbytes, codec.
change() { # file output what: the first head changed
    python3 - "$@" <<'END'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
at = b.index(b"KPACK BLOB")
what = sys.argv[3]
if what == "longer":  # both lengths: up to the next head
    data, n = struct.unpack_from("<IQ", b, at + 20)
    for field in 24, 32:
        struct.pack_into("<Q", b, at + field, b.index(b"KPACK BLOB", at + 1) - at - data)
elif what == "shorter":
    for field in 24, 32:
        n, = struct.unpack_from("<Q", b, at + field)
        struct.pack_into("<Q", b, at + field, n - 64)
elif what == "data later":
    n, = struct.unpack_from("<I", b, at + 20)
    struct.pack_into("<I", b, at + 20, n + 64)
elif what == "member":  # the field of ar's header in front of it
    end = b.rindex(b"`\n", 0, at)
    size = int(b[end - 10:end])
    b[end - 10:end] = b"%-10d" % (size + 4096)
elif what == "no object file":
    elf = b.rindex(b"\x7fELF", 0, at)
    b[elf] ^= 1
open(sys.argv[2], "wb").write(b)
END
}
writes_nothing() { # says, archive
    rm -f "$WORK/out.a"
    "$kpack" prune "$2" --keep "$last" -o "$WORK/out.a" >"$WORK/says" 2>&1
    status=$?
    cat "$WORK/says"
    [ "$status" -eq 1 ] && [ ! -e "$WORK/out.a" ] && grep -qF -e "$1" "$WORK/says"
}
says_zeros() { # archive
    "$kpack" prune "$1" --keep "$last" -o "$WORK/out.a" >"$WORK/says" 2>&1 &&
        grep -F "are zeros now" "$WORK/says" && [ "$(wc -c <"$WORK/out.a")" -eq "$(wc -c <"$1")" ]
}
change "$small" "$WORK/longer.a" longer
check "a code object beyond its member" writes_nothing \
    "goes on beyond the end of its object file" "$WORK/longer.a"
change "$small" "$WORK/shorter.a" shorter
check "one that ends early" writes_nothing "SHA-256" "$WORK/shorter.a"
change "$small" "$WORK/later.a" "data later"
check "one whose data begins later" writes_nothing "code object at byte" "$WORK/later.a"
change "$small" "$WORK/member.a" member
check "a member that is longer than it says" writes_nothing "damaged" "$WORK/member.a"
change "$small" "$WORK/text.a" "no object file"
check "one in no object file" writes_nothing "lie in none of its object files" "$WORK/text.a"

# One bit is flipped, at 100 places in turn: verify accepts each archive that
# prune makes.
cat >"$WORK/mutants.py" <<'END'
import subprocess, sys
kpack, archive, keep, mutant, out = sys.argv[1:]
whole = open(archive, "rb").read()
def run(*words):
    return subprocess.run([kpack, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
refused = 0
step = len(whole) // 100
for i in range(step // 2, len(whole), step):
    damaged = bytearray(whole)
    damaged[i] ^= 1 << i % 8
    open(mutant, "wb").write(damaged)
    pruned = run("prune", mutant, "--keep", keep, "-o", out)
    refused += pruned.returncode == 1 and "SHA-256" in pruned.stdout
    if pruned.returncode == 0 and run("verify", out).returncode:
        sys.exit(f"byte {i}: prune takes it, verify does not")
print(refused, "were refused for their SHA-256")
sys.exit(refused < 20)
END
check "a damaged archive is not pruned" python3 "$WORK/mutants.py" "$kpack" "$small" "$first,$last" \
    "$WORK/mutant.a" "$WORK/out.a"
in_its_place() { # a removed code object may be damaged
    cp "$WORK/mutant.a" "$WORK/before.a"
    "$kpack" prune "$WORK/mutant.a" --keep "$first" >"$WORK/says" 2>&1
    [ $? -eq 1 ] && grep -F SHA-256 "$WORK/says" && cmp "$WORK/mutant.a" "$WORK/before.a" &&
        "$kpack" prune "$WORK/mutant.a" --keep "$last" && "$kpack" verify "$WORK/mutant.a"
}
python3 - "$small" "$WORK/mutant.a" <<'END'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
at = b.index(b"KPACK BLOB")
data, n = struct.unpack_from("<IQ", b, at + 20)
b[at + data + n // 2] ^= 1
open(sys.argv[2], "wb").write(b)
END
check "a refused archive is left as it was" in_its_place

# A sound archive shrinks by the removed code objects, to within 128 bytes.
shrinks() {
    "$kpack" prune "$small" --keep "$last" -o "$WORK/out.a" &&
        "$kpack" verify "$WORK/out.a" && [ "$(targets_of "$WORK/out.a")" = "$last" ] &&
        "$kpack" prune "$WORK/out.a" --keep "$last" -o "$WORK/again.a" && cmp "$WORK/out.a" "$WORK/again.a" &&
        goes=$("$kpack" list "$small" | awk -v t="$first" '$3 == t { print $6 }') &&
        saved=$(($(wc -c <"$small") - $(wc -c <"$WORK/out.a"))) &&
        echo "$goes go, $saved are saved" && [ "$saved" -gt $((goes - 128)) ] && [ "$saved" -le "$goes" ]
}
targets_of() { "$kpack" list "$1" | sed 1d | awk '{ print $3 }'; }
check "a sound archive shrinks" shrinks

# Damages the archive. Its first member is ar's index: a count and offsets, four
# bytes each, big-endian.
archive() { # what output
    python3 - "$small" "$2" "$1" <<'END'
import sys
b = bytearray(open(sys.argv[1], "rb").read())
what = sys.argv[3]
second = 68 + int(b[56:66])  # the header behind the index
if what == "place":
    b[75] += 2
elif what == "count":
    b[68] = 127
elif what == "short index":
    b[56:66] = b"%-10d" % 2
    b[70:second] = b""
elif what == "size":
    b[second + 48] = ord("x")
elif what == "end":
    b[second + 58] = ord("x")
elif what == "beyond":
    b[second + 48:second + 58] = b"%-10d" % 9999999
open(sys.argv[2], "wb").write(b)
END
}
for case in "place:names a place where no member begins" "count:index is cut short" \
    "short index:index is cut short" "size:damaged or cut short" "end:damaged or cut short" \
    "beyond:is cut short"; do
    archive "${case%%:*}" "$WORK/archive.a"
    check "an archive's ${case%%:*}" writes_nothing "${case#*:}" "$WORK/archive.a"
done

# If an object file's layout cannot change, removed code objects are zeroed.
for field in 4 5 16 56 58; do # class, byte order, type, segments, headers' size
    python3 - "$small" "$WORK/odd.a" $field <<'END'
import sys
b = bytearray(open(sys.argv[1], "rb").read())
b[b.index(b"\x7fELF", 8) + int(sys.argv[3])] ^= 3
open(sys.argv[2], "wb").write(b)
END
    check "an object file's byte $field" says_zeros "$WORK/odd.a"
done

for what in "no sections" "sections nowhere" "content nowhere" "alignment of 3" "alignment of a MiB" \
    "a symbol within" "a relocation"; do
    python3 - "$small" "$WORK/odd.a" "$what" <<'END'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
what = sys.argv[3]
elf = b.index(b"\x7fELF", 8)
sections_at, = struct.unpack_from("<Q", b, elf + 40)
count, = struct.unpack_from("<H", b, elf + 60)
headers = [elf + sections_at + 64 * i for i in range(count)]
kinds = [struct.unpack_from("<I", b, h + 4)[0] for h in headers]
# The code object's section, by its head.
head = b.index(b"KPACK BLOB", elf)
mine = next(i for i, h in enumerate(headers) if kinds[i] == 1 and
            struct.unpack_from("<Q", b, h + 32)[0] and elf + struct.unpack_from("<Q", b, h + 24)[0] == head)
if what == "no sections":
    struct.pack_into("<H", b, elf + 60, 0)
elif what == "sections nowhere":
    struct.pack_into("<Q", b, elf + 40, 1 << 40)
elif what == "content nowhere":
    struct.pack_into("<Q", b, headers[mine] + 24, 1 << 40)
elif what == "alignment of 3":
    struct.pack_into("<Q", b, headers[mine] + 48, 3)
elif what == "alignment of a MiB":
    struct.pack_into("<Q", b, headers[mine] + 48, 1 << 20)
elif what == "a symbol within":
    table = headers[kinds.index(2)]
    at, n = struct.unpack_from("<QQ", b, table + 24)
    for symbol in range(elf + at, elf + at + n, 24):
        if struct.unpack_from("<H", b, symbol + 6)[0] == mine:
            struct.pack_into("<Q", b, symbol + 8, 64)
elif what == "a relocation":  # against the code object's section
    other = next(h for i, h in enumerate(headers) if kinds[i] == 3)
    struct.pack_into("<I", b, other + 4, 4)
    struct.pack_into("<I", b, other + 44, mine)
open(sys.argv[2], "wb").write(b)
END
    check "an object file with $what" says_zeros "$WORK/odd.a"
done

# Archives as other tools make them: without an index, and with an index of
# 8-byte offsets.
ar rcS "$WORK/no-index.a" "$WORK"/members/*.o
python3 - "$small" "$WORK/long-index.a" <<'END'
import struct, sys
b = open(sys.argv[1], "rb").read()
size = int(b[56:66])
index = b[68:68 + size]
count, = struct.unpack_from(">I", index)
places = struct.unpack_from(">%dI" % count, index, 4)
def make(delta):
    new = struct.pack(">Q", count) + b"".join(struct.pack(">Q", p + delta) for p in places) + index[4 + 4 * count:]
    return new + b"\0" * (len(new) % 2)
grown = len(make(0)) - (size + size % 2)
new = make(grown)
header = b"%-16s" % b"/SYM64/" + b[24:56] + b"%-10d" % len(new) + b"`\n"
open(sys.argv[2], "wb").write(b[:8] + header + new + b[68 + size + size % 2:])
END
for kind in no-index long-index; do
    shrinks_too() {
        "$kpack" prune "$WORK/$kind.a" --keep "$last" -o "$WORK/out.a" && "$kpack" verify "$WORK/out.a" &&
            [ "$(targets_of "$WORK/out.a")" = "$last" ] && [ "$(wc -c <"$WORK/out.a")" -lt "$(wc -c <"$WORK/$kind.a")" ] &&
            nm "$WORK/out.a" >/dev/null
    }
    check "an archive with $kind" shrinks_too
done
# Archives whose index is not GNU's are refused with what to do, which helps.
llvm_ar=$(for v in 22 21 20 19; do command -v llvm-ar-$v; done | head -n 1)
converted() {
    rm -rf "$WORK/converted" && mkdir "$WORK/converted" && (cd "$WORK/converted" && ar x "$WORK/other-kind.a") &&
        rm -f "$WORK/converted.a" && ar rcs "$WORK/converted.a" "$WORK"/converted/*.o &&
        "$kpack" prune "$WORK/converted.a" --keep "$last" -o "$WORK/out.a" && "$kpack" verify "$WORK/out.a"
}
for kind in "bsd:BSD's or Darwin" "darwin:BSD's or Darwin" coff:COFF; do
    rm -f "$WORK/other-kind.a"
    "$llvm_ar" "--format=${kind%:*}" rcs "$WORK/other-kind.a" "$WORK"/members/*.o
    check "prune of an archive of the kind ${kind%:*}" writes_nothing "${kind#*:}'s kind; prune changes GNU's" \
        "$WORK/other-kind.a"
    check "list of it" [ "$(targets_of "$WORK/other-kind.a")" = "$targets" ]
    check "its members make one that is pruned" converted
done
# A thin archive names files and does not contain them.
ar rcsT "$WORK/thin.a" "$WORK"/members/*.o
for command in list verify "prune --keep $last"; do
    # shellcheck disable=SC2086 # words
    refuse "${command%% *} of a thin archive" "it is a thin archive" "$kpack" $command "$WORK/thin.a"
done
check "prune --keep nothing" sh -c "'$kpack' prune '$small' --keep ''; [ \$? -eq 2 ]"
printf '!<arch>\n' >"$WORK/half.a"
refuse "prune of an archive without packs" "holds no pack" "$kpack" prune "$WORK/half.a" --keep x
{ cat "$small" && printf 'half a header'; } >"$WORK/half.a"
check "half a header behind the last member" writes_nothing "is cut short" "$WORK/half.a"
{ cat "$small" && printf '%060d' 0; } >"$WORK/half.a"
check "what is no header behind the last member" writes_nothing "damaged or cut short" "$WORK/half.a"

# ---- holes ----

# A sparse file of 64 GB with one archive in it, and a head's magic that ends
# where a hole begins.
sparse() {
    rm -f "$WORK/sparse" && truncate -s 64G "$WORK/sparse" &&
        dd if="$small" of="$WORK/sparse" bs=4096 seek=9000000 conv=notrunc &&
        { head -c 4081 /dev/zero && printf 'KPACK BLOB\363\r\n\032\n'; } |
        dd of="$WORK/sparse" bs=4096 seek=9500000 conv=notrunc,fsync
}
check "a sparse file is made" sparse
listed_soon() {
    # shellcheck disable=SC3045 # dash and bash have it
    (ulimit -t 5 && exec "$kpack" list "$WORK/sparse") >"$WORK/list" 2>"$WORK/says"
    status=$?
    cat "$WORK/list" "$WORK/says"
    [ "$status" -eq 1 ] && [ "$(sed 1d "$WORK/list" | awk '{ print $3 }')" = "$targets" ] &&
        [ "$(grep -c 'code object at byte' "$WORK/says")" -eq 1 ] &&
        grep -F "code object at byte $((9500000 * 4096 + 4081)): " "$WORK/says"
}
check "list finds what is between the holes" listed_soon
refuse "prune of it" "is no archive" "$kpack" prune "$WORK/sparse" --keep "$last"
rm -f "$WORK/sparse"

# ---- truncated files ----

# Cut files are found: a program by its section table, which comes last; an
# archive by a member, or by its index if the file ends between two members.
cut() { # file, bytes that are left, words of the command: fails, and says that it is cut, once
    head -c "$2" "$1" >"$WORK/cut" && cut_of=$(wc -c <"$1")
    shift 2
    "$kpack" "$@" >"$WORK/out" 2>"$WORK/says"
    [ $? -eq 1 ] && [ "$(grep -c "is cut short: it has [0-9]* of at least [0-9]* bytes" "$WORK/says")" -eq 1 ] &&
        [ "$(sed -n 's/.* of at least \([0-9]*\) .*/\1/p' "$WORK/says")" -le "$cut_of" ]
}
nbytes=$(wc -c <"$kpack")
check "list of half a program" cut "$kpack" $((nbytes / 2)) list "$WORK/cut"
check "list of a program less one byte" cut "$kpack" $((nbytes - 1)) list "$WORK/cut"
check "it shows what is left" grep -q vector_add "$WORK/out"
check "verify of a program less one byte" cut "$kpack" $((nbytes - 1)) verify "$WORK/cut"
check "list of a program's first bytes" cut "$kpack" 40 list "$WORK/cut"
check "it says that there is no pack" grep -q "and no pack" "$WORK/says"
nbytes=$(wc -c <"$small")
check "list of half an archive" cut "$small" $((nbytes / 2)) list "$WORK/cut"
check "list of an archive less two bytes" cut "$small" $((nbytes - 2)) list "$WORK/cut"
between=$(python3 -c 'import sys; print(open(sys.argv[1], "rb").read().rindex(b"`\n") - 58)' "$small")
check "list of an archive that ends between two members" cut "$small" "$between" list "$WORK/cut"
check "prune of that" cut "$small" "$between" prune "$WORK/cut" --keep "$last" -o "$WORK/out.a"
for whole in "$kpack" "$small"; do
    "$kpack" verify "$whole" >"$WORK/out" 2>"$WORK/says"
    check "a whole file is not cut" [ ! -s "$WORK/says" ]
done

# Two code objects in one section: the removed one is zeroed, the other unchanged.
ld -r -o "$WORK/both.o" "$WORK"/members/*.o
ar rcs "$WORK/both.a" "$WORK/both.o"
blanks() {
    "$kpack" prune "$WORK/both.a" --keep "$last" -o "$WORK/out.a" &&
        [ "$(targets_of "$WORK/out.a")" = "$last" ] &&
        "$kpack" verify "$WORK/out.a" &&
        [ "$(wc -c <"$WORK/out.a")" -eq "$(wc -c <"$WORK/both.a")" ]
}
check "one of a shared section is zeroed" blanks
change "$WORK/both.a" "$WORK/both-shorter.a" shorter
check "but not by a head that is wrong" writes_nothing "SHA-256" "$WORK/both-shorter.a"

# ---- several code objects with one name ----

# The same pack twice, and once more with other code of the same names.
cat "$small" "$small" >"$WORK/twice"
other_code() { # a bit of the first code object, and its hash
    python3 - "$1" "$2" <<'END'
import hashlib, struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
at = b.index(b"KPACK BLOB")
data, = struct.unpack_from("<I", b, at + 20)
n, = struct.unpack_from("<Q", b, at + 24)
b[at + data + n - 1] ^= 1
b[at + 48:at + 80] = hashlib.sha256(b[at + data:at + data + n]).digest()
open(sys.argv[2], "wb").write(b)
END
}
other_code "$small" "$WORK/other.a"
cat "$small" "$WORK/other.a" >"$WORK/mixed"
count=$(echo "$targets" | wc -l)
extracts() { # file, files wanted, words
    rm -rf "$WORK/out"
    "$kpack" extract "$1" --all -o "$WORK/out" >"$WORK/says" 2>&1 || return 1
    cat "$WORK/says"
    ls "$WORK/out"
    [ "$(find "$WORK/out" -type f | wc -l)" -eq "$2" ] && grep -qF -e "$3" "$WORK/says"
}
check "copies are written once" extracts "$WORK/twice" "$count" \
    "$((2 * count)) code objects, $count files: $count are copies"
check "other code gets a name of its own" extracts "$WORK/mixed" $((count + 1)) \
    "vector_add-$first.2.hsaco"
differ() { ! cmp "$WORK/out/vector_add-$first.hsaco" "$WORK/out/vector_add-$first.2.hsaco"; }
check "both are there" differ
check "one of two copies is taken" "$kpack" extract "$WORK/twice" vector_add "$first" -o "$WORK/one"
# If one of two copies is damaged, extract takes the other copy.
damage_copy() { # first | last
    python3 - "$WORK/twice" "$WORK/damaged" "$1" "$first" <<'END'
import struct, sys
b, at = bytearray(open(sys.argv[1], "rb").read()), -1
places = []
while (at := b.find(b"KPACK BLOB", at + 1)) >= 0:
    data, = struct.unpack_from("<I", b, at + 20)
    target, = struct.unpack_from("<I", b, at + 124)
    if b[at + target:].split(b"\0")[0].decode() == sys.argv[4]:
        places.append(at + data + 100)
assert len(places) == 2
b[places[0 if sys.argv[3] == "first" else 1]] ^= 1
open(sys.argv[2], "wb").write(b)
END
}
whole_copy() { # first | last
    rm -rf "$WORK/some" "$WORK/one.again"
    damage_copy "$1" && "$kpack" extract "$WORK/damaged" vector_add "$first" -o "$WORK/one.again" &&
        cmp "$WORK/one" "$WORK/one.again" && "$kpack" extract --all "$WORK/damaged" -o "$WORK/some"
    cmp "$WORK/one" "$WORK/some/vector_add-$first.hsaco"
}
check "the whole one, where the first is damaged" whole_copy first
check "and where the last is" whole_copy last
refuse "of two that differ none is" "two different code objects" \
    "$kpack" extract "$WORK/mixed" vector_add "$first" -o "$WORK/one"

# ---- contents of a file ----

is_json() { "$@" | python3 -m json.tool; }
check "list FILE --json" is_json "$kpack" list "$small" --json
check "verify --json" is_json "$kpack" verify "$WORK/twice" --json
flip() { # file output: the last byte of the first code object's content
    python3 - "$1" "$2" <<'END'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
at = b.index(b"KPACK BLOB")
data, n = struct.unpack_from("<IQ", b, at + 20)
b[at + data + n - 1] ^= 1
open(sys.argv[2], "wb").write(b)
END
}
flip "$small" "$WORK/flipped.a"
check "verify --json of damage" sh -c \
    "'$kpack' verify '$WORK/flipped.a' --json | python3 -c 'import json, sys
damaged = [o for p in json.load(sys.stdin)[\"packs\"] for o in p[\"objects\"] if not o[\"whole\"]]
sys.exit(not (len(damaged) == 1 and \"SHA-256\" in damaged[0][\"fault\"]))'"
check "its status" status 1 "$kpack" verify "$WORK/flipped.a" --json
refuse "extract of damage" "SHA-256" "$kpack" extract "$WORK/flipped.a" vector_add "$first" -o "$WORK/one"
check "extract --all of damage" status 1 "$kpack" extract "$WORK/flipped.a" --all -o "$WORK/out"

heads() { # change output: changes every head
    python3 - "$small" "$2" "$1" <<'END'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
at = b.find(b"KPACK BLOB")
while at >= 0:
    if sys.argv[3] == "empty":
        struct.pack_into("<QQ", b, at + 24, 0, 0)
    elif sys.argv[3] == "newer":
        struct.pack_into("<I", b, at + 16, 2)
    elif sys.argv[3] == "codec":
        struct.pack_into("<I", b, at + 40, 9)
    elif sys.argv[3] == "huge":
        struct.pack_into("<Q", b, at + 24, 1 << 40)
    elif sys.argv[3] == "large": # for zstd to make of so few bytes
        struct.pack_into("<Q", b, at + 24, 1 << 30)
        struct.pack_into("<I", b, at + 40, 1)
    elif sys.argv[3] == "no names":
        struct.pack_into("<I", b, at + 116, 1)
    elif sys.argv[3] == "control":
        name, = struct.unpack_from("<I", b, at + 120)
        b[at + name] = 27
    elif sys.argv[3] == "unended":
        name, = struct.unpack_from("<I", b, at + 120)
        data, = struct.unpack_from("<I", b, at + 20)
        b[at + name:at + data] = b"x" * (data - name)
    elif sys.argv[3] == "other pack":
        name, = struct.unpack_from("<I", b, at + 116)
        b[at + name] = ord(".")
    elif sys.argv[3] == "folder":
        name, = struct.unpack_from("<I", b, at + 120)
        b[at + name:at + name + 3] = b"../"
    at = b.find(b"KPACK BLOB", at + 1)
open(sys.argv[2], "wb").write(b)
END
}
for case in "newer:heads are of another version" "codec:an unknown kind" \
    "huge:an impossible size" "large:an impossible size" "no names:no proper names" "unended:no proper names" "control:no proper names"; do
    heads "${case%%:*}" "$WORK/heads"
    for command in list verify "extract --all -o $WORK/out"; do
        # shellcheck disable=SC2086 # words
        refuse "${command%% *} of heads: ${case%%:*}" "${case#*:}" "$kpack" $command "$WORK/heads"
    done
done
heads empty "$WORK/heads"
refuse "verify of what is taken out" "no code object is left" "$kpack" verify "$WORK/heads"
heads newer "$WORK/heads"
for file in heads heads heads heads heads; do cat "$WORK/$file"; done >"$WORK/many"
refuse "many faults are counted" "and $((5 * count - 8)) more like that" "$kpack" list "$WORK/many"
heads "other pack" "$WORK/heads"
cat "$small" "$WORK/heads" >"$WORK/two-packs"
check "two packs get a folder each" sh -c \
    "rm -rf '$WORK/out'; '$kpack' extract '$WORK/two-packs' --all -o '$WORK/out' && ls '$WORK/out/candle' '$WORK/out/_andle'"
heads folder "$WORK/heads"
check "names stay in the folder" sh -c "rm -rf '$WORK/out'; '$kpack' extract '$WORK/heads' --all -o '$WORK/out' &&
    [ ! -e '$WORK/out/../tor_add-$first.hsaco' ] && ls '$WORK/out' | grep -- '-.-tor_add-$first.hsaco'"

here() { # wanted file, words...: into the folder where the command runs
    rm -rf "$WORK/here" && mkdir "$WORK/here" && wanted=$1 && shift &&
        (cd "$WORK/here" && "$kpack" extract "$small" "$@") && [ -s "$WORK/here/$wanted" ]
}
check "extract of one, without -o" here "vector_add-$first.hsaco" vector_add "$first"
check "extract --all, without -o" here "vector_add-$last.hsaco" --all
odd=$WORK/$(printf 'a"b\\c\td')
cp "$small" "$odd"
named() { "$kpack" verify "$odd" --json | python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["file"] != sys.argv[1])' "$odd"; }
check "a file's name is JSON, whatever is in it" named
for file in 1 2 3 4 5 6; do cat "$small"; done >"$WORK/many"
check "a long list has each line" test "$("$kpack" list "$WORK/many" | wc -l)" -eq $((6 * count + 1))
check "--kernels of a file" says "vector_add  vector_add     4     28" "$kpack" list "$small" --kernels
check "extract of a file alone" status 2 "$kpack" extract "$small"
check "extract --all of two words" status 2 "$kpack" extract "$small" x --all
refuse "no such module" "has no module \"affine\"" "$kpack" extract "$small" affine "$first"
refuse "no such file" "cannot read" "$kpack" list "$WORK/nowhere"
refuse "a folder" "cannot read" "$kpack" verify "$WORK"
refuse "no pack" "holds no pack" "$kpack" verify "$0"
refuse "no folder to write to" "cannot write" "$kpack" extract "$small" --all -o "$WORK/no/such"
refuse "a name that is too long" "name too long" "$kpack" prune "$small" --keep "$last" \
    -o "$(printf '%04100d' 0)"
refuse "a folder's, too" "name too long" "$kpack" prune "$small" --keep "$last" \
    -o "$(printf '%04090d' 0)/x"
refuse "one that is longer still" "name too long" "$kpack" prune "$small" --keep "$last" \
    -o "$(printf '%05000d' 0)/x"
refuse "a folder to write to" "Is a directory" "$kpack" prune "$small" --keep "$last" -o "$WORK/members"
# JSON is UTF-8, whatever a file is called.
names_in_json() {
    python3 - "$kpack" "$small" "$WORK" <<'END'
import json, os, subprocess, sys
kpack, small, folder = (os.fsencode(word) for word in sys.argv[1:])
for name in (b"\xff", b"a\xc3", b"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", b"\xc0\xaf", b"\xe0\x80\x80", b"\xed\xa0\x80",
             b"\xf4\x90\x80\x80", b"\xf5", b"\xe2\x82", b"\xf0\x9f\x98x", b"\xf0\x8f\xbf\xbf", b"\x80", b'"\\\n\x7f'):
    path = os.path.join(folder, b"json", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(small, path)
    got = json.loads(subprocess.run([kpack, b"verify", b"--json", path], stdout=subprocess.PIPE, check=True).stdout.decode())
    try:
        assert got["file"] == path.decode(), name
    except UnicodeDecodeError:
        assert "\ufffd" in got["file"], name
END
}
check "names of files in JSON" names_in_json
refuse "a number behind a blank" "no number of that type" "$kpack" run vector_add "u64: -5"
refuse "and none at all" "no number of that type" "$kpack" run vector_add u64:-
refuse "an argument's bytes out of a folder" "Is a directory" "$kpack" run vector_add "f32x2:@$WORK/members"
cp "$small" "$WORK/-odd.a"
hyphens() (
    cd "$WORK" && "$kpack" verify --json -- -odd.a && "$kpack" prune --keep "$first" -o ./-less.a -- -odd.a && [ -s ./-less.a ]
)
check "names that begin with a hyphen, behind --" hyphens
refuse "without it they are options" "option unknown here" "$kpack" verify -odd.a
refuse "and behind it no option is one" "no module and no kernel is called \"--help\"" "$kpack" info -- --help
refuse "a second -- is a word" "no module and no kernel is called \"--\"" "$kpack" info -- --
refuse "a device, which may have no end" "it is a device, and no file" timeout 20 "$kpack" verify /dev/zero
refuse "prune of what cannot be read" "cannot read" "$kpack" prune "$WORK/nowhere" --keep "$last"
check "a word of --keep that is too long" status 1 "$kpack" prune "$small" --keep "$last,$(printf '%0100d' 0)"
check "prune keeps what a device runs" "$kpack" prune "$small" \
    --keep "$last:sramecc+:xnack-,$first" -o "$WORK/out.a"

# ---- a new file is whole, or the old file stays ----

heads "other pack" "$WORK/other-pack"
cat "$small" "$WORK/other-pack" >"$WORK/two-packs"
deep=$WORK/deep/$(printf '%0250d/%0250d/%0250d/%0250d/%0250d/%0250d' 1 2 3 4 5 6)
mkdir -p "$deep"
into_deep() {
    "$kpack" extract "$WORK/two-packs" --all -o "$deep" &&
        [ "$(find "$deep/candle" "$deep/_andle" -type f | wc -l)" -eq $((2 * count)) ]
}
check "two packs into a folder with a long name" into_deep
deeper=$deep/$(printf '%0250d/%0250d/%0250d/%0250d/%0250d/%0250d' 1 2 3 4 5 6)
mkdir -p "$deeper"
refuse "a folder's name that is too long" "File name too long" \
    "$kpack" extract "$WORK/two-packs" --all -o "$deeper"
check "into it nothing is written" test -z "$(find "$deeper" -type f)"

"$kpack" extract "$small" vector_add "$first" -o "$WORK/one"
disk="$WORK/a 'disk' of \"mine\""
mkdir "$disk"
alone_there() { # file: the only one in the folder
    ls -a "$disk"
    [ "$(find "$disk" -mindepth 1 | wc -l)" -eq 1 ] && [ -e "$disk/$1" ]
}
stays() { # words of the command, which cannot write
    echo precious >"$disk/file"
    (ulimit -f 1 && exec "$kpack" "$@" -o "$disk/file")
    got=$?
    echo "status $got"
    [ "$got" -eq 4 ] && [ "$(cat "$disk/file")" = precious ] && alone_there file
}
check "a file stays where its new content does not fit" stays extract "$small" vector_add "$first"
check "and an archive" stays prune "$small" --keep "$first"
in_shared_memory() {
    before=$disk disk=$shared
    stays prune "$small" --keep "$first"
    got=$?
    disk=$before
    return "$got"
}
if shared=$(mktemp -d /dev/shm/kpack.XXXXXX 2>/dev/null); then
    check "and what is below /dev without being a device" in_shared_memory
    rm -rf "$shared"
else
    skip "nothing can be written below /dev/shm"
fi
into_full() {
    "$kpack" extract "$small" vector_add "$first" -o /dev/full
    [ $? -eq 4 ] && [ -c /dev/full ]
}
check "a device that is full" into_full
takes_content() { # name wanted words
    name=$1
    "$kpack" extract "$small" vector_add "$first" -o "$disk/$name" && cmp "$disk/$name" "$WORK/one"
}
chmod 640 "$disk/file"
check "a file's content is exchanged" takes_content file
check "its mode is not" test "$(stat -c %a "$disk/file")" = 640
ln -s file "$disk/link"
echo old >"$disk/file"
check "what a link leads to is" takes_content link
check "the link is not" test -L "$disk/link"
rm "$disk/file"
check "the file of a link to nowhere is made" takes_content link
check "a link still" test -L "$disk/link"
cp "$small" "$WORK/mine.a"
chmod 600 "$WORK/mine.a"
ln -sf "$WORK/mine.a" "$disk/link"
in_place() {
    "$kpack" prune "$disk/link" --keep "$first" && [ -L "$disk/link" ] &&
        [ "$(targets_of "$WORK/mine.a")" = "$first" ] && [ "$(stat -c %a "$WORK/mine.a")" = 600 ] &&
        "$kpack" prune "$WORK/mine.a" --keep "$first" -o "$disk/new.a" && [ "$(stat -c %a "$disk/new.a")" = 600 ]
}
check "an archive behind a link is pruned in its place" in_place
fifo() {
    mkfifo "$disk/pipe" && { cat "$disk/pipe" >"$WORK/piped" & } &&
        "$kpack" extract "$small" vector_add "$first" -o "$disk/pipe" && wait && cmp "$WORK/piped" "$WORK/one" && [ -p "$disk/pipe" ]
}
check "a pipe is written to" fifo
rm -f "$disk"/*
long=$(printf '%0255d' 1)
check "a name as long as names can be" takes_content "$long"
rm -f "$disk"/*

# Whenever a signal comes, there are whole files and no others. Opening takes
# long here, and so does closing; until then a part lies in a buffer.
cat >"$WORK/slow.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
FILE *fopen(const char *name, const char *mode)
{
    FILE *(*real)(const char *, const char *);
    FILE *file;
    *(void **)&real = dlsym(RTLD_NEXT, "fopen");
    file = real(name, mode);
    usleep(10000);
    return file;
}
int fclose(FILE *file)
{
    int (*real)(FILE *);
    *(void **)&real = dlsym(RTLD_NEXT, "fclose");
    usleep(20000);
    return real(file);
}
END
cat >"$WORK/signals.py" <<'END'
import os, signal, subprocess, sys, time
kpack, archive, folder, whole, slow = sys.argv[1:]
def content(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()
wanted = {name: content(whole, name) for name in os.listdir(whole)}
ended = 0
for i in range(40):
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    run = subprocess.Popen([kpack, "extract", archive, "--all", "-o", folder], stderr=subprocess.DEVNULL,
                           env={**os.environ, "LD_PRELOAD": slow})
    time.sleep(0.005 * i)
    how = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL][i % 4]
    run.send_signal(how)
    ended += run.wait() < 0
    if how == signal.SIGKILL:
        subprocess.run([kpack, "extract", archive, "--all", "-o", folder], check=True,
                       stdout=subprocess.DEVNULL)
        if sorted(os.listdir(folder)) != sorted(wanted):
            sys.exit(f"after SIGKILL there is {os.listdir(folder)}")
    for name in os.listdir(folder):
        if wanted.get(name) != content(folder, name):
            sys.exit(f"signal {-run.returncode} left {name}, which is not whole")
print(ended, "were ended by a signal")
sys.exit(ended == 0)
END
signals() {
    "$CC" -shared -fPIC -o "$WORK/slow.so" "$WORK/slow.c" -ldl && rm -rf "$WORK/out" &&
        "$kpack" extract "$small" --all -o "$WORK/out" &&
        python3 "$WORK/signals.py" "$kpack" "$small" "$disk" "$WORK/out" "$WORK/slow.so"
}
if [ -n "${SAN-}" ]; then # a sanitizer has to come first
    skip "sanitizers are on"
else
    check "signals leave no half of a file" signals
fi

# SIGKILL leaves a temporary file. The next command that writes to the folder
# removes it, but no temporary file of a running command and no other file.
cat >"$WORK/left.py" <<'END'
import fcntl, os, subprocess, sys
kpack, archive, folder, output = sys.argv[1:]
stale = [".kpack-4000000.new", ".kpack-1-1.new"]
live = ".kpack-1-2.new"
others = [".kpack-.new", ".kpack-x.new", ".kpack-1-1.newer", "kpack-1-1.new"]
for name in [*stale, live, *others]:
    with open(os.path.join(folder, name), "w") as file:
        file.write("part")
os.symlink(others[0], os.path.join(folder, ".kpack-1-3.new"))
os.mkdir(os.path.join(folder, ".kpack-1-4.new"))
kept = sorted([live, *others, ".kpack-1-3.new", ".kpack-1-4.new"])
def run():
    subprocess.run([kpack, "extract", archive, "--all", "-o", output], check=True, cwd=folder,
                   stdout=subprocess.DEVNULL)
    return sorted(name for name in os.listdir(folder) if "kpack-" in name)
with open(os.path.join(folder, live)) as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    if run() != kept:
        sys.exit(f"there is {run()}, wanted {kept}")
kept.remove(live)
if run() != kept:
    sys.exit(f"when nobody writes there is {run()}, wanted {kept}")
END
left() { # folder to write to
    rm -rf "$disk" && mkdir "$disk" && python3 "$WORK/left.py" "$kpack" "$small" "$disk" "$1"
}
check "what a killed command left is removed" left "$disk"
check "and in the folder that one is in" left .

# Commands that write the same files at once keep each other's temporary files.
# In a container, the name made of the process number may be taken.
cat >"$WORK/at_once.py" <<'END'
import os, subprocess, sys
kpack, archive, folder, whole = sys.argv[1:]
def take_name():
    os.mkdir(os.path.join(folder, f".kpack-{os.getpid()}-1.new"))
taken = [None, take_name, None, take_name]
for _ in range(5):
    runs = [subprocess.Popen([kpack, "extract", archive, "--all", "-o", folder], stdout=subprocess.DEVNULL,
                             preexec_fn=before) for before in taken]
    if any([run.wait() for run in runs]):
        sys.exit("one of them failed")
for name in os.listdir(folder):
    if name.startswith(".kpack-"):
        os.rmdir(os.path.join(folder, name))
for name in os.listdir(whole):
    with open(os.path.join(folder, name), "rb") as a, open(os.path.join(whole, name), "rb") as b:
        if a.read() != b.read():
            sys.exit(f"{name} is not whole")
sys.exit(sorted(os.listdir(folder)) != sorted(os.listdir(whole)))
END
at_once() {
    rm -rf "$disk" "$WORK/out" && mkdir "$disk" && "$kpack" extract "$small" --all -o "$WORK/out" &&
        python3 "$WORK/at_once.py" "$kpack" "$small" "$disk" "$WORK/out"
}
check "several at once" at_once
few_files() {
    rm -rf "$disk" && mkdir "$disk" && echo old >"$disk/file"
    # shellcheck disable=SC3045 # dash and bash have it
    (ulimit -n 4 && exec "$kpack" extract "$small" vector_add "$first" -o "$disk/file") 2>"$WORK/says"
    [ $? -eq 4 ] && grep -F "Too many open files" "$WORK/says" && alone_there file && [ "$(cat "$disk/file")" = old ]
}
check "too few files" few_files

# ---- closed files ----

cat >"$WORK/opens.c" <<'END'
#include <fcntl.h>
#include <stdlib.h>
__attribute__((constructor)) static void open_device(void)
{
    (void)open(getenv("DEVICE_FILE"), O_RDWR | O_CREAT, 0600);
}
END
check "a runtime that opens a device" "$CC" -shared -fPIC -o "$WORK/opens.so" "$WORK/opens.c"
not_into_device() { # redirections that close streams
    rm -f "$WORK/device"
    DEVICE_FILE=$WORK/device KPK_HIP_LIBRARY=$WORK/opens.so KPK_CUDA_LIBRARY=$WORK/opens.so \
        sh -c "'$kpack' devices $1; '$kpack' devices --json $1" && return 1
    [ -e "$WORK/device" ] && [ ! -s "$WORK/device" ]
}
for closed in "2>&-" ">&- 2>&-" "<&- >&- 2>&-"; do
    check "nothing is printed into a device with $closed" not_into_device "$closed"
done
closed_all() {
    "$kpack" extract "$small" vector_add "$first" -o "$WORK/closed" <&- >&- 2>&-
    cmp "$WORK/closed" "$WORK/one"
}
check "a file is written while all are closed" closed_all
closed_out() {
    "$kpack" list >&-
    [ $? -eq 4 ]
}
check "a list that goes nowhere" closed_out
finish
