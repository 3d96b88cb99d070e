#!/bin/sh
# launchers.sh - typed launchers: their prototypes, what does not compile, runs
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc} MODULES=${MODULES:-vector_add affine}
out=$WORK/b k=$WORK/kernels
mkdir "$k"

# ---- a source with every kind of parameter and name ----

cat >"$k/params.h" <<'END'
#pragma once
#define PARAMS_H
struct shared_params { int n; float by; };
END
cat >"$k/odd.hip" <<'END'
// odd.hip - parameters of every kind
#include <hip/hip_runtime.h>
#include "params.h"
enum Mode : unsigned char { A, B };
struct Inner { float x; int a[3]; };
struct Plain { int n; double scale; Inner in; Mode m; };
struct Base { int z; };
struct Derived : Base { int y; };
struct Bits { int a : 3; };
typedef struct { float a, b; } anonymous_t;
typedef unsigned long long u64;
struct f16 { unsigned short bits; };

namespace ns {
template <typename T> struct Triple { T v[3]; };
/* Blurs x. */
template <typename T> __global__ void blur(T *x, const T *const *y, u64 n) { x[0] = y[0][n]; }
template __global__ void blur<float>(float *, const float *const *, u64);
template __global__ void blur<int>(int *, const int *const *, u64);
}
/**
 * Structs by value.
 *   p  what to do
 */
extern "C" __global__
void structs(Plain p, Derived d, Bits b, anonymous_t q, ns::Triple<short> t, shared_params s, float4 v, dim3 dd) {}
extern "C" __global__ void numbers(bool a, char b, signed char c, unsigned char d, short e, long f, u64 g, size_t h, _Float16 i, __bf16 j, f16 k, Mode m, double n) {}
extern "C" __global__ void pointers(const float *__restrict a, volatile int *b, void *c, const void *d, const Plain *e, float (*f)[4], int (*g)(int), float **h, const Plain &i, f16 *j, const _Float16 *k, const uchar4 *l, float m[]) {}
extern "C" __global__ void words(int class_, int shape, int register_, int, int unix_) {}
// Overloads, 1 of 2.
__global__ void over(float *x) { *x = 1; }
__global__ void over(double *x, int n) { *x = n; }
extern "C" __global__ void fill() {}
extern "C" __global__ void wide(__int128 x) {}
END
cat >"$k/types.csv" <<'END'
type,host,header
f16,kpk_f16,
shared_params,struct shared_params,params.h
END
headers() { # module...
    for header in "$@"; do set -- "$@" "$out/include/kpack/t/$header.h" && shift; done
    plain_make "B=$out" KERNELS="$k" MODULES="odd" ARCHS=gfx1100 PACK=t \
        KPACK_GEN="$B/kpack-gen" "$out/include/kpack/t.h" "$@"
}
check "its header is written" headers odd
odd=$out/include/kpack/t/odd.h
tr -s ' \n' ' ' <"$odd" >"$WORK/words"
prototype() { # text of it behind the stream
    check "prototype: $1" grep -qF -e "$1" "$WORK/words"
}
prototype "kpk_structs(const kpk_odd_kernels *kernels, const kpk_shape *shape, void *stream, kpk_odd_Plain p, kpk_odd_Derived d, kpk_odd_Bits b, kpk_odd_anonymous_t q, kpk_odd_Triple_short t, struct shared_params s, kpk_float4 v, kpk_uint3 dd)"
prototype "void *stream, bool a, char b, int8_t c, uint8_t d, int16_t e, int64_t f, uint64_t g, size_t h, kpk_f16 i, kpk_bf16 j, kpk_f16 k, uint8_t m, double n)"
prototype "const float *a, volatile int32_t *b, void *c, const void *d, const void *e, float (*f)[4], void *g, float **h, const void *i, kpk_f16 *j, const kpk_f16 *k, const kpk_uchar4 *l, float *m)"
prototype "int32_t class_, int32_t shape_, int32_t register_, int32_t arg4, int32_t unix_)"
prototype "kpk_ns_blur_float(const kpk_odd_kernels *kernels, const kpk_shape *shape, void *stream, float *x, const float *const *y, uint64_t n)"
prototype "kpk_ns_blur_int("
prototype "kpk_over_float_p(const kpk_odd_kernels *kernels, const kpk_shape *shape, void *stream, float *x)"
prototype "kpk_over_double_p_int32_t("
prototype "kpk_fill_kernel(const kpk_odd_kernels *kernels, const kpk_shape *shape, void *stream) {"
prototype "typedef struct kpk_odd_Plain { int32_t n; double scale; kpk_odd_Inner in; uint8_t m; } kpk_odd_Plain;"
prototype "typedef struct kpk_odd_Derived { unsigned char bytes[8]; } kpk_odd_Derived;"
prototype "#include <params.h>"
prototype "* wide * * has no launcher: C has no type like __int128 */"
prototype "* odd.hip - parameters of every kind */"
prototype "* structs * * Structs by value. * p what to do */"
prototype "* ns::blur<float>() * exported as _ZN2ns4blurIfEEvPT_PKPKS1_y * * Blurs x. */"
prototype "* over() * exported as _Z4overPf * * Overloads, 1 of 2. */"

