#!/bin/sh
# tools.sh - what kpack-gen, kpack-embed, kpack-compress and kpack-report refuse
#
# Command lines, files and trees that are wrong in one thing each. After each
# the test checks that no file is left behind.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build}
gen=$(realpath "$B/kpack-gen") embed=$(realpath "$B/kpack-embed")
pack=$(realpath "$B/kpack-compress") report=$(realpath "$B/kpack-report") out=$WORK/out
# shellcheck disable=SC2046 # names without blanks
set -- $(cd "$B/hsaco" && printf '%s\n' gfx*/vector_add.hsaco | cut -d/ -f1 | head -n 2)
one=$1 two=$2
hsaco=$(realpath "$B/hsaco")
add=$hsaco/$one/vector_add.hsaco affine=$hsaco/$one/affine.hsaco

no() { # status words command...: it fails with that status, says so, writes nothing
    wanted=$1 words=$2
    shift 2
    rm -rf "$out"
    "$@" >"$WORK/said" 2>&1 </dev/null
    got=$?
    cat "$WORK/said"
    [ "$got" -eq "$wanted" ] && grep -qF -e "$words" "$WORK/said" &&
        [ -z "$(find "$out" "$out.tmp" -type f 2>/dev/null)" ]
}
say() { # status words command...
    check "$*" no "$@"
}

# ---- kpack-gen: words and names ----

say 2 "usage: kpack-gen module" "$gen"
say 2 "usage: kpack-gen" "$gen" module p.m "$out"
say 2 "usage: kpack-gen" "$gen" modules p.m "$out" "$one=$add"
for name in '' 1p p-p 'p p'; do
    say 1 "pack name '$name' is no C identifier" "$gen" module "$name.m" "$out" "$one=$add"
done
for name in p__q p_ _; do
    say 1 "pack name '$name' has two '_' in a row" "$gen" module "$name.m" "$out" "$one=$add"
done
for name in '' 1m m-m m.m; do
    say 1 "module name '$name' is no C identifier" "$gen" module "p.$name" "$out" "$one=$add"
done
say 1 "module name '_m' begins with '_'" "$gen" module p._m "$out" "$one=$add"
say 1 "pack is about a whole pack, not about m" "$gen" pack p.m "$out" m
say 1 "'x' is not KEY=FILE" "$gen" module p.m "$out" x
say 1 "a module has one code object at least" "$gen" module p.m "$out" "table=$WORK/none.csv"
say 1 "none.csv" "$gen" module p.m "$out" "$one=$add" "table=$WORK/none.csv"
say 1 "$one is given twice" "$gen" module p.m "$out" "$one=$add" "$one=$add"
say 1 "is for $one, not for $two" "$gen" module p.m "$out" "$two=$add"
say 1 "none.ll: No such file" "$gen" module p.m "$out" "$one=$add" "ir=$WORK/none.ll"
echo '; nothing' >"$WORK/empty.ll"
say 1 "ir is given twice" "$gen" module p.m "$out" "$one=$add" "ir=$WORK/empty.ll" "ir=$WORK/empty.ll"
say 1 "none.csv" "$gen" module p.m "$out" "$one=$add" "types=$WORK/none.csv"
for head in type host type,header; do
    echo $head >"$WORK/types.csv"
    say 1 "types.csv: wants the columns type and host" "$gen" module p.m "$out" "$one=$add" "types=$WORK/types.csv"
done
say 1 "none.csv" "$gen" module p.m "$out" "$one=$add" "aliases=$WORK/none.csv"
echo module,text >"$WORK/aliases.csv"
say 1 "aliases.csv: wants the columns module, text and alias" \
    "$gen" module p.m "$out" "$one=$add" "aliases=$WORK/aliases.csv"
say 1 "none.h: No such file" "$gen" module p.m "$out" "$one=$add" "taken=$WORK/none.h"
truncate -s 17M "$WORK/large.h"
say 1 "large.h: larger than 16 MiB" "$gen" module p.m "$out" "$one=$add" "taken=$WORK/large.h"
say 1 "/dev/zero: larger than 16 MiB" "$gen" module p.m "$out" "$one=$add" taken=/dev/zero
printf '/* never ended' >"$WORK/open.h"
check "a comment without its end" "$gen" module p.m "$out" "$one=$add" "taken=$WORK/open.h" "taken=/dev/null"
say 1 "argument 0 of kernel vector_add is" sh -c "
    python3 - '$hsaco/$two/vector_add.hsaco' '$WORK/other.hsaco' <<'END'
