#!/bin/sh
# export.sh - kpack extract --kpack: packs as AMD's kernel archives
#
# kpak.py reads the written archives, strictly. Packs in files are made here:
# damaged ones, several in a file, code for NVIDIA's GPUs.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build}
kpack=$(realpath "$H/kpack")
out=$WORK/out

# ---- the pack of the command ----

same() { # suffix options...
    suffix=$1
    shift
    rm -rf "$out"
    "$kpack" extract --kpack "$out" "$@" && "$kpack" list --json | python3 -B tests/build/kpak.py "$out" "$B/hsaco" "$suffix"
}
check "the pack, by its modules' names" same ""
check "by the paths of files" same .co --keys path
check "by names, said" same "" --keys module
check "files that are there are replaced" "$kpack" extract --kpack "$out" --keys path
check "only these files" sh -c "! find '$out' -type f ! -name 'candle*.kpack' ! -name candle.json | grep ."
rm -rf "$out"

# ---- packs in files ----

# make.py FILE OBJECT...: code objects, each PACK MODULE TARGET CONTENT, where
# CONTENT is a kernel's name, or the name and what is wrong with it.
cat >"$WORK/make.py" <<'END'
import hashlib, struct, sys

def elf(kernel, nbytes, wrong):
    names = b"\0" + b"\0".join(n.encode() for n in (kernel + ".kd", kernel, "there.kd", ".kd", "data")) + b"\0"
    at = [names.index(n + b"\0") for n in (kernel.encode() + b".kd", b"\0" + kernel.encode(), b"there.kd", b"\0.kd", b"data")]
    symbol = lambda name, section: struct.pack("<IBBHQQ", name, 0x11, 3, section, 0, 64)
    symbols = bytes(24) + symbol(at[0], 1) + symbol(at[1] + 1, 1) + symbol(at[2], 0) + symbol(at[3] + 1, 1) + symbol(at[4], 1)
    symbols += symbol(len(names) + 9, 1) # a name outside
    if wrong == "names": names = names[:-1] + b"x"
    if wrong == "no names": names = b""
    body = 64 + 3 * 64
    section = lambda kind, at, n, link: struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, at, n, link, 0, 8, 24)
    link = 9 if wrong == "link" else 2
    sections = bytes(64) + section(3 if wrong == "table" else 11, 1 << 40 if wrong == "far" else body, len(symbols), link)
    sections += section(3, 1 << 60 if wrong == "far names" else body + len(symbols), len(names), 0)
    header = b"\x7fELF" + bytes([1 if wrong == "class" else 2, 1, 1, 64, 4]) + bytes(7) + struct.pack(
        "<HHIQQQIHHHHHH", 3, 224, 1, 0, 0, 1 << 50 if wrong == "sections" else 64, 0x4c, 64, 56, 0,
        40 if wrong == "size" else 64, 3, 0)
    data = header + sections + symbols + names
    data += bytes(max(0, nbytes - len(data)))
    return data[:50] if wrong == "short" else b"no ELF" + data[6:] if wrong == "magic" else data

