#!/bin/sh
# faults.sh - each allocation, and each call about a file, fails in turn: of the
# generator, of what embeds and compresses, and of the kpack command
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
export WORK
out=$WORK/out

# If a sanitizer replaces the allocator, the failing functions are linked into the
# programs, so that the sanitizer checks the paths after a failure.
FUNCTIONS="malloc calloc realloc fopen fclose fread fwrite fputs fputc fgetc fgets getline fseek vfprintf
    fflush stat lstat fstat mkdir opendir readdir rename putc putchar puts fprintf printf"
compile() { # the compiler's words
    # shellcheck disable=SC2086 # as may be those of CC
    $CC "$@"
}
linked() { # program object...
    program=$WORK/$1
    shift
    # shellcheck disable=SC2046,SC2086 # words
    $CC ${SAN:+-fsanitize=$SAN} -pthread $(printf -- '-Wl,--wrap=%s ' $FUNCTIONS) -o "$program" "$@" \
        -lelf -lmsgpackc -lcjson -lzstd -lz -ldl
}
objects() { # folder...: objects of their sources, in the folder $from
    find "$@" -maxdepth 1 -name '*.c' ! -name '*_windows.c' | sed "s,\(.*\)\.c$,$from/\1.o,"
}
reads="gen/util gen/read gen/pack gen/write src/base"
gen=$(realpath "$B/kpack-gen") embed=$B/kpack-embed kpack=$H/kpack from=$B/tool
check "faults.c, to link with" compile -fno-builtin -DLINKED -c -o "$WORK/faults.o" tests/build/faults.c
if [ -n "${SAN-}" ]; then
    from=$H/obj
    # shellcheck disable=SC2046,SC2086 # words
    check "the generator with it" linked kpack-gen "$WORK/faults.o" $(objects gen $reads)
    # shellcheck disable=SC2046 # words
    check "the command with it" linked kpack "$WORK/faults.o" $(objects src/cmd src/base) "$H/libkpack.a"
    gen=$WORK/kpack-gen kpack=$WORK/kpack embed=''
else
    # libzstd itself does not survive all that may fail.
    # shellcheck disable=SC2046,SC2086 # words
    check "what compresses with it" linked kpack-compress "$WORK/faults.o" $(objects gen/compress $reads)
    check "faults.c, to preload" compile -O1 -fno-builtin -shared -fPIC -o "$WORK/faults.so" tests/build/faults.c -ldl
    export PRELOAD="$WORK/faults.so"
fi

in_turn() { # text status,... output command...
    text=$1
    shift
    for kind in memory files; do
        check "$text: $kind" tests/build/in_turn.py $kind "$@"
    done
}

# ---- the generator ----

# Two targets that the build has, and all that a module can be made of.
# shellcheck disable=SC2046 # names without blanks
set -- $(cd "$B/hsaco" && printf '%s\n' gfx*/affine.hsaco | cut -d/ -f1 | head -n 2)
one=$1 two=$2
printf 'kernel,target,block\naffine_f32,%s,256\naffine_f32,,128\n' "$one" >"$WORK/affine.csv"
printf 'module,text,alias\naffine,f32,float\n' >"$WORK/aliases.csv"
in_turn "module" 1 "$out" "$gen" module p.affine "$out" "$one=$B/hsaco/$one/affine.hsaco" \
    "$two=$B/hsaco/$two/affine.hsaco" "table=$WORK/affine.csv"
"$B/kpack-gen" module p.affine "$WORK" "$one=$B/hsaco/$one/affine.hsaco"
"$B/kpack-gen" module p.vector_add "$WORK" "$one=$B/hsaco/$one/vector_add.hsaco"
# A module with a source: its signatures and comments go into a header. kpack-gen
# is called as the build calls it.
copy_tree "$WORK/source"
cat >"$WORK/source/kernels/pair.hip" <<'END'
#include <hip/hip_runtime.h>
struct Inner { float x; int a[3]; };
struct Pair { Inner in; double scale; };
/* Scales x.
 *   p  by what */
