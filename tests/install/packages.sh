#!/bin/sh
# packages.sh - Debian packages and the Python wheel, as those have them who install them
#
# A small pack is built in a copy of the tree. The Debian packages run in a root
# of their own that has what they depend on and nothing else; the wheel in an
# environment without other packages.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
if [ -n "${SAN-}" ]; then # no package has sanitizers
    check "there is a generator" test -x "$B/kpack-gen"
    finish
fi
tree=$WORK/tree
copy_tree "$tree" kernels/vector_add.hip kernels/vector_add.csv kernels/types.csv tests/install/packages/numbers.hip
cp include/CHANGELOG.md "$tree/include/"

# To save time, tools and the simulated GPU come from this build.
mkdir "$tree/build"
cp "$B/kpack-gen" "$B/kpack-embed" "$B/kpack-compress" "$tree/build/"
cp -R "$H/sim" "$tree/build/"
make_in_tree() {
    # shellcheck disable=SC2317 # check calls it
    plain_make -C "$tree" -j2 -o build/kpack-gen -o build/kpack-embed -o build/kpack-compress -o sim \
        ARCHS=gfx1100 "$@"
}

for setting in SAN=address CC=aarch64-linux-gnu-gcc; do
    check "make deb and make wheel refuse $setting" says \
        "make deb wheel takes no SAN= and no CC= of another machine" make_in_tree -n deb wheel $setting
done

# ---- the wheel ----

check "make wheel" make_in_tree wheel
wheel=$(echo "$tree"/build/kpack_gpu-*-py3-none-manylinux_*.whl)
check "its name says which glibc" test -e "$wheel"
check "pip installs it without others" sh -c "python3 -m venv '$WORK/venv' &&
    '$WORK/venv/bin/pip' install --quiet --no-index --no-deps --disable-pip-version-check '$wheel'"
on_gpu() { # devices command...
    devices=$1
    shift
    env LD_LIBRARY_PATH="$H/sim" KPK_SIM_DEVICES="$devices" "$@"
}
H=$(realpath "$H")
check "a program calls the kernels" on_gpu gfx1100,gfx1100 "$WORK/venv/bin/python3" -B tests/install/packages/program.py
check "the command is there" says "vector_add " "$WORK/venv/bin/kpack" list
check "with its exit status" status 2 "$WORK/venv/bin/kpack" nothing
check "and ends when nobody reads on" sh -c \
    "'$WORK/venv/bin/kpack' --manual 2>'$WORK/err' | head -n 1 && [ ! -s '$WORK/err' ]"

# ---- Debian packages ----

if ! command -v dh_builddeb >/dev/null; then
    skip "no debhelper: make deb"
    finish
fi
check "make deb" make_in_tree deb
debs=$(echo "$tree"/build/*.deb)
cksum "$tree"/build/*.deb "$wheel" >"$WORK/sums"
check "once more, with the wheel" make_in_tree deb wheel
check "gives the same bytes" sh -c "cksum $debs '$wheel' | cmp - '$WORK/sums'"
if command -v lintian >/dev/null; then
    # shellcheck disable=SC2086 # words
    check "lintian finds nothing" lintian --allow-root --fail-on error,warning $debs
else
    skip "no lintian"
fi

# The root: what the packages depend on, as installed here.
root=$WORK/root
mkdir -p "$root/usr/bin" "$root/usr/lib" "$root/usr/lib64"
for folder in bin lib lib64; do [ ! -L /$folder ] || ln -s usr/$folder "$root/$folder"; done
depends() { # of words as in Depends: a name each, of alternatives the one installed
    tr , '\n' | sed 's/([^)]*)//g;s/:[a-z0-9]*//g' | while IFS='|' read -r first rest; do
        for name in $first $(echo "$rest" | tr '|' ' '); do
            if [ -e "/var/lib/dpkg/info/$name.list" ] || ls "/var/lib/dpkg/info/$name:"*.list >/dev/null 2>&1; then
                echo "$name"
                break
            fi
        done
    done
}
todo="dash coreutils grep $(for deb in "$tree"/build/kpack*.deb; do dpkg-deb -f "$deb" Depends; done | tr '\n' , | depends)"
seen=
while [ -n "$todo" ]; do
    # shellcheck disable=SC2086 # words
    set -- $todo
    todo=
    for name in "$@"; do
        case " $seen " in *" $name "*) continue ;; esac
        seen="$seen $name"
        # shellcheck disable=SC2016 # dpkg's
        todo="$todo $(dpkg-query -W -f '${Depends}, ${Pre-Depends}\n' "$name" | head -n 1 | depends)"
    done
done
# shellcheck disable=SC2086 # words
dpkg -L $seen | grep -v '^/usr/share' | sort -u | while read -r file; do
    if [ -f "$file" ] || [ -L "$file" ]; then echo "$file"; fi
done | tar -C / -cf - -T - 2>/dev/null | tar -C "$root" -xf - --keep-directory-symlink 2>/dev/null
for deb in "$tree"/build/kpack*.deb; do dpkg -x "$deb" "$root"; done
dpkg -x "$tree"/build/libkpack-dev_*.deb "$WORK/dev"

pc() {
    PKG_CONFIG_LIBDIR=$(echo "$WORK"/dev/usr/lib/*/pkgconfig) PKG_CONFIG_SYSROOT_DIR=$WORK/dev pkg-config "$@"
}
program_of README.md >"$WORK/app.c"
# shellcheck disable=SC2046 # flags are words
check "a program is built with libkpack-dev" "$CC" "$WORK/app.c" -o "$root/app" $(pc --cflags --libs kpack)
in_root() { # command...
    # shellcheck disable=SC2317 # check calls it
    unshare -r chroot "$root" env -i PATH=/usr/bin "$@"
}
if unshare -r chroot / true 2>/dev/null; then
    check "kpack-sim runs it" says "c[999] = 999.5" in_root kpack-sim /app
    check "on the GPU that is asked for" says '"target": "gfx1030"' \
        in_root KPK_SIM_DEVICES=gfx1030 kpack-sim kpack devices --json
    check "without kpack-sim there is no GPU" says "no HIP runtime on this machine" in_root /app
    check "kpack-sim alone says how" status 2 in_root kpack-sim
    check "kpack runs" says "vector_add " in_root kpack list
else
    skip "no user namespaces: a root of the packages' own"
fi

mkdir "$WORK/mine" && cd "$WORK/mine" || exit 1
small_kernel mine | sed '/small.h/d;s/SMALL/0/' >mine.hip
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(app C)
find_package(kpack 0.1 REQUIRED)
add_executable(app ../app.c)
target_link_libraries(app PRIVATE kpack::kpack)
END
check "kpack.mk of libkpack-dev builds a pack" plain_make \
    -f "$WORK/dev/usr/share/kpack/kpack.mk" PACK=mine ARCHS=gfx1100
check "CMake finds libkpack-dev" cmake -S . -B c -DCMAKE_PREFIX_PATH="$WORK/dev/usr"
check "and builds a program" cmake --build c
check "links of its pages lead somewhere" test -z "$(dead_links "$WORK/dev/usr/share/doc/libkpack-dev")"
finish