# ---- every compiler and standard ----

warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
compile() { # compiler standard file: with both packs' headers
    # shellcheck disable=SC2086
    $1 -std="$2" $warnings "-I$out/include" "-I$k" "-I$B/include" -Iinclude \
        -c -o "$WORK/out.o" "$WORK/$3"
}
{
    echo '#include <kpack/t/odd.h>'
    for m in $MODULES; do echo "#include <kpack/candle/$m.h>"; done
} >"$WORK/all.c"
cp "$WORK/all.c" "$WORK/all.cc"
for cc in "$CC" clang-22; do
    command -v "$cc" >/dev/null || continue
    for std in c99 c11 c17; do check "$cc -std=$std" compile "$cc" $std all.c; done
done
for cxx in g++ clang++-22; do
    command -v $cxx >/dev/null || continue
    for std in c++11 c++17 c++20; do
        check "$cxx -std=$std" compile $cxx $std all.cc
    done
done
# Every kernel that candle.h lists has one.
listed() {
    grep -cE '^ \*     [A-Za-z0-9_]+\(' "$B/include/kpack/candle.h"
}
launchers() {
    for m in $MODULES; do cat "$B/include/kpack/candle/$m.h"; done |
        grep -cE '^kpk_[A-Za-z0-9_]+\(const kpk_[a-z_]+_kernels \*kernels,$'
}
check "each of the $(listed) kernels has a launcher" \
    test "$(launchers)" -eq "$(listed)"

# ---- launches that compile or do not ----

call() { # statement
    cat >"$WORK/call.c" <<END
#include <kpack/t/odd.h>
#include <kpack/candle/affine.h>
#include <kpack/candle/vector_add.h>
kpk_status call(const kpk_affine_kernels *affine, const kpk_odd_kernels *odd,
                const kpk_vector_add_kernels *add, const kpk_shape *shape,
                const size_t *info, const float *in, float *out, int *ints,
                kpk_f16 half, const kpk_f16 *halves, kpk_bf16 *brains,
                struct shared_params *params);
kpk_status call(const kpk_affine_kernels *affine, const kpk_odd_kernels *odd,
                const kpk_vector_add_kernels *add, const kpk_shape *shape,
                const size_t *info, const float *in, float *out, int *ints,
                kpk_f16 half, const kpk_f16 *halves, kpk_bf16 *brains,
                struct shared_params *params)
{
    (void)affine, (void)odd, (void)add, (void)shape, (void)info, (void)in, (void)out,
    (void)ints, (void)half, (void)halves, (void)brains, (void)params;
    $1;
}
END
    cp "$WORK/call.c" "$WORK/call.cc"
}
in_c() {
    $CC -std=c11 "-I$out/include" "-I$k" "-I$B/include" -Iinclude -c \
        -o "$WORK/out.o" "$WORK/call.c"
}
in_cxx() {
    g++ -std=c++11 "-I$out/include" "-I$k" "-I$B/include" -Iinclude -c \
        -o "$WORK/out.o" "$WORK/call.cc"
}
while IFS='|' read -r what statement; do
    call "return $statement"
    case $what in
    "fine: "*)
        check "C: $what" in_c
        check "C++: $what" in_cxx
        ;;
    *)
        refuse "C: $what" "error:" in_c
        refuse "C++: $what" "error:" in_cxx
        ;;
    esac