extern "C" __global__ void scale(float *x, const Pair p, unsigned n) { x[0] = p.in.x * n; }
// Adds.
template <typename T> __global__ void add(T *x, T by) { x[0] += by; }
template __global__ void add<float>(float *, float);
END
cat >"$WORK/keep" <<END
#!/bin/sh
for word in "\$@"; do case \$word in ir=*) cp "\${word#ir=}" '$WORK/pair.ll' ;; esac; done
exec '$(realpath "$B/kpack-gen")' "\$@"
END
chmod +x "$WORK/keep"
check "a module with a source" plain_make -C "$WORK/source" build/gen/pair.made ARCHS="$one" KPACK_GEN="$WORK/keep"
printf 'type,host,header\nfloat,float,\n' >"$WORK/types.csv"
printf 'module,text,alias\n*,scale,rescale\n' >"$WORK/pair-aliases.csv"
IN_FOLDER=$WORK/source in_turn "module with a source" 1 "$out" "$gen" module p.pair "$out" \
    "$one=$WORK/source/build/hsaco/$one/pair.hsaco" "ir=$WORK/pair.ll" "types=$WORK/types.csv" \
    "taken=$WORK/source/include/kpack.h"
in_turn "second names" 1 "$out" "$gen" second-names p.pair "$out" \
    "$WORK/source/build/code/$one/pair.o" "$WORK/pair-aliases.csv"
in_turn "header" 1 "$out" "$gen" header p "$out" "$WORK/gen/affine.kernels" "$WORK/gen/vector_add.kernels"
mkdir "$WORK/tree"
cp "$B/hsaco/$one/affine.hsaco" "$WORK/tree/affine_$one.co"
cp "$B/hsaco/$two/affine.hsaco" "$WORK/tree/affine_$two.co"
printf 'kernel,co,block\naffine_f32,affine_%s.co,256\n' "$one" >"$WORK/tree/affine.csv"
# An import's memory lives as long as the command: no leak.
# shellcheck disable=SC2086 # words
in_turn "import" 1 "$out" ${SAN:+env ASAN_OPTIONS=detect_leaks=0} "$gen" import p "$out" "$WORK/tree"
# An archive of AMD's, and a library whose code is in it.
mkdir -p "$WORK/amd/lib" "$WORK/amd/.kpack"
library=$WORK/amd/lib/librand.so
"$H/test/import/make_kpak" "$library" library lib/librand.so 1 '../.kpack/rand_@GFXARCH@.kpack'
for t in "$one" "$two"; do
    "$H/test/import/make_kpak" "$WORK/amd/.kpack/rand_$t.kpack" "$([ "$t" = "$one" ] && echo none || echo zstd)" rand \
        "lib/librand.so#0@$t=$B/hsaco/$t/vector_add.hsaco"
done
# shellcheck disable=SC2086 # words
in_turn "import of AMD's archives" 1 "$out" ${SAN:+env ASAN_OPTIONS=detect_leaks=0} "$gen" import p "$out" "$WORK/amd"

# ---- kpack-embed and kpack-compress ----

if [ -n "$embed" ]; then
    in_turn "embed" 1 "$out" "$embed" incbin "$out" - "$WORK/blob/$one/affine.head" "$B/hsaco/$one/affine.hsaco"
    # A dictionary is worth it for many alike.
    words=
    for i in 1 2 3 4 5 6 7 8 9; do words="$words m$i/$one=$B/hsaco/$one/vector_add.hsaco"; done
    # shellcheck disable=SC2086 # words
    PRELOAD='' in_turn "compress" 1 "$out" "$WORK/kpack-compress" p "$out" $words \
        "m1/$two=$B/hsaco/$two/vector_add.hsaco"
    # LLVM ends without memory.
    check "report: files" tests/build/in_turn.py files 1 "$out" "$B/kpack-report" m "$B/hsaco/$one/vector_add.hsaco"
fi

# ---- the command ----

mkdir "$WORK/members"
# shellcheck disable=SC2046 # names without blanks
(cd "$WORK/members" && case $H in /*) ;; *) cd "$ROOT" ;; esac && ar x "$H/libkpack.a" --output "$WORK/members" \
    $(ar t "$H/libkpack.a" | grep '^pack\.vector_add\.gfx.*\.o$' | head -n 2))
small=$WORK/small.a
ar rcs "$small" "$WORK"/members/*.o
for words in "list" "list --kernels --json" "info vector_add" "info vector_add --json" \
    "select $one vector_add" "list $small --kernels" "info vector_add $small" "select $one $small --json" "list $small" "list $small --json" "verify $small" "verify $small --json" \
    "prune $small --keep $one -o $out" "extract vector_add $one -o $out" "--help" "--manual" \
    "extract $small vector_add $one -o $out" "extract $small --all -o $out" \
    "extract $small --kpack $out" "list $library" "info $library" "verify $library --json"; do
    # shellcheck disable=SC2086 # words
    in_turn "$words" 1,3,4,5 "$out" "$kpack" $words
done
finish
