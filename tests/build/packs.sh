#!/bin/sh
# packs.sh - packs in other people's files: found, checked, taken out, changed
#
# Two modules for two targets, stored plainly and compressed, embedded in both
# ways; programs that link them in every way; damaged and hostile copies.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
kpack=$ROOT/$H/kpack
case $H in /*) kpack=$H/kpack ;; esac
tree=$WORK/tree
targets="gfx1200 gfx1201"

# One kernel compressed against its twin, and one kernel alone.
copy_tree "$tree" "$ROOT/kernels/fill.hip" "$ROOT/kernels/vector_add.hip"
make_pack() { # name settings...
    name=$1
    shift
    plain_make -s -C "$tree" -j2 lib B="build" SAN= ARCHS="$targets" "$@" &&
        cp "$tree/build/libkpack.a" "$WORK/$name.a"
}
check "a plain pack" make_pack plain
check "the same by .incbin" make_pack incbin EMBED=incbin
check "a compressed pack" make_pack zstd COMPRESS=zstd
check "the same by .incbin" make_pack zstd-incbin COMPRESS=zstd EMBED=incbin
refuse "an unknown COMPRESS" "COMPRESS=gzip: none or zstd" \
    make_pack bad COMPRESS=gzip
refuse "an unknown EMBED" "EMBED=base64: xxd or incbin" make_pack bad EMBED=base64

# ---- bytes, sections and relocations ----

data_of() { # archive: the bytes of its code objects
    mkdir -p "$WORK/members" && rm -f "$WORK/members/"* &&
        (cd "$WORK/members" && ar x "$1") &&
        for o in "$WORK"/members/pack.*.gfx*.o; do
            objcopy -O binary -j .rodata -j .lrodata "$o" "$o.bin" &&
                cat "$o.bin"
        done
}
same_data() {
    data_of "$1" >"$WORK/first.bin" && data_of "$2" >"$WORK/second.bin" &&
        [ -s "$WORK/first.bin" ] && cmp "$WORK/first.bin" "$WORK/second.bin"
}
check "xxd and incbin give the same bytes" same_data "$WORK/plain.a" "$WORK/incbin.a"
check "compressed too" same_data "$WORK/zstd.a" "$WORK/zstd-incbin.a"
relocations() { # archive member
    ar p "$1" "$2" >"$WORK/r.o" && readelf -rW "$WORK/r.o" |
        awk '$3 ~ /^R_/ && $3 !~ /PC32|PLT/ { print $3 }'
}
no_more_for_more_kernels() {
    few=$(relocations "$1" pack.vector_add.o | wc -l)
    many=$(relocations "$1" pack.fill.o | wc -l)
    kernels=$(nm "$tree/build/obj/pack/pack.fill.o" | wc -l)
    echo "vector_add $few, fill $many"
    # fill has a configuration table as well: a handful, whatever it holds.
    [ "$kernels" -gt 0 ] && [ "$many" -le $((few + 8)) ] && [ "$few" -le 16 ]
}
check "a module's relocations do not grow with its kernels" \
    no_more_for_more_kernels "$WORK/plain.a"
only_64_bits() {
    for m in pack.o pack.fill.o pack.vector_add.o; do
        ! relocations "$1" "$m" | grep -vE 'R_(X86_64_64|AARCH64_ABS64)$' || return 1
    done
}
check "what points to code objects reaches any distance" only_64_bits "$WORK/plain.a"
if [ "$(uname -m)" = x86_64 ]; then
    # shellcheck disable=SC2016 # awk's own
    check "code objects are large data" sh -c \
        "readelf -SW '$WORK/plain.a' | awk '/lrodata/ && /Al/ { n++ } END { exit n != 4 }'"
fi
no_library() { ! nm -u "$1" | grep -q ZSTD_; }
check "a plain pack asks for no library" no_library "$WORK/plain.a"

# ---- programs ----

cat >"$WORK/app.c" <<'END'
#include <kpack.h>
#include <stdio.h>
#include <string.h>
extern const kpk_pack kpk_candle;
/* argv: device target ID. Prints what it would run and a sum of its bytes. */
int main(int argc, char **argv)
{
    for (size_t i = 0; i < kpk_pack_module_count(&kpk_candle); i++) {
        const kpk_module *m = kpk_pack_module(&kpk_candle, i);
        kpk_selection s;
        kpk_object o;
        unsigned long sum = 5381;
        if (kpk_select(m, argc > 1 ? argv[1] : "gfx1201", &s) ||
            kpk_module_object(m, s.object, &o))
            return fprintf(stderr, "%s\n", kpk_error_message()), 1;
        for (size_t k = 0; k < o.nbytes; k++)
            sum = sum * 33 + ((const unsigned char *)o.data)[k];
        printf("%s %s %lu\n", kpk_module_name(m), s.target, sum);
    }
    return 0;
}
END
link_app() { # archive output flags...
    archive=$1 output=$2
    shift 2
    # shellcheck disable=SC2086 # flags are words
    $CC -Iinclude ${SAN:+-fsanitize=$SAN} "$@" "$WORK/app.c" "$archive" \
        -pthread -ldl -lzstd -o "$output"
}
check "a position-independent program" link_app "$WORK/plain.a" "$WORK/pie" -fPIE -pie
check "a program at a fixed place" link_app "$WORK/plain.a" "$WORK/fixed" -fno-pie -no-pie
check "a compressed program" link_app "$WORK/zstd.a" "$WORK/small"
check "a shared object" link_app "$WORK/plain.a" "$WORK/lib.so" -fPIC -shared -Dmain=run
check "a stripped one" sh -c "strip -s -o '$WORK/stripped' '$WORK/small'"
whole() { # file: verify agrees
    "$kpack" verify "$1" >"$WORK/verify" && cat "$WORK/verify" &&
        grep -qx '  SHA-256: 4 right, 0 damaged' "$WORK/verify" &&
        grep -qx '  runs on: gfx1200 gfx1201' "$WORK/verify" &&
        grep -q '^  2 modules, 4 code objects' "$WORK/verify"
}
extracts() { # file: every code object is the compiler's
    rm -rf "$WORK/out"
    "$kpack" extract "$1" --all -o "$WORK/out" || return 1
    for t in $targets; do
        for m in fill vector_add; do
            cmp "$WORK/out/$m-$t.hsaco" "$tree/build/hsaco/$t/$m.hsaco" || return 1
        done
    done
}
json_agrees() { # file
    "$kpack" verify --json "$1" | python3 -c '
import json, sys
pack, = json.load(sys.stdin)["packs"]
assert pack["name"] == "candle" and len(pack["objects"]) == 4
assert pack["runs_on"] == ["gfx1200", "gfx1201"] and pack["damaged"] == 0
assert all(o["whole"] and len(o["sha256"]) == 64 for o in pack["objects"])'
}
for f in plain.a zstd.a pie fixed small lib.so stripped; do
    check "verify $f" whole "$WORK/$f"
    check "extract $f" extracts "$WORK/$f"
    check "verify --json $f" json_agrees "$WORK/$f"
