#!/bin/sh
# own.sh - projects with kernels of their own, built from the installed files
#
# Each folder own_* here is such a project, complete, one for each way to build.
# It is copied out and built where this tree cannot be seen: under its path
# there is an empty folder, as far as the system lets us mount one.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build}
prefix=$WORK/prefix sim=$WORK/sim

version=$(sed -n 's/.*KPK_VERSION_STRING "\(.*\)"/\1/p' include/kpack.h)
check "install" gen/ship/install "$B" "$H" "" "$prefix" candle "$version"
mkdir "$sim"
cp -a "$H"/sim/libamdhip64.so* "$sim/"

alone() { # command: without this tree and with no setting of this run
    alone_env="env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES -u MAKELEVEL -u B
        -u H -u MODULES -u SAN -u CC -u MAKE PKG_CONFIG_PATH=$prefix/lib/pkgconfig
        CMAKE_PREFIX_PATH=$prefix LD_LIBRARY_PATH=$sim"
    if unshare -rm mount -t tmpfs none "$ROOT" 2>/dev/null; then
        # shellcheck disable=SC2016,SC2086 # $0 is the inner shell's
        $alone_env unshare -rm sh -c 'mount -t tmpfs none "$0" && exec "$@"' \
            "$ROOT" "$@"
    else
        # shellcheck disable=SC2086
        $alone_env "$@"
    fi
}

example() { # name: its copy, which becomes the current folder
    cp -R "$ROOT/tests/install/$1" "$WORK/$1"
    cd "$WORK/$1" || exit 1
}

says() { # line command...: the command's whole output
    line=$1
    shift
    alone "$@" >"$WORK/says.out" 2>&1
    status=$?
    cat "$WORK/says.out"
    [ "$status" -eq 0 ] && [ "$(cat "$WORK/says.out")" = "$line" ]
}

on_each_device() { # text words command...: DEVICE in words is the device's name
    text=$1 words=$2
    shift 2
    for device in gfx942:sramecc+:xnack- gfx1100; do
        check "$text on $device" says \
            "$(echo "$words" | sed "s/DEVICE/$device/g")" \
            env KPK_SIM_DEVICES=$device "$@"
    done
}

if [ -n "${SAN-}" ]; then # the library would want its sanitizer everywhere
    skip "sanitizers are on"
    finish
fi

# ---- GNU Make ----

example own_make
quiet() { # command: it made nothing
    alone "$@" >"$WORK/quiet.out" 2>&1 &&
        ! grep -E '^ +(HIPCC|AR) |-o app|Building|Linking' "$WORK/quiet.out"
}
makes() { # pattern command...: it said so
    pattern=$1
    shift
    alone "$@" >"$WORK/makes.out" 2>&1 && grep -E -e "$pattern" "$WORK/makes.out"
}
check "make: builds" alone make -j2
on_each_device "make: runs" "DEVICE: 105 255 499.5" ./app
check "make: takes the first device that it has code for" says \
    "gfx942:sramecc+:xnack-: 105 255 499.5" env KPK_SIM_DEVICES=gfx90a,gfx942,gfx1100 ./app
check "make: nothing to do makes nothing" quiet make
echo '// changed' >>kernels/include/pixel.h
check "make: a header that changes compiles its kernels" \
    makes 'HIPCC gfx942/gamma' make -j2
check "make: and then nothing" quiet make
check "make: flags are the project's own" \
    makes 'HIPCC gfx1100/brighten' make -j2 HIPFLAGS=-DFULL=110
on_each_device "make: runs" "DEVICE: 105 110 499.5" ./app
check "make: or one module's" makes 'HIPCC gfx1100/brighten' \
    make -j2 HIPFLAGS= HIPFLAGS_brighten=-DFULL=120