done <<'END'
fine: as declared|kpk_affine_f32(affine, shape, 0, 9, 0, 0, in, out, 2, 1)
fine: every argument a variable|kpk_affine_f32(affine, shape, 0, *info, *info, info, in, out, *in, *out)
fine: small floats|kpk_affine_f16(affine, shape, 0, 9, 0, 0, halves, 0, half, half)
fine: a struct of the project's own|kpk_fill_kernel(odd, shape, 0)
one argument too few|kpk_affine_f32(affine, shape, 0, 9, 0, 0, in, out, 2)
one argument too many|kpk_affine_f32(affine, shape, 0, 9, 0, 0, in, out, 2, 1, 1)
a pointer to another type|kpk_affine_f32(affine, shape, 0, 9, 0, 0, ints, out, 2, 1)
a pointer to const as output|kpk_affine_f32(affine, shape, 0, 9, 0, 0, in, in, 2, 1)
a pointer for a number|kpk_affine_f32(affine, shape, 0, in, 0, 0, in, out, 2, 1)
a number for a pointer|kpk_affine_f32(affine, shape, 0, 9, 0, 0, in, 7, 2, 1)
a float for f16|kpk_affine_f16(affine, shape, 0, 9, 0, 0, halves, 0, 2.0f, half)
bf16 for f16|kpk_affine_f16(affine, shape, 0, 9, 0, 0, brains, 0, half, half)
the kernels of another module|kpk_affine_f32(add, shape, 0, 9, 0, 0, in, out, 2, 1)
the shape by value|kpk_affine_f32(affine, *shape, 0, 9, 0, 0, in, out, 2, 1)
a pointer to a struct for the struct|kpk_structs(odd, shape, 0, params)
END
call 'return kpk_affine_f32(affine, shape, 0, 9, 0, 0, ints, out, 2, 1)'
sed -i '1i#define KPK_LAX_POINTERS' "$WORK/call.c"
check "C: KPK_LAX_POINTERS makes it a warning again" in_c

# ---- the same for Rust ----

tr -s ' \n' ' ' <"$out/rust/t/odd.rs" >"$WORK/words"
in_rust() { # text of it
    check "rust: $1" grep -qF -e "$1" "$WORK/words"
}
in_rust "a: bool, b: i8, c: i8, d: u8, e: i16, f: i64, g: u64, h: usize, i: impl Into<::kpack::f16>, j: impl Into<::kpack::bf16>, k: impl Into<::kpack::f16>, m: u8, n: f64,"
in_rust "a: impl ::kpack::Input<f32>, b: impl ::kpack::Output<i32>, c: impl ::kpack::Output<::kpack::types::Void>, d: impl ::kpack::Input<::kpack::types::Void>,"
in_rust "x: impl ::kpack::Output<f32>, y: impl ::kpack::Input<::kpack::types::Void>, n: u64,"
in_rust "s: ::kpack::ByValue<impl Copy>, v: ::kpack::types::float4, dd: ::kpack::types::uint3,"
in_rust "let p = ::kpack::Kernels::by_value(p, 40)?;"
in_rust "// wide has no method: C has no type like __int128"
in_rust "/// structs /// /// Structs by value. /// p what to do"

# By the system's compiler: it is the oldest that serves.
rustc=$(PATH=/usr/bin:$PATH command -v rustc)
rust_crate() { # name source [crate...]: makes the metadata that dependent crates need
    name=$1 source=$2
    shift 2
    for other in "$@"; do set -- "$@" --extern "$other=$WORK/lib$other.rmeta" && shift; done
    "$rustc" --edition 2021 -D warnings --crate-type rlib --emit metadata --crate-name "$name" \
        -L "$WORK" -o "$WORK/lib$name.rmeta" "$@" "$source"
}
check "rust: crate kpack-sys" rust_crate kpack_sys src/rust/kpack-sys/src/lib.rs
check "rust: crate kpack" rust_crate kpack src/rust/kpack/src/lib.rs kpack_sys
rust_call() { # statement
    cat >"$WORK/call.rs" <<END
pub mod odd {
    include!("b/rust/t/odd.rs");
}
use kpack::{f16, Buffer, ByValue, NULL, Result, Shape, Stream};
pub unsafe fn call(odd: &odd::Kernels, shape: &Shape, stream: &Stream, x: &Buffer<f32>,
                   y: &mut Buffer<f32>, ints: &mut Buffer<i32>, halves: &Buffer<f16>) -> Result<()> {
    let _ = (odd, shape, stream, x, &y, &ints, halves, NULL, ByValue(1));
    $1
}
END
    rust_crate call "$WORK/call.rs" kpack
}
while IFS='|' read -r what statement; do
    case $what in
    "fine: "*) check "rust: $what" rust_call "$statement" ;;
    *) refuse "rust: $what" "error" rust_call "$statement" ;;
    esac