done
lists() { "$kpack" list "$1" | awk 'NR > 1 && $1 == "candle" { n++ } END { exit n != 4 }'; }
check "list" lists "$WORK/stripped"
check "extract one" sh -c "'$kpack' extract '$WORK/stripped' fill gfx1200 -o - |
    cmp - '$tree/build/hsaco/gfx1200/fill.hsaco'"
refuse "extract what is not there" 'no module "fill" for exactly "gfx90a"' \
    "$kpack" extract "$WORK/pie" fill gfx90a -o "$WORK/x"
refuse "a file without a pack" "holds no pack" "$kpack" verify /bin/sh
refuse "no file" "No such file" "$kpack" verify "$WORK/none"
refuse "a folder" "cannot read" "$kpack" verify "$WORK"
compressed() { [ "$(wc -c <"$WORK/zstd.a")" -lt "$(wc -c <"$WORK/plain.a")" ]; }
check "compression makes it smaller" compressed
same_answers() { # program program
    for t in $targets; do
        "$1" "$t" >"$WORK/first.txt" && "$2" "$t" >"$WORK/second.txt" &&
            cmp "$WORK/first.txt" "$WORK/second.txt" || return 1
    done
}
check "a compressed program has the same code objects" same_answers "$WORK/pie" "$WORK/small"

# ---- damage ----

flip() { # file output: one byte in the last code object
    python3 - "$1" "$2" <<'END'
import sys
b = bytearray(open(sys.argv[1], "rb").read())
at = b.rindex(b"KPACK BLOB") + 400
b[at] ^= 1
open(sys.argv[2], "wb").write(b)
END
}
for f in plain.a small; do
    check "flip a byte of $f" flip "$WORK/$f" "$WORK/flipped"
    refuse "verify sees it" "DAMAGED: module" "$kpack" verify "$WORK/flipped"