on_each_device "make: runs" "DEVICE: 105 120 499.5" ./app
# Including kpack.mk adds only kpack's own names to a makefile.
cat >names.mk <<'END'
KERNELS := kernels
SOURCES := kernels/gamma.hip kernels/brighten.hip
PACK := image
quote := mine
comma := mine
HIPFLAGS := -DFULL=255
before := $(.VARIABLES)
include $(shell pkg-config --variable=makefile kpack)
$(info new names: $(sort $(filter-out $(before) before .SHELLSTATUS KPACK_% PACK_%,$(.VARIABLES))).)
$(info settings: $(KERNELS), $(SOURCES), $(quote), $(comma), '$(B)', '$(ARCHS)', '$(MODULES)'.)
# kpack.mk makes neither of these targets special.
once: $$(x) ;
$$(x): ; @echo literal
half: ; @echo half >$@; false
x := wrong
all: ; @:
END
names() {
    alone make -f names.mk "$@" >"$WORK/names.out" 2>&1
    cat "$WORK/names.out"
    grep -qxF -e "new names: ." "$WORK/names.out"
}
check "make: no name but KPACK_ and PACK_" names all
check "make: settings are left as they were" grep -qxF "$WORK/names.out" \
    -e "settings: kernels, kernels/gamma.hip kernels/brighten.hip, mine, mine, '', '', ''."
check "make: no second expansion" alone make -f names.mk once
refuse "make: a file that fails" "Error 1" alone make -f names.mk half
check "make: is left to its makefile" test -e half
refuse "make: a target that is none" "ARCHS: no such target: gfx000" \
    alone make ARCHS=gfx000
refuse "make: two sources of one name" "two sources have one file name" \
    alone make SOURCES="a/x.hip b/x.hip"
refuse "make: no name" "PACK is not set" alone make PACK=
# shellcheck disable=SC2016 # the inner shell's
check "make: a pack without a makefile" makes 'AR    build/libbare.a' \
    sh -c 'exec make -f "$(pkg-config --variable=makefile kpack)" -j2 PACK=bare \
        SOURCES=kernels/brighten.hip HIPFLAGS="-DFULL=9 -Ikernels/include" \
        ARCHS=gfx1100'
cat >ends.mk <<'END'
PACK     := ends
SOURCES  := kernels/brighten.hip
ifdef PACK
include $(shell pkg-config --variable=makefile kpack)

# settings of its own may follow
THEN := this
endif
END
{ cat ends.mk && echo 'mine: ; @echo mine alone'; } >more.mk
default_goal() { # makefile
    alone make -p -n -f "$1" | sed -n 's/^\.DEFAULT_GOAL := //p'
}
check "make: a makefile without targets builds the pack" test "$(default_goal ends.mk)" = kpack-pack
check "make: its first target is the default one" test "$(default_goal more.mk)" = mine
# HIP's headers for small floats: Debian 12's want what clang lacks, and are not all.
cat >half.hip <<'END'
#include <hip/hip_fp16.h>
extern "C" __global__ void half_steps(__half *x)
{
    ((__half2 *)x)[1] = h2rcp(((__half2 *)x)[0]);
    x[0] = __hadd(hrcp(x[0]), hsqrt(x[1]));
}
END
cat >half.c <<'END'
#include <kpack/halves/half.h>
#include <stdio.h>
int main(void)
{
    unsigned short x[4] = {0x4000, 0x4400}; /* 2 and 4 */
    const kpk_shape shape = kpk_shape_1d(1, 1);
    const kpk_half_kernels *half;
    kpk_instance *gpu;
    void *d;
    if (kpk_open(&kpk_halves, KPK_ANY_DEVICE, &gpu) || kpk_half_kernels_get(gpu, &half) ||
        kpk_malloc(gpu, sizeof(x), &d) || kpk_copy_to(gpu, d, x, sizeof(x)) ||
        kpk_half_steps(half, &shape, 0, d) || kpk_copy_from(gpu, x, d, sizeof(x)))
        return fprintf(stderr, "%s\n", kpk_error_message()), 1;
    printf("%x %x %x\n", x[0], x[2], x[3]);
    return kpk_free(gpu, d) || kpk_close(gpu);
}
END
cat >half.mk <<'END'
PACK    := halves
SOURCES := half.hip
ARCHS   := gfx942 gfx1100
include $(shell pkg-config --variable=makefile kpack)
half: half.c $(PACK_ARCHIVE)
	$(CC) $(PACK_CFLAGS) -o $@ half.c $(PACK_LIBS)
