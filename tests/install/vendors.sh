#!/bin/sh
# vendors.sh - packs of several vendors in several shared objects of a process
#
# Two plug-ins have a pack of the same name with modules and kernels of the same
# names, and were made by two releases of kpack whose tables differ. Each has
# its own hidden copy of all of it; so has the program that loads them.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
version=$(sed -n 's/.*KPK_VERSION_STRING "\(.*\)"/\1/p' include/kpack.h)
if [ -n "${SAN-}" ]; then # the library would want its sanitizer everywhere
    skip "sanitizers are on"
    check "there is a version" test -n "$version"
    finish
fi

# ---- two releases, installed ----

this=$WORK/this other=$WORK/other
check "install this release" gen/ship/install "$B" "$H" "" "$this" candle "$version"

copy_tree "$WORK/tree"
small_kernel one >"$WORK/tree/kernels/one.hip"
echo '#define SMALL 0' >"$WORK/tree/kernels/include/small.h"
sed -i 's/\(define KPK_FORMAT_VERSION\) .*/\1 4242u/' "$WORK/tree/include/kpack/format.h"
sed -i 's/\(define KPK_VERSION_MAJOR\) .*/\1 42/' "$WORK/tree/include/kpack.h"
check "install another release" plain_make -C "$WORK/tree" -j2 install \
    CFLAGS=-O0 ARCHS=gfx1100 PREFIX="$other"

# ---- two vendors ----

vendor() { # name prefix expression: a plug-in that does this to each number
    mkdir -p "$WORK/$1/kernels"
    cat >"$WORK/$1/kernels/change.hip" <<END
#include <hip/hip_runtime.h>
extern "C" __global__ void change(float *x, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = $3;
}
END
    cat >"$WORK/$1/plugin.c" <<END
#include <kpack/tone/change.h>
int $1_version(void);
int $1_version(void)
{
    return kpk_version();
}
const char *$1_run(float *x, unsigned n);
const char *$1_run(float *x, unsigned n)
{
    const kpk_shape shape = kpk_shape_1d(n, 64);
    const kpk_change_kernels *kernels;
    kpk_instance *gpu;
    void *d;
    if (kpk_open(&kpk_tone, 0, &gpu) || kpk_change_kernels_get(gpu, &kernels) ||
        kpk_malloc(gpu, n * sizeof(*x), &d) || kpk_copy_to(gpu, d, x, n * sizeof(*x)) ||
        kpk_change(kernels, &shape, 0, (float *)d, n) ||
        kpk_copy_from(gpu, x, d, n * sizeof(*x)) || kpk_free(gpu, d) || kpk_close(gpu))
        return kpk_error_message();
    return 0;
}
END
    plain_make -C "$WORK/$1" -j2 -f "$2/share/kpack/kpack.mk" PACK=tone \
        KERNELS=kernels ARCHS="gfx942 gfx1100" &&
        $CC -shared -fPIC -o "$WORK/$1.so" "$WORK/$1/plugin.c" \
            "-I$WORK/$1/build/include" "-I$2/include" \
            "$WORK/$1/build/libtone.a" "-L$2/lib" -lkpack -pthread -ldl
}
check "vendor one's plug-in" vendor one "$this" 'x[i] * 2'
check "vendor two's, with the other release" vendor two "$other" 'x[i] + 100'
for name in one two; do
    check "plug-in $name shows nothing of kpack" sh -c \
        "nm -D --defined-only '$WORK/$name.so' | grep -q ${name}_run &&
         ! nm -D --defined-only '$WORK/$name.so' | grep kpk_"
done

# The program has candle; it links one plug-in and loads the other.
cat >"$WORK/host.c" <<'END'
#include <dlfcn.h>
#include <kpack/candle/vector_add.h>
#include <stdio.h>
int one_version(void);
const char *one_run(float *x, unsigned n);
int main(int argc, char **argv)
{
    float x[100], *d;
    const kpk_shape shape = kpk_shape_1d(100, 64);
    const kpk_vector_add_kernels *kernels;
    const char *(*two_run)(float *, unsigned), *error;
    int (*two_version)(void);
    kpk_instance *gpu;
    void *memory, *two = dlopen(argv[argc - 1], RTLD_NOW | RTLD_GLOBAL);
    if (!two)
        return fprintf(stderr, "%s\n", dlerror()), 1;
    *(void **)&two_run = dlsym(two, "two_run");
    *(void **)&two_version = dlsym(two, "two_version");
    for (int i = 0; i < 100; i++)
        x[i] = (float)i;
    if ((error = one_run(x, 100)) || (error = two_run(x, 100)) || (error = one_run(x, 100)))
        return fprintf(stderr, "%s\n", error), 1;
    if (kpk_open(&kpk_candle, 0, &gpu) || kpk_vector_add_kernels_get(gpu, &kernels) ||
        kpk_malloc(gpu, sizeof(x), &memory) || kpk_copy_to(gpu, memory, x, sizeof(x)) ||
        (d = memory, kpk_vector_add(kernels, &shape, 0, d, d, d, 100)) ||
        kpk_copy_from(gpu, x, memory, sizeof(x)) || kpk_free(gpu, memory) || kpk_close(gpu))
        return fprintf(stderr, "%s\n", kpk_error_message()), 1;
    printf("%d %d %g\n", kpk_version() == one_version(), two_version() / 10000, (double)x[10]);
    return 0;
}
END
check "the program links" "$CC" -o "$WORK/host" "$WORK/host.c" "-I$this/include" \
    "$WORK/one.so" "-L$this/lib" -lkpack -pthread -ldl "-Wl,-rpath,$WORK"
# ((10 * 2) + 100) * 2, twice
for device in gfx942 gfx1100; do
    check "three packs in one process on $device" env KPK_SIM_DEVICES=$device \
        sh -c "'$WORK/host' '$WORK/two.so' | grep -x '1 42 480'"
done

# ---- one program, a pack of the other release ----

cat >"$WORK/mixed.c" <<'END'
#include <kpack/tone.h>
#include <stdio.h>
int main(void)
{
    kpk_instance *gpu;
    return kpk_open(&kpk_tone, 0, &gpu) ? fprintf(stderr, "%s\n", kpk_error_message()), 1 : 0;
}
END
check "a pack of the other release links" "$CC" -o "$WORK/mixed" "$WORK/mixed.c" \
    "-I$WORK/two/build/include" "-I$this/include" "$WORK/two/build/libtone.a" \
    "-L$this/lib" -lkpack -pthread -ldl
refuse "and is refused with both formats' numbers" 4242 \
    env KPK_SIM_DEVICES=gfx942 "$WORK/mixed"
finish
