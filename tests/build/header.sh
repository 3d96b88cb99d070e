#!/bin/sh
# header.sh - kpack.h in C and C++
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

CC=${CC:-cc}

# ---- the header compiles, alone, in every language it promises ----

cat >"$WORK/use.c" <<'END'
#include <kpack.h>

int use(const kpk_kernel *kernel, void *x, uint32_t n);
int use(const kpk_kernel *kernel, void *x, uint32_t n)
{
    const kpk_shape shape = kpk_shape_1d(n, 256);
    const float by = 2;

    return (int)kpk_launch(kernel, &shape, NULL, KPK_ARGS(x, n, by));
}
END
cp "$WORK/use.c" "$WORK/use.cc"
cat >"$WORK/main.cc" <<'END'
// What C++ allows more: any expression as an argument. Each keeps its value
// until the launch has it.
#include <kpack.h>
#include <cstring>

static bool is(const kpk_arg &arg, const void *value, size_t nbytes)
{
    return arg.nbytes == nbytes && std::memcmp(arg.value, value, nbytes) == 0;
}

static bool check(const kpk_arg *args, size_t nargs)
{
    const int *null = nullptr;
    const unsigned n = 1000;
    const float by = 2.5f;

    return nargs == 3 && is(args[0], &null, sizeof(null)) &&
           is(args[1], &n, sizeof(n)) && is(args[2], &by, sizeof(by));
}

int main()
{
    int *x = nullptr;

    return check(KPK_ARGS(x, 999u + 1, 2.5f)) ? 0 : 1;
}
END

warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
compiles() { # compiler standard file
    # shellcheck disable=SC2086
    $1 -std="$2" $warnings -Iinclude -c -o "$WORK/out.o" "$WORK/$3"
}
runs_in_cxx() { # compiler standard
    # shellcheck disable=SC2086
    $1 -std="$2" $warnings -Iinclude -o "$WORK/out" "$WORK/main.cc" && "$WORK/out"
}
for cc in "$CC" gcc clang-22; do
    command -v "$cc" >/dev/null || continue
    for std in c99 c11 c17; do
        check "$cc -std=$std" compiles "$cc" $std use.c
    done
done
for cxx in g++ clang++-22; do
    command -v $cxx >/dev/null || continue
    for std in c++11 c++17 c++20; do
        check "$cxx -std=$std" compiles $cxx $std use.cc
        check "$cxx -std=$std, arguments" runs_in_cxx $cxx $std
    done
done

for cc in gcc clang-22; do
    command -v $cc >/dev/null || continue
    refuse "$cc -m32" "kpack is for 64-bit programs" $cc -m32 -fsyntax-only -x c include/kpack.h
done

# ---- a launch that cannot compile ----

printf '#include <kpack.h>\nkpk_kernel k;\n' >"$WORK/opaque.c"
check "kernels are opaque" sh -c "! $CC -Iinclude -c -o '$WORK/out.o' '$WORK/opaque.c'"

finish