import sys
data = open(sys.argv[1], 'rb').read()
at = data.index(b'.offset\0') + 7
assert data.count(b'global_buffer') >= 3
open(sys.argv[2], 'wb').write(data.replace(b'\xadglobal_buffer', b'\xadglobal_bxffer', 1))
END
    '$gen' module p.m '$out' '$one=$add' '$two=$WORK/other.hsaco'"
touch "$WORK/a-file"
say 1 "a-file/gen/m.c.tmp: Not a directory" "$gen" module p.m "$WORK/a-file" "$one=$add"

say 1 "m is given twice" "$gen" pack p "$out" m m
say 1 "m.kernels: No such file" "$gen" pack p "$out" m
say 1 "module name '_m' begins with '_'" "$gen" pack p "$out" m _m
say 1 "m.kernels: No such file" "$gen" header p "$out" m.kernels
echo ' *     k()' >"$WORK/1m.kernels"
say 1 "module name '1m' is no C identifier" "$gen" header p "$out" "$WORK/1m.kernels"
cp "$WORK/1m.kernels" "$WORK/m.kernels"
check "a list without its folder" sh -c "cd '$WORK' && '$gen' header p p.h m.kernels && grep -q kpk_module_p__m p.h"
say 1 "second-names takes OBJECT.o and ALIASES.csv" "$gen" second-names p.m "$out" "$add"
say 1 "none.csv" "$gen" second-names p.m "$out" "$add" "$WORK/none.csv"
echo module,text,alias >"$WORK/aliases.csv"
say 1 "none.o: No such file" "$gen" second-names p.m "$out" "$WORK/none.o" "$WORK/aliases.csv"
say 1 "not a relocatable object" "$gen" second-names p.m "$out" "$add" "$WORK/aliases.csv"
say 1 "not an ELF file" "$gen" second-names p.m "$out" /dev/null "$WORK/aliases.csv"

# ---- kpack-embed ----

say 2 "usage: kpack-embed" "$embed"
say 2 "usage: kpack-embed" "$embed" hex "$out" name "$add"
say 1 "none: No such file" "$embed" incbin "$out" name "$WORK/none"
say 1 "none: No such file" "$embed" incbin "$out" - "$WORK/none"
say 1 "no head of a code object; name the array" "$embed" incbin "$out" - /dev/null
say 1 "no head of a code object; name the array" "$embed" incbin "$out" - "$add"
say 1 "xxd gave 0 bytes of" "$embed" xxd "$out" name "$add"
say 1 "No such file" "$embed" incbin "$WORK/no/such/folder/x.c" name "$add"
long=$(printf '%0250d/' $(seq 17))
say 1 "File name too long" "$embed" incbin "$out/$long" name "$add"
check "a head" "$gen" module p.m "$out" "$one=$add"
head=$WORK/m.head
cp "$out/blob/$one/m.head" "$head"
# Offsets of the names: of pack, module and target, beyond the file or its last
# byte, behind which no NUL is.
damaged_heads() {
    python3 - "$head" "$WORK/damaged" <<'END'
import sys
data = open(sys.argv[1], "rb").read()
n = 0
# A 32-bit field that holds the place of a string.
for at in range(16, 128, 4):
    value = int.from_bytes(data[at:at + 4], "little")
    if 64 <= value < len(data) and data[value - 1:value] == b"\0" and 32 < data[value] < 127:
        for bad in (len(data), 0xffffffff):
            changed = data[:at] + bad.to_bytes(4, "little") + data[at + 4:]
            open(f"{sys.argv[2]}{n}", "wb").write(changed)
            n += 1
assert n >= 6, n
END
}
check "damaged heads" damaged_heads
for file in "$WORK"/damaged*; do
    say 1 "a damaged head" "$embed" incbin "$out" - "$file"
done
python3 -c 'import sys; d = open(sys.argv[1], "rb").read(); open(sys.argv[2], "wb").write(d.rstrip(b"\0")[:-1] + b"x")' \
    "$head" "$WORK/unended"
say 1 "a damaged head" "$embed" incbin "$out" - "$WORK/unended"
check "by its own name" sh -c "'$embed' incbin-large '$WORK/e.c' - '$head' '$add' && grep -q 'lrodata' '$WORK/e.c' &&
    grep -q 'globl kpk_i_p__m_$(echo "$one" | tr -c 'a-z0-9\n' _)' '$WORK/e.c'"