done <<'END'
fine: memory|odd.over_float_p(shape, stream, y)
fine: a part of it|odd.over_float_p(shape, stream, y.slice_mut(1..))
fine: no memory|odd.pointers(shape, stream, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, halves, NULL, NULL)
fine: any memory for void|odd.pointers(shape, stream, x, ints, y, halves, NULL, NULL, NULL, NULL, NULL, NULL, halves, NULL, NULL)
fine: numbers|odd.words(shape, stream, 1, 2, 3, 4, 5)
memory of another type|odd.over_float_p(shape, stream, ints)
memory that is not borrowed mutably|odd.over_float_p(shape, stream, x)
one argument too few|odd.words(shape, stream, 1, 2, 3, 4)
a float for an integer|odd.words(shape, stream, 1.0, 2, 3, 4, 5)
one memory as input and output|odd.pointers(shape, stream, &*y, NULL, &mut *y, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
END

# ---- two packs with a kernel of one name in one source ----

cat >"$WORK/twice.c" <<'END'
#include <kpack/candle/vector_add.h>
#define KPK_LONG_NAMES
#include <kpack/v/vector_add.h>
kpk_status both(const kpk_vector_add_kernels *a, const kpk_v__vector_add__vector_add_kernels *b, const kpk_shape *s);
kpk_status both(const kpk_vector_add_kernels *a, const kpk_v__vector_add__vector_add_kernels *b, const kpk_shape *s)
{
    kpk_status st = kpk_vector_add(a, s, 0, 0, 0, 0, 0);
    return st ? st : kpk_v__vector_add__vector_add(b, s, 0, 0, 0, 0, 0);
}
END
mkdir -p "$WORK/i/kpack/v"
sed 's/candle/v/g' "$B/include/kpack/candle/vector_add.h" >"$WORK/i/kpack/v/vector_add.h"
sed 's/candle/v/g' "$B/include/kpack/candle.h" >"$WORK/i/kpack/v.h"
for std in c99 c++11; do
    case $std in c99) cc=$CC ;; *) cc="g++ -x c++" ;; esac
    # shellcheck disable=SC2086
    check "$std: long names beside short ones" $cc -std=$std $warnings \
        "-I$WORK/i" "-I$B/include" -Iinclude -c -o "$WORK/out.o" "$WORK/twice.c"
done
sed -i '/LONG_NAMES/d' "$WORK/twice.c"
refuse "two of one name without long names" "error:" "$CC" "-I$WORK/i" \
    "-I$B/include" -Iinclude -c -o "$WORK/out.o" "$WORK/twice.c"

# ---- runs ----