done
check "flip a byte of a program" flip "$WORK/small" "$WORK/flipped"
chmod +x "$WORK/flipped"
runs_or_says() {
    "$WORK/flipped" gfx1200 >/dev/null 2>"$WORK/says" && "$WORK/flipped" gfx1201 2>"$WORK/says" && return 1
    grep "The program file is damaged" "$WORK/says"
}
check "the program says so too" runs_or_says
head -c $(($(wc -c <"$WORK/plain.a") - 3000)) "$WORK/plain.a" >"$WORK/cut.a"
refuse "a file that is cut short" "the file ends before it does" "$kpack" verify "$WORK/cut.a"
refuse "prune of it" "is cut short" "$kpack" prune "$WORK/cut.a" --keep gfx1200 -o "$WORK/x.a"

# Changed at random, heads above all: an answer or a sentence, never a crash.
hostile() { # file command...
    file=$1
    shift
    python3 - "$file" "$WORK/hostile" "$kpack" "$@" <<'END'
import random, resource, subprocess, sys
def limit():  # seconds of the processor, so that a busy machine does not matter
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
source, out, kpack, words = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
good = open(source, "rb").read()
heads = []
at = good.find(b"KPACK BLOB")
while at >= 0:
    heads.append(at)
    at = good.find(b"KPACK BLOB", at + 1)
rng = random.Random(7)
edges = [0, 1, 63, 64, 0x7fffffff, 0x80000000, 0xffffffff, len(good)]
for round in range(60):
    bad = bytearray(good)
    for _ in range(rng.choice([1, 1, 2, 8])):
        where = rng.random()
        if where < 0.7:
            i = rng.choice(heads) + 16 + 4 * rng.randrange(32)
            bad[i:i + 4] = rng.choice(edges).to_bytes(4, "little")
        elif where < 0.85:
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        else:
            i = rng.randrange(min(3000, len(bad)))
            bad[i] = rng.randrange(256)
    if rng.random() < 0.1:
        del bad[rng.randrange(len(bad)):]
    open(out, "wb").write(bad)
    run = subprocess.run([kpack, words[0], out, *words[1:]], preexec_fn=limit,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode not in (0, 1) or b"Sanitizer" in run.stdout:
        sys.exit(f"round {round}: status {run.returncode}\n{run.stdout.decode(errors='replace')}")
END
}
for f in plain.a zstd.a; do
    check "verify of hostile copies of $f" hostile "$WORK/$f" verify
    check "prune of hostile copies of $f" hostile "$WORK/$f" prune --keep gfx1200 -o "$WORK/x.a"
done
check "list of hostile programs" hostile "$WORK/small" list
check "extract of hostile programs" hostile "$WORK/small" extract --all -o "$WORK/out"

# A program whose heads of code objects are altered must use its own code objects
# or report an error.
altered_heads() { # program
    python3 - "$1" "$WORK/hostile" <<'END'
import os, random, subprocess, sys
source, out = sys.argv[1:]
good = open(source, "rb").read()
heads = []
at = good.find(b"KPACK BLOB")
while at >= 0:
    heads.append(at)
    at = good.find(b"KPACK BLOB", at + 1)
rng = random.Random(11)
edges = [0, 1, 64, 0x1000, 0x7fffffff, 0x80000000, 0xffffffff]
targets = ("gfx1200", "gfx1201")
answers = [subprocess.run([source, t], stdout=subprocess.PIPE).stdout for t in targets]
ndamaged = 0
for round in range(120):
    bad = bytearray(good)
    i = rng.choice(heads) + 16 + 4 * rng.randrange(28)
    if round % 2:
        bad[i + rng.randrange(4)] ^= 1 << rng.randrange(8)
    else:
        bad[i:i + 4] = rng.choice(edges).to_bytes(4, "little")
    open(out, "wb").write(bad)
    os.chmod(out, 0o755)
    for target, answer in zip(targets, answers):
        run = subprocess.run([out, target], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # A size of 0 reads as a removed code object, as after `kpack prune`.
        damaged = run.returncode == 1 and (b"The program file is damaged" in run.stderr or
                                           b"no code object of module" in run.stderr)
        ndamaged += damaged
        if not damaged and (run.returncode or run.stdout != answer):
            sys.exit(f"round {round}: status {run.returncode}\n{run.stderr.decode(errors='replace')}")
sys.exit(ndamaged < 20)
END
}
check "a compressed program with altered heads" altered_heads "$WORK/small"

# ---- plug-ins ----

# Opened and closed again and again, a plug-in gives back what it decompressed.
cat >"$WORK/host.c" <<'END'
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    size_t first = 0, last = 0;
    for (int i = 0; i < 40; i++) {
        void *plug = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        int (*run)(int, char **) = plug ? (int (*)(int, char **))dlsym(plug, "run") : NULL;
        struct mallinfo2 now;
        if (!run || run(argc - 1, argv + 1) || dlclose(plug))
            return fprintf(stderr, "%s\n", dlerror()), 1;
        now = mallinfo2();
        last = now.uordblks + now.hblkhd;
        if (i == 9)
            first = last;
    }
    fprintf(stderr, "%zu bytes after 10 times, %zu after 40\n", first, last);
    return last > first + 4096;
}
END
check "a compressed plug-in" link_app "$WORK/zstd.a" "$WORK/plug.so" -fPIC -shared -Dmain=run
# shellcheck disable=SC2086 # flags are words
check "its host" $CC ${SAN:+-fsanitize=$SAN} "$WORK/host.c" -ldl -lzstd -o "$WORK/host"
check "it leaves nothing behind" sh -c "'$WORK/host' '$WORK/plug.so' gfx1200 >/dev/null"

# Thousands of code objects that each refer to all others, or that all have one
# name and other content: time grows with their number's square at most.
many() { # content status text command...
    python3 - "$WORK/many" "$kpack" "$@" <<'END'
import hashlib, resource, struct, subprocess, sys
out, kpack, kind, status, text, words = *sys.argv[1:6], sys.argv[6:]
with open(out, "wb") as f:
    for i in range(4000):
        content = b"%8d" % i
        names = b"p\0m\0gfx942\0"
        digests = b"\1" * 64 if kind == "referring" else hashlib.sha256(content).digest() + bytes(32)
        head = b"KPACK BLOB\xf3\r\n\x1a\n\0" + struct.pack("<IIQQII", 1, 192, 8, 8, kind == "referring", 0)
        head += digests + struct.pack("<IIII", 5, 144, 146, 148)
        f.write((head.ljust(144, b"\0") + names).ljust(192, b"\0") + content)
run = subprocess.run([kpack, words[0], out, *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)))
sys.exit(run.returncode != int(status) or text.encode() not in run.stdout)
END
}
check "verify of code objects that refer to each other" many referring 1 "SHA-256: 0 right, 4000 damaged" verify
check "extract of code objects of one name" many alike 0 "many/m-gfx942.4000.hsaco" extract --all -o "$WORK/out/many"
check "all of them" test "$(cat "$WORK"/out/many/*.hsaco 2>/dev/null | tr -s ' ' '\n' | sort -u | grep -c .)" -eq 4000