check "hex" sh -c "printf '0aff\n' | '$embed' xxd '$WORK/e.c' two - 2>&1 | grep -q 'No such file' &&
    printf 'ab' >'$WORK/ab' && printf '6162\n' | '$embed' xxd '$WORK/e.c' two '$WORK/ab' && grep -qF '\"\\x61\\x62\"' '$WORK/e.c'"
say 1 "xxd gave 1 bytes of 2" sh -c "printf '616\n' | '$embed' xxd '$out' two '$WORK/ab'"

# ---- kpack-compress ----

mkdir "$WORK/z"
say 2 "usage: kpack-compress" "$pack" p "$WORK/z"
for word in m m/t m=t/f "/t=f"; do
    say 1 "'$word' is not MODULE/TARGET=FILE" "$pack" p "$WORK/z" "$word"
done
say 1 "none: No such file" "$pack" p "$WORK/z" "m/$one=$WORK/none"
say 1 "is for $one, not for gfx" "$pack" p "$WORK/z" "m/gfx=$add"
say 1 "is for $one, not for $(echo "$one" | tr 0-9 1)" "$pack" p "$WORK/z" "m/$(echo "$one" | tr 0-9 1)=$add"
say 1 "No such file" "$pack" p "$WORK/no/such" "m/$one=$add"
say 1 "File name too long" "$pack" p "$WORK/z/$long" "m/$one=$add"
check "nothing is left of all these" test -z "$(find "$WORK/z" -type f)"
check "one code object" "$pack" p "$WORK/z" "m/$one=$add"
check "in two files, and two of an empty dictionary" test "$(find "$WORK/z" -type f | wc -l)" -eq 4
check "several of one module" "$pack" p "$WORK/z" "m/$one=$add" "m/$two=$hsaco/$two/vector_add.hsaco" "a/$one=$affine"

# ---- kpack-report ----

say 2 "usage: kpack-report MODULE FILE" "$report" m
say 1 "none: No such file" "$report" m "$WORK/none"
say 1 "not an ELF file" "$report" m "$WORK/a-file"
printf '.version 7.8\n.target sm_90\n.entry k() { ret; }\n' >"$WORK/k.ptx"
say 1 "k.ptx: is for compute_90, not for AMDGPU" "$report" m "$WORK/k.ptx"
say 1 "cannot write to standard output: No space left" sh -c "'$report' m '$add' >/dev/full"
# A kernel whose symbol is nowhere, or lies beyond its section, has no code; one
# that LLVM does not know is stepped over.
for change in "nowhere" "beyond" "unknown" "outside"; do
    python3 - "$add" "$WORK/changed" $change <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
shoff, shnum = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
sections = [list(struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i)) for i in range(shnum)]
for s in sections:
    if s[1] != 11: # SHT_DYNSYM
        continue
    for at in range(s[4], s[4] + s[5], 24):
        if data[at + 4] & 15 != 2: # STT_FUNC
            continue
        section = struct.unpack_from("<H", data, at + 6)[0]
        value, = struct.unpack_from("<Q", data, at + 8)
        code = sections[section]
        if sys.argv[3] == "nowhere":
            struct.pack_into("<H", data, at + 6, 0xfff1)
        elif sys.argv[3] == "beyond":
            struct.pack_into("<Q", data, at + 16, 1 << 40)
        elif sys.argv[3] == "outside":
            struct.pack_into("<Q", data, at + 8, code[3] - 4)
        else:
            struct.pack_into("<II", data, code[4] + value - code[3], 0xffffffff, 0xffffffff)
open(sys.argv[2], "wb").write(data)
END
    check "a kernel's code: $change" sh -c "'$report' 'm<' '$WORK/changed' | python3 -c '