END
check "make: a kernel with hip_fp16.h" alone make -f half.mk -j2
on_each_device "make: runs, 1/2 + sqrt 4, 1/2, 1/4" "4100 3800 3400" ./half
if [ ! -e /usr/include/hip/hip_bf16.h ]; then
    for header in hip_bf16 hip_fp8; do
        echo "#include <hip/$header.h>" >none.hip
        refuse "make: $header.h, which HIP 5.2 has not" "HIP 5.2 has no $header.h: take " \
            alone make -f half.mk SOURCES=none.hip
    done
fi
refuse "make: a name with '-'" "no name for a module: a-b. A module is called as its file" \
    alone make SOURCES=a-b.hip
refuse "make: a kpack that has no generator says so" "archive of prebuilt" \
    sh -c "mv '$prefix/libexec/kpack/kpack-gen' '$prefix/libexec/kpack/away'; \
        PKG_CONFIG_PATH='$prefix/lib/pkgconfig' make; status=\$?; \
        mv '$prefix/libexec/kpack/away' '$prefix/libexec/kpack/kpack-gen'; \
        exit \$status"

# ---- CMake ----

if ! command -v cmake >/dev/null || ! command -v ninja >/dev/null; then
    flunk "cmake and ninja are needed: run 'make deps'"
    finish
fi
example own_cmake
for generator in Ninja "Unix Makefiles"; do
    folder=$(echo "$generator" | tr -d ' ')
    check "$generator: configures" alone cmake -G "$generator" -B "$folder"
    check "$generator: builds" alone cmake --build "$folder"
    on_each_device "$generator: two packs with a module of one name" \
        "DEVICE: 0 1006" "$folder/mixer"
    check "$generator: nothing to do makes nothing" quiet cmake --build "$folder"
    echo '// changed' >>tone/volume.h
    check "$generator: a header that changes compiles its kernel" \
        makes 'HIPCC gfx942/gain' cmake --build "$folder"
    check "$generator: and nothing else" sh -c \
        "! grep -E 'delay|AR .*libecho|Building' '$WORK/makes.out'"
    sed -i 's/+= 1000/+= 2000/' echo/gain.hip
    check "$generator: a changed kernel" alone cmake --build "$folder"
    on_each_device "$generator: is in the program" "DEVICE: 0 2006" \
        "$folder/mixer"
    sed -i 's/+= 2000/+= 1000/' echo/gain.hip
done

# A library with a pack, a library with that library, a program: each is
# installed, and the next one knows no more than its package.
example own_cmake_package
with_packages() { # command
    alone env CMAKE_PREFIX_PATH="$prefix:$WORK/root" "$@"
}
package() { # project generator
    with_packages cmake -G "$2" -S "$1" -B "build-$1" \
        -DCMAKE_INSTALL_PREFIX="$WORK/root" &&
        with_packages cmake --build "build-$1"
}
for project in levels desk; do
    check "cmake: library $project builds" package $project "Unix Makefiles"
    check "cmake: and installs" \
        with_packages cmake --install build-$project
done
mv "$WORK/own_cmake_package/build-levels" "$WORK/away" # nothing comes from it
check "cmake: a program with the library's library builds" package app Ninja
on_each_device "cmake: and runs" 74.75 build-app/app
check "cmake: the pack's headers are installed" \
    test -e "$WORK/root/include/kpack/halves/halve.h"
cd "$WORK" || exit 1