# ---- prune ----

for f in plain zstd; do
    for t in $targets; do
        check "prune $f.a" "$kpack" prune "$WORK/$f.a" --keep "$t" -o "$WORK/pruned.a"
        # A compressed twin is a few bytes, or becomes what is left.
        [ $f = zstd ] || check "it is smaller" test \
            "$(wc -c <"$WORK/pruned.a")" -lt $(($(wc -c <"$WORK/$f.a") - 50000))
        # shellcheck disable=SC2016 # sh's own
        check "verify finds $t alone" sh -c "'$kpack' verify '$WORK/pruned.a' |
            grep -x '  runs on: $t'"
        check "its index is right" sh -c "nm -s '$WORK/pruned.a' | grep -q 'kpk_candle in pack.o'"
        check "it links" link_app "$WORK/pruned.a" "$WORK/pruned"
        check "and has $t as it was" sh -c "'$WORK/pruned' $t >'$WORK/p' &&
            '$WORK/pie' $t | cmp - '$WORK/p'"
        other=$(echo "$targets" | sed "s/ *$t *//")
        refuse "and nothing for the other" "It holds: $t" "$WORK/pruned" "$other"
    done
done
cp "$WORK/plain.a" "$WORK/in-place.a"
check "prune in place" "$kpack" prune "$WORK/in-place.a" --keep gfx1200
check "in place it is the same" sh -c "'$kpack' prune '$WORK/plain.a' --keep gfx1200 -o - |
    cmp - '$WORK/in-place.a'"
check "prune that takes nothing changes nothing" sh -c \
    "'$kpack' prune '$WORK/plain.a' --keep gfx1200,gfx1201 -o - | cmp - '$WORK/plain.a'"
# A command that carries such an archive.
carry_pruned() {
    make_pack carried && "$kpack" prune "$tree/build/libkpack.a" --keep gfx1200 &&
        plain_make -s -C "$tree" -j2 build/kpack B=build SAN= ARCHS="$targets"
}
check "a command with a pruned pack" carry_pruned
refuse "extract of what is not in it" "It holds: gfx1200." \
    "$tree/build/kpack" extract fill gfx1201 -o "$WORK/none.hsaco"