import json, sys
report = json.load(sys.stdin)
k, = report[\"kernels\"]
sys.exit(report[\"module\"] != \"m<\" or (k[1] == 0) != (\"$change\" != \"unknown\") or (sum(k[13]) == 0) != (k[1] == 0))'"
done

# ---- trees: places and names ----

tree=$WORK/tree
import() { # status words
    rm -rf "$out"
    say "$1" "$2" "$gen" import p "$out" "$tree"
}
fresh() { rm -rf "$tree"; mkdir -p "$tree"; }
fresh
deep=$tree/$(printf 'd%s/' $(seq 33))
mkdir -p "$deep"
import 1 ": too deep a folder"
fresh
ln -s nowhere "$tree/gone.co"
import 1 "gone.co: No such file"
fresh
cp "$add" "$tree/m.co"
mkfifo "$tree/pipe"
mkdir "$WORK/elsewhere"
cp "$add" "$WORK/elsewhere/never.co"
ln -s "$WORK/elsewhere" "$tree/linked"
cp "$add" "$tree/.hidden.co"
check "pipes, links to folders and hidden files are passed over" "$gen" import p "$out" "$tree"
check "one code object is left" grep -qF "code objects: 1, modules: 1, tables: 0" "$out/p.h"
for name in "$(printf 'a\tb')" 'é' 'a b'; do
    fresh
    cp "$add" "$tree/$name.co"
    import 1 "rename it: a module's name is of printable ASCII"
done
fresh
name=$(printf '%0200d/' $(seq 6))
mkdir -p "$tree/$name"
cp "$add" "$tree/$name/x.co"
import 1 "rename it"

# Files that are not imported.
fresh
printf '\177ELF' >"$tree/short.co"
import 1 "short.co: not an ELF file"
fresh
truncate -s 3G "$tree/large.co"
rm -rf "$out"
# shellcheck disable=SC3045 # dash and bash have it
little_memory() { (ulimit -v 500000 && exec "$@"); }
# The file is refused by its size, before any reading.
say 1 "large.co: larger than 2048 MiB" little_memory "$gen" import p "$out" "$tree"
fresh
printf '\120\355\125\272 and more' >"$tree/cuda.bin"
import 1 "cuda.bin: NVIDIA's fat binary"
fresh
objcopy --add-section .nv_fatbin="$tree/../a-file" "$H/obj/src/select_object.o" "$tree/cuda.o"
import 1 "cuda.o: .nv_fatbin: NVIDIA's fat binary"
fresh
head -c 4096 /dev/zero >"$WORK/zeros"
objcopy --add-section .hip_fatbin="$WORK/zeros" "$H/obj/src/select_object.o" "$tree/zeros.o"
import 1 "zeros.o: .hip_fatbin: no bundle in it"
fresh
head -c 300 "$H/obj/src/select_object.o" >"$tree/cut.o"
import 1 "cut.o: an ELF file, but neither an AMDGPU code object nor"
# its section of names has a number that stands in a section it does not have
python3 -c 'import sys; d = bytearray(open(sys.argv[1], "rb").read()); d[40:48] = bytes(8); d[60:64] = b"\0\0\xff\xff"
open(sys.argv[2], "wb").write(d)' "$H/obj/src/select_object.o" "$tree/cut.o"
import 1 "cut.o: a damaged ELF file of the host"
fresh
python3 - "$H/obj/src/select_object.o" "$tree/cut.so" <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
shoff = struct.unpack_from("<Q", data, 40)[0]
# its section of names is called .hip_fatbin there, and ends beyond the file
names = shoff + 64 * struct.unpack_from("<H", data, 62)[0]
at, size = struct.unpack_from("<QQ", data, names + 24)
text = data[at:at + size]
data += text + b".hip_fatbin\0"
struct.pack_into("<QQ", data, names + 24, len(data) - size - 12, size + 12)
struct.pack_into("<I", data, shoff + 64, size)
struct.pack_into("<I", data, shoff + 64 + 4, 1)
struct.pack_into("<QQ", data, shoff + 64 + 24, len(data), 4096)
open(sys.argv[2], "wb").write(data)
END
import 1 "cut.so: truncated: .hip_fatbin lies outside the file"

# ---- labels: what a folder's name says of the target ----

# The features of an object are two bits each of its e_flags.
featured() { # out xnack sramecc: 1 any, 2 off, 3 on
    python3 - "$add" "$@" <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
flags = struct.unpack_from("<I", data, 48)[0] & ~0xf00
struct.pack_into("<I", data, 48, flags | int(sys.argv[3]) << 8 | int(sys.argv[4]) << 10)
open(sys.argv[2], "wb").write(data)
END
}
nine=$(cd "$hsaco" && printf '%s\n' gfx9*/vector_add.hsaco | grep -e gfx90a -e gfx942 | head -n 1 | cut -d/ -f1)
if [ -n "$nine" ]; then
    add=$hsaco/$nine/vector_add.hsaco
    fresh
    mkdir -p "$tree/$nine/a" "$tree/$nine:sramecc+/b"
    featured "$tree/$nine/a/on.co" 3 1
    featured "$tree/$nine:sramecc+/b/on.co" 1 3
    printf 'kernel,co_name,target,n\n*,on.co,%s,1\n' "$nine" >"$tree/$nine/a/t.csv"
    check "a label may leave features out" "$gen" import p "$out" "$tree"
    featured "$tree/$nine:sramecc+/b/on.co" 3 3
    import 1 "is for $nine:sramecc+:xnack+, but labelled $nine:sramecc+"
    featured "$tree/$nine:sramecc+/b/on.co" 1 2
    import 1 "is for $nine:sramecc-, but labelled $nine:sramecc+"
    add=$hsaco/$one/vector_add.hsaco
fi
ptx='.version 7.8
.target sm_90
.visible .entry scale(.param .u64 x) { ret; }'
fresh
mkdir -p "$tree/sm_90/k"
echo "$ptx" >"$tree/sm_90/k/s.ptx"
import 1 "is for compute_90, but labelled sm_90"
# Arguments are read from AMD's file first: it describes more of a kernel.
fresh
mkdir -p "$tree/compute_90/k" "$tree/$one/k"
printf '%s\n' "$ptx" | sed 's/scale.*/vector_add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) { ret; }/' \
    >"$tree/compute_90/k/s.ptx"
cp "$add" "$tree/$one/k/s.co"
check "code for both" "$gen" import p "$out" "$tree"
check "is one module with pointers" grep -rq KPK_ARG_GLOBAL_BUFFER "$out"

# ---- tables of a tree ----

tables() { # name text name text: two files of one table, for each target
    fresh
    for t in "$one" "$two"; do
        mkdir -p "$tree/$t/k"
        cp "$hsaco/$t/vector_add.hsaco" "$tree/$t/k/x.co"
        printf '%b' "$1" >"$tree/$t/k/t.csv"
        shift
    done
}
tables 'kernel,co_name,n\n*,x.co,1\n' 'kernel,co_name,n\n*,x.co,one\n'
import 1 "column n holds text, but numbers in the table's other files"
tables 'kernel,co_name,n\n*,x.co,one\n' 'kernel,co_name,n\n*,x.co,1\n'
import 1 "column n holds numbers, but text in the table's other files"
tables 'kernel,co_name,n,m\n*,x.co,1,\n' 'kernel,co_name,n,m\n*,x.co,1.5,7\n'
check "integers and floats are floats" "$gen" import p "$out" "$tree"
check "the column's type says so" sh -c "test \$(cat '$out'/kind.*.c | grep -c 'KPK_CELL_FLOAT}') -eq 1"
tables 'kernel,co_name,n\n*,x.co,1.5\n' 'kernel,co_name,n\n*,x.co,\n'
check "an empty cell goes with any type" "$gen" import p "$out" "$tree"
tables 'kernel,target\n*,gfx1\n' 'kernel\n*\n'
import 1 "t.csv:2: no such processor: gfx1"
tables "kernel,target\n*,$two\n" 'kernel\n*\n'
import 1 "t.csv:2: target $two in a folder of $one"
tables "kernel,target\n*,$one\n" "kernel,target\n*,$two\n"
check "targets of their folders" "$gen" import p "$out" "$tree"
tables 'kernel\nnobody\n' 'kernel\n*\n'
import 1 "no kernel nobody in the code objects beside the table"
fresh
mkdir -p "$tree/k/below"
cp "$add" "$tree/k/below/x.co"
printf 'knl_name,co_name,folder\nvector_add,x.co,1\n' >"$tree/k/t.csv"
import 1 "has a column 'folder', the name that the column of found folders has"
# A table's folder does not own folders beside it, whether sorted before or
# after it.
fresh
for folder in j k kk l; do
    mkdir -p "$tree/$folder"
    cp "$add" "$tree/$folder/$folder.co"
done
printf 'kernel,n\n*,1\n' >"$tree/k/t.csv"
check "a table is about its folder" "$gen" import p "$out" "$tree"
check "it has one row" sh -c "test \$(cat '$out'/kind.k.c | grep -c '{.i = 1}') -eq 1"
finish