def blob(pack, module, target, content, wrong=None):
    name, _, nbytes = content.partition("*")
    data = b"text" if target.startswith(("sm_", "compute_")) else elf(name, int(nbytes or 0), wrong)
    digest = hashlib.sha256(data).digest()
    if wrong == "hash": digest = bytes(32)
    if wrong == "bit": data = data[:-1] + bytes([data[-1] ^ 1]) # the head still has the first one's hash
    names = b"".join(n.encode() + b"\0" for n in (pack, module, target))
    where = [144, 145 + len(pack), 146 + len(pack) + len(module)]
    size = -(-(144 + len(names)) // 64) * 64
    head = b"KPACK BLOB\xf3\r\n\x1a\n\0" + struct.pack("<IIQQII", 9 if wrong == "head" else 1, size, len(data), len(data), 0, 0)
    head += digest + bytes(32) + struct.pack("<IIII", 5, *where)
    return (head.ljust(144, b"\0") + names).ljust(size, b"\0") + data

with open(sys.argv[1], "wb") as f:
    for words in sys.argv[2:]:
        f.write(blob(*words.split(" ", 4)))
END
packed() { # object...
    python3 "$WORK/make.py" "$WORK/packed" "$@"
}
# reads TEXT: the archives' content, as Python text
reads() {
    python3 -B - "$out" "$1" <<'END'
import sys
sys.path.insert(0, "tests/build")
from kpak import read_folder
archives, kernels = read_folder(sys.argv[1])
got = " ".join(sorted(f"{a[:-6]}:{k}={'+'.join(kernels.get((a, k), ['-']))}" for a in archives for k, _ in archives[a]))
print(got)
sys.exit(got != sys.argv[2])
END
}
exported() { # TEXT options...
    text=$1
    shift
    rm -rf "$out"
    "$kpack" extract --kpack "$out" "$WORK/packed" "$@" && reads "$text"
}
fails() { # STATUS WORDS options...
    wanted=$1 words=$2
    shift 2
    "$kpack" extract --kpack "$out" "$@" >"$WORK/said" 2>&1
    got=$?
    cat "$WORK/said"
    [ "$got" -eq "$wanted" ] && grep -qF -e "$words" "$WORK/said"
}
nothing() { # the same, and nothing is there
    rm -rf "$out"
    fails "$@" && [ ! -e "$out" ]
}

packed "p m gfx942 k" "p n gfx942 l" "p m gfx90a:xnack+ k" "q m gfx942 other"
check "two packs, targets with features" exported \
    "p_gfx90a:xnack+:m=k p_gfx942:m=k p_gfx942:n=l q_gfx942:m=other"
check "their lists" ls "$out/p.json" "$out/q.json"
packed "p a/b gfx942 k" "p a/c.co gfx942 l"
check "paths have one suffix" exported "p_gfx942:a/b.co=k p_gfx942:a/c.co=l" --keys path
check "names are as they are" exported "p_gfx942:a/b=k p_gfx942:a/c.co=l"
packed "p m gfx942 k" "p m sm_90 k" "p m compute_80 k"
check "NVIDIA's code is left out" exported "p_gfx942:m=k"
check "which is said" says "2 code objects for NVIDIA's GPUs left out" "$kpack" extract --kpack "$out" "$WORK/packed"
packed "p m sm_90 k"
check "of that alone there is no archive" nothing 1 "has no code object for AMD's GPUs" "$WORK/packed"
check "which is said of one" says "1 code object for NVIDIA's GPUs left out" "$kpack" extract --kpack "$out" "$WORK/packed"
packed "p m gfx942 k" "p m gfx942 k" "p m gfx942 k bit"
check "copies are one, a whole one" exported "p_gfx942:m=k"
packed "p m gfx942 k bit" "p m gfx942 k"
check "wherever the damaged one is" exported "p_gfx942:m=k"
packed "p m gfx942 k" "p m gfx942 k" "p n gfx942 l" "p n gfx942 l" "p o gfx942 k"
check "and nothing else is lost" exported "p_gfx942:m=k p_gfx942:n=l p_gfx942:o=k"
packed "p m gfx942 k" "p m gfx942 l"
check "other code of one key" nothing 1 "two different code objects \"m\" for gfx942" "$WORK/packed"
packed "p m gfx942 k" "p m.co gfx942 l"
check "or of one path" nothing 1 "two different code objects \"m.co\"" "$WORK/packed" --keys path
packed "a/b m gfx942 k" "a-b m gfx942 k"
check "packs of one file name" nothing 1 "would both be called a-b_gfx942.kpack" "$WORK/packed"
packed "p m gfx942 k" "p n gfx90a k hash"
check "damaged code" nothing 1 "SHA-256" "$WORK/packed"
packed "p m gfx942 k" "p n gfx942 k head"
check "a damaged head" nothing 1 "code object at byte" "$WORK/packed"
for wrong in short magic class size sections table far "far names" link names "no names"; do
    packed "p m gfx942 k" "p n gfx942 k $wrong"
    check "what is no code object: $wrong" nothing 1 "no whole symbol table" "$WORK/packed"
done
check "a file without a pack" nothing 1 "holds no pack" LICENSE
check "no such file" nothing 1 "cannot read" "$WORK/no such file"

# Numbers and lengths of every width.
long=$(printf '%040d' 0)
longer=$(printf '%0300d' 0)
set --
want=
for i in $(seq 101 120); do
    set -- "$@" "p m$i gfx942 k$i"
    want="$want p_gfx942:m$i=k$i"
done
packed "p $longer gfx942 a" "p $long gfx942 b*70000" "$@"
check "many, long, large" exported "p_gfx942:$longer=a p_gfx942:$long=b$want"

# ---- archives that cannot be written ----

packed "p m gfx90a k*20000" "p m gfx942 k" "q m gfx942 k"
limited() { # files of 8 blocks at most: the first archive is larger
    rm -rf "$out"
    mkdir "$out"
    echo old >"$out/p_gfx90a.kpack"
    (ulimit -f 8 && fails 4 "cannot write $out/p_gfx90a.kpack: File too large" "$WORK/packed") &&
        [ "$(cat "$out/p_gfx90a.kpack")" = old ] && [ "$(ls -A "$out")" = p_gfx90a.kpack ]
}
check "a full disk loses nothing" limited
in_the_way() { # name: the list has no missing file
    rm -rf "$out"
    mkdir -p "$out/$1"
    fails 4 "cannot write $out/$1: " "$WORK/packed" && [ ! -f "$out/p.json" ]
}
check "an archive that cannot be written" in_the_way p_gfx942.kpack
check "a list that cannot" in_the_way p.json
out=$WORK/no/such
check "no such folder" nothing 4 "cannot write $out: No such file" "$WORK/packed"
out=$WORK/packed
check "a file in place of the folder" fails 4 "cannot write $out/p_gfx90a.kpack: Not a directory" "$WORK/packed"

# ---- the command line ----

usage() { # WORDS options...
    words=$1
    shift
    "$kpack" extract "$@" >"$WORK/said" 2>&1
    got=$?
    cat "$WORK/said"
    [ "$got" -eq 2 ] && grep -qF -e "$words" "$WORK/said"
}
out=$WORK/none
check "no folder" usage "its value is missing" --kpack
check "no --kpack" usage "of --kpack DIR, which is not given" --keys path
check "standard output" usage "give it a folder" --kpack -
check "-o, too" usage "without -o and --all" --kpack "$out" -o x
check "--all, too" usage "without -o and --all" --kpack "$out" --all "$WORK/packed"
check "several files" usage "takes no word" --kpack "$out" a b
check "unknown keys" usage "--keys is module or path" --kpack "$out" --keys names
check "and nothing is written" [ ! -e "$out" ]
finish