check "no file is made" [ ! -e "$WORK/none.hsaco" ]
check "list does not name it" sh -c "'$tree/build/kpack' list | grep 'gfx1200$' &&
    ! '$tree/build/kpack' list | grep gfx1201 && ! '$tree/build/kpack' list --json | grep gfx1201"
check "extract of what is" "$tree/build/kpack" extract fill gfx1200 -o "$WORK/some.hsaco"
check "has its bytes" cmp "$WORK/some.hsaco" "$tree/build/hsaco/gfx1200/fill.hsaco"
check "it is exported alone" sh -c "'$tree/build/kpack' extract --kpack '$WORK/exported' &&
    ls '$WORK/exported' | grep gfx1200.kpack && ! ls '$WORK/exported' | grep gfx1201"
refuse "prune of a program" "prune the lib*.a" "$kpack" prune "$WORK/pie" --keep gfx1200
refuse "prune to nothing" "nothing for --keep gfx942" "$kpack" prune "$WORK/plain.a" --keep gfx942
refuse "prune without --keep" "prune needs --keep" "$kpack" prune "$WORK/plain.a"

# ---- on a device: the README's program ----

if [ -n "${KPK_SIM_DEVICES-}" ]; then
    awk '/^```c$/ { take = !seen; seen = 1; next } /^```$/ { take = 0 } take' \
        README.md >"$WORK/app.c"
    "$kpack" prune "$WORK/zstd.a" --keep gfx1201 -o "$WORK/one.a" 2>/dev/null
    for f in plain zstd incbin one; do
        check "the README's program with $f.a" link_app "$WORK/$f.a" \
            "$WORK/readme" -I"$tree/build/include"
        for t in $targets; do
            [ "$f $t" != "one gfx1200" ] || continue
            check "$f.a runs on $t" sh -c \
                "KPK_SIM_DEVICES=$t '$WORK/readme' | grep -x 'c\[999\] = 999.5'"
        done
    done
    refuse "what was taken out is not run" "It holds: gfx1201" \
        env KPK_SIM_DEVICES=gfx1200 "$WORK/readme"
fi

# ---- the environment ----

# Among functions that could bring bytes in from outside, the library uses only
# the calls that find HIP, the CUDA driver, RCCL and NCCL.
no_other_door() {
    ar t "$WORK/plain.a" | grep -v '^pack' | while read -r member; do
        ar p "$WORK/plain.a" "$member" >"$WORK/m.o"
        nm -u "$WORK/m.o" | awk '{ print $2 }' |
            grep -E '^(open|open64|openat|fopen|fopen64|read|pread|mmap|mmap64|getenv|secure_getenv|dlopen|opendir|scandir|scandir64|popen|system|exec.*|socket)$' |
            sed "s/^/$member /"
    done | sort >"$WORK/doors"
    cat "$WORK/doors"
    printf '%s\n' 'os_posix.o dlopen' 'os_posix.o scandir' 'os_posix.o secure_getenv' | cmp - "$WORK/doors"
}
check "the library opens no file but the drivers' and the collectives', and reads four variables" no_other_door
check "those variables" sh -c \
    "[ \"\$(grep -hoE 'getenv\(\"[A-Z_]*\"\)' src/*.c | sort -u | tr -d '\n')\" = 'getenv(\"KPK_CUDA_LIBRARY\")getenv(\"KPK_HIP_LIBRARY\")getenv(\"KPK_NCCL_LIBRARY\")getenv(\"KPK_RCCL_LIBRARY\")' ]"
same_in_a_hostile_environment() {
    mkdir -p "$WORK/evil/gfx1201" "$WORK/evil/kpack"
    for name in vector_add.hsaco fill.hsaco gfx1201/vector_add.hsaco \
        candle.kpack kpack/candle.kpack .kpack; do
        echo evil >"$WORK/evil/$name"
    done
    "$WORK/pie" gfx1201 >"$WORK/calm" || return 1
    (cd "$WORK/evil" && env KPK_PACK="$WORK/evil" KPK_PATH="$WORK/evil" \
        KPK_MODULE_PATH="$WORK/evil" KPK_CODE_OBJECT="$WORK/evil/fill.hsaco" \
        KPACK_PATH="$WORK/evil" ROCM_KPACK_PATH="$WORK/evil/candle.kpack" \
        HIP_PATH="$WORK/evil" ROCM_PATH="$WORK/evil" HOME="$WORK/evil" \
        XDG_CACHE_HOME="$WORK/evil" TMPDIR="$WORK/evil" \
        "$WORK/pie" gfx1201) | cmp - "$WORK/calm"
}
check "nothing around a program replaces a code object" same_in_a_hostile_environment
finish