cat >"$WORK/run.c" <<'END'
#include <kpack/candle/affine.h>
#include <stdio.h>
static int failed(void)
{
    return fprintf(stderr, "%s\n", kpk_error_message()), 1;
}
int main(void)
{
    enum { N = 100 };
    const kpk_affine_kernels *affine;
    const kpk_shape shape = kpk_shape_1d(N, 64);
    kpk_instance *gpu;
    float x[N];
    kpk_f16 h[N];
    void *d, *e;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        h[i] = kpk_to_f16((float)i);
    }
    if (kpk_open(&kpk_candle, 0, &gpu) || kpk_affine_kernels_get(gpu, &affine) ||
        kpk_malloc(gpu, sizeof(x), &d) || kpk_copy_to(gpu, d, x, sizeof(x)) ||
        kpk_malloc(gpu, sizeof(h), &e) || kpk_copy_to(gpu, e, h, sizeof(h)) ||
        kpk_affine_f32(affine, &shape, NULL, N, 0, NULL, (const float *)d, (float *)d, 3, 0.5f) ||
        kpk_affine_f16(affine, &shape, NULL, N, 0, NULL, (const kpk_f16 *)e, (kpk_f16 *)e,
                       kpk_to_f16(2), kpk_to_f16(-1)) ||
        kpk_copy_from(gpu, x, d, sizeof(x)) || kpk_copy_from(gpu, h, e, sizeof(h)) ||
        kpk_free(gpu, d) || kpk_free(gpu, e))
        return failed();
    printf("%g %g\n", x[99], kpk_from_f16(h[99]));
    return kpk_close(gpu) ? failed() : 0;
}
END
cp "$WORK/run.c" "$WORK/run.cc"
build() { # compiler file output [flags]
    compiler=$1 file=$2 output=$3
    shift 3
    # shellcheck disable=SC2086
    $compiler ${SAN:+-fsanitize=$SAN} "$@" "-I$B/include" -Iinclude "$WORK/$file" \
        "$H/libkpack.a" -ldl -pthread -o "$WORK/$output"
}
case " $MODULES " in
*" affine "*)
    check "a C program" build "$CC" run.c run -std=c99 -Wall -Wextra -Werror
    check "a C++ program" build g++ run.cc runcc ${KPACK_COVERAGE:+--coverage} -std=c++11 -Wall -Wextra -Werror
    for device in $(echo "${KPK_SIM_DEVICES-}" | tr , ' '); do
        for program in run runcc; do
            check "$program on $device" env KPK_SIM_DEVICES="$device" sh -c \
                "'$WORK/$program' | grep -x '297.5 197'"
        done
    done
    # Arguments have the names of the source's parameters, in the tables too.
    argument_names() {
        "$H/kpack" info "$1" --json | python3 -c 'import json, sys
print(" ".join(a["name"] for a in json.load(sys.stdin)["kernels"][0]["args"]))'
    }
    check "kpack info lists their names" \
        test "$(argument_names affine_f32)" = "n rank info in out mul add"
    check "those of a second name, too" \
        test "$(argument_names affine_f8e4m3)" = "n rank info in out mul add"
    check "the pack's header has them" grep -qF \
        "affine_f32(8 bytes n, 8 bytes rank, pointer info, pointer in, pointer out, 4 bytes mul, 4 bytes add)" \
        "$B/include/kpack/candle.h"
    cat >"$WORK/wrong.c" <<'END'
#include <kpack/candle.h>
#include <stdio.h>
/* mul as a double. */
int main(void)
{
    const kpk_shape shape = kpk_shape_1d(1, 64);
    size_t n = 1, rank = 0;
    void *p = NULL;
    double mul = 2;
    float add = 1;
    kpk_instance *gpu;
    const kpk_kernel *k;
    kpk_status st;
    if (kpk_open(&kpk_candle, 0, &gpu) || kpk_kernel_get(gpu, "affine_f32", &k))
        return fprintf(stderr, "%s\n", kpk_error_message()), 1;
    st = kpk_launch(k, &shape, NULL, KPK_ARGS(n, rank, p, p, p, mul, add));
    printf("%s\n", kpk_error_message());
    return kpk_close(gpu) || st != KPK_ERR_KERNEL_ARGS;
}
END
    check "a program that gives a wrong argument" build "$CC" wrong.c wrong -std=c99
    for device in $(echo "${KPK_SIM_DEVICES-}" | tr , ' '); do
        check "is told its name on $device" env KPK_SIM_DEVICES="$device" sh -c \
            "'$WORK/wrong' | grep -F 'argument 5 \"mul\" is 4 bytes, 8 were given'"
    done
    # A header of another build is refused at run time.
    mkdir -p "$WORK/old/kpack/candle"
    sed 's/UINT64_C(0x\(.\)/UINT64_C(0x\1\1/;s/\(0x.\{16\}\)./\1/' \
        "$B/include/kpack/candle/affine.h" >"$WORK/old/kpack/candle/affine.h"
    check "a program with an older header" build "$CC" run.c stale "-I$WORK/old"
    refuse "it is told" "not of the build that was linked" "$WORK/stale"
    ;;
esac
finish