# README.md's program, with the lines that gen/README.md gives.
mkdir "$WORK/app"
{
    echo 'cmake_minimum_required(VERSION 3.20)'
    echo 'project(app LANGUAGES C)'
    awk '/^```cmake$/ { take = 1; text = ""; next } /^```$/ { if (take && text ~ /kpack::kpack/) printf "%s", text; take = 0 }
        take { text = text $0 "\n" }' "$ROOT/gen/README.md"
} >"$WORK/app/CMakeLists.txt"
program_of "$ROOT/README.md" >"$WORK/app/app.c"
check "cmake: a program with kpack's own kernels" alone cmake -S "$WORK/app" -B "$WORK/app/build"
check "cmake: builds" alone cmake --build "$WORK/app/build"
on_each_device "cmake: it runs" "c[999] = 999.5" "$WORK/app/build/app"

wrong() { # arguments of kpack_add_pack
    mkdir -p "$WORK/wrong" && cat >"$WORK/wrong/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(wrong LANGUAGES C)
find_package(kpack REQUIRED)
kpack_add_pack($1)
END
    alone cmake -S "$WORK/wrong" -B "$WORK/wrong/build"
}
refuse "cmake: no sources" "no SOURCES" wrong mine
refuse "cmake: a source that is not there" "there is no" \
    wrong "mine SOURCES none.hip"
refuse "cmake: a word too many" "what is" wrong "mine extra SOURCES a.hip"

# ---- Rust ----

# The system's cargo rather than one of a user's: no crates, no network.
cargo=$(PATH=/usr/bin:$PATH command -v cargo)
if [ -z "$cargo" ]; then
    flunk "cargo is needed: run 'make deps'"
    finish
fi
example own_rust
sed -i "s,PREFIX,$prefix," Cargo.toml
cargo_build() {
    alone env PATH="$(dirname "$cargo"):$PATH" CARGO_HOME="$WORK/cargo" \
        "$cargo" build --offline
}
by_type_and_by_name() { # y by each
    printf 'y[999] = %s\ny[999] = %s' "$@"
}
check "cargo: builds" cargo_build
on_each_device "cargo: runs" "$(by_type_and_by_name 1998.5 3996.5)" target/debug/saxpy
sed -i 's/2.0f/3.0f/' kernels/factor.h
check "cargo: builds after a kernel's header changed" cargo_build
on_each_device "cargo: which is in the program" "$(by_type_and_by_name 2997.5 5994.5)" \
    target/debug/saxpy
touch "$WORK/mark"
check "cargo: builds with nothing to do" cargo_build
check "cargo: nothing to do makes nothing" sh -c \
    "[ -z \"\$(find target -name '*.a' -newer '$WORK/mark')\" ]"

# The crate's page, as it stands: a program with kpack's own kernels.
page=$ROOT/src/rust/kpack/README.md
from_page() { # language: the page's first text in it
    awk -v fence="\`\`\`$1" '$0 == fence { take = 1; next } /^```/ && take { exit } take' "$page"
}
mkdir -p "$WORK/minutes/src" && cd "$WORK/minutes" || exit 1
{
    printf '[package]\nname = "minutes"\nversion = "1.0.0"\nedition = "2021"\n\n'
    from_page toml | sed "s,/usr/local,$prefix,"
} >Cargo.toml
from_page ignore >src/main.rs
check "cargo: the crate's page builds" cargo_build
for device in gfx942 gfx1100; do
    check "cargo: and runs on $device" sh -c "KPK_SIM_DEVICES=$device LD_LIBRARY_PATH='$sim' \
        target/debug/minutes | grep -x '.*: c\[999\] = 999.5'"
done
check "cargo: and links one module" sh -c "'$prefix/bin/kpack' list target/debug/minutes >'$WORK/modules' &&
    grep -q vector_add '$WORK/modules' && ! grep -q affine '$WORK/modules'"
cd "$ROOT" || exit 1
finish
