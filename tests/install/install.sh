#!/bin/sh
# install.sh - a program of somebody else, built from the installed files only
#
# The program is the README's, exactly as printed there.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
stage=$WORK/stage prefix=/opt/kpack-test

# gen/ship/install is what `make install` runs; everything is built by now.
version=$(sed -n 's/.*KPK_VERSION_STRING "\(.*\)"/\1/p' include/kpack.h)
check "install" gen/ship/install "$B" "$H" "$stage" "$prefix" candle "$version"
for file in lib/libkpack.a lib/pkgconfig/kpack.pc include/kpack.h \
    include/kpack/candle.h include/kpack/format.h include/kpack/host_code.h include/kpack/types.h \
    include/kpack/candle_launch.h include/kpack/candle/vector_add.h bin/kpack \
    share/man/man1/kpack.1 share/kpack/kpack.mk libexec/kpack/kpack-gen \
    share/kpack/find-compiler libexec/kpack/kpack-embed share/kpack/constants.c \
    share/kpack/target_table.h share/kpack/sm_table.h share/kpack/gguf_formats.h share/kpack/wide-targets share/kpack/native-targets \
    share/bash-completion/completions/kpack share/zsh/site-functions/_kpack \
    share/fish/vendor_completions.d/kpack.fish share/kpack/device/device.h \
    share/doc/kpack/README.md share/doc/kpack/gen/README.md lib/cmake/kpack/kpackConfig.cmake \
    lib/cmake/kpack/kpackConfigVersion.cmake; do
    check "$file is installed" test -s "$stage$prefix/$file"
done
for header in target_features.h gguf/formats.h; do
    check "the kernels' $header finds its table" "$CC" -x c -E -o "$WORK/table.i" \
        "$stage$prefix/share/kpack/device/$header"
done
doc=$stage$prefix/share/doc/kpack
check "links of the pages lead somewhere" test -z "$(dead_links "$doc")"
check "the links that can be are there" grep -qF '](../../../include/kpack.h)' "$doc/README.md"
check "examples, too" grep -qF '](../tests/install/own_cmake)' "$doc/gen/README.md"
check "and what has no link is told of" grep -q 'in the source tree of kpack' "$doc/src/README.md"
check "the archive is the one that was built" cmp "$H/libkpack.a" \
    "$stage$prefix/lib/libkpack.a"
check "the command is executable" test -x "$stage$prefix/bin/kpack"
check "the command runs" "$stage$prefix/bin/kpack" --help
check "no path of this tree in the text files" sh -c \
    "! grep -rIF -e '$ROOT' -e '$stage' '$stage$prefix/lib/pkgconfig' \
        '$stage$prefix/include' '$stage$prefix/share' '$stage$prefix/lib/cmake'"

# The same for a second time, over the first.
check "install again" gen/ship/install "$B" "$H" "$stage" "$prefix" candle "$version"

# Behind DESTDIR a relative one would be the end of another folder's name.
refuse "a PREFIX that is relative" "PREFIX=opt: programs look for kpack below an absolute path" \
    gen/ship/install "$B" "$H" "$WORK/else" opt candle "$version"
check "nothing is installed there" sh -c "! ls -d '$WORK/else'*"
quoted() { # make's recipe, as the shell reads it
    plain_make -n install B="$B" H="$H" DESTDIR="$WORK/it's" PREFIX="/a 'b'" PACK=candle |
        sed ':a; /\\$/ { N; s/\\\n//; ba }' |
        sed -n 's,^RUN_BY=.. LIBDIR=.lib. gen/ship/install,printf "%s.",p' | sh | grep -F "$WORK/it's./a 'b'."
}
check "quotes in DESTDIR and PREFIX" quoted

# ---- pkg-config ----

# The sysroot puts DESTDIR before the prefix, as for a package being built.
pc() {
    PKG_CONFIG_PATH=$stage$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$stage \
        pkg-config "$@"
}
check "pkg-config knows the version" test "$(pc --modversion kpack)" = "$version"
check "pkg-config knows the makefile" test -s \
    "$(pc --variable=makefile kpack)"
check "pkg-config follows another prefix" sh -c \
    "PKG_CONFIG_PATH='$stage$prefix/lib/pkgconfig' pkg-config \
        --define-variable=prefix=/elsewhere --cflags kpack | grep /elsewhere/include"

# A folder's name may have what sed, the shell or pkg-config read otherwise.
odd="$WORK/a 'b'&c|d\\e"
odd_pc() {
    PKG_CONFIG_PATH=$odd/lib/pkgconfig pkg-config "$@" kpack
}
odd_program() {
    echo '#include <kpack/candle.h>
int main(void) { return !kpk_pack_module_count(&kpk_candle); }' >"$WORK/odd.c" &&
        eval "$CC" '"$WORK/odd.c"' -o '"$WORK/odd"' "$(odd_pc --cflags --libs)" && "$WORK/odd"
}
check "install into a folder with an odd name" gen/ship/install "$B" "$H" "" "$odd" candle "$version"
check "pkg-config has its name" test "$(odd_pc --variable=prefix)" = "$odd"
[ -n "${SAN-}" ] || check "a program is built with it" odd_program

# ---- the README's program ----

program_of README.md >"$WORK/app.c"
check "README.md has a C program" grep -q 'int main' "$WORK/app.c"

build() { # compiler source output [flags]
    compiler=$1 source=$2 output=$3
    shift 3
    # shellcheck disable=SC2046 # flags are words
    $compiler "$@" ${SAN:+-fsanitize=$SAN} "$source" $(pc --cflags --libs kpack) \
        -o "$output"
}
check "it compiles without a warning" build "$CC" "$WORK/app.c" "$WORK/app" \
    -Wall -Wextra -Werror
check "and the other way that README.md tells" \
    "$CC" ${SAN:+-fsanitize=$SAN} "$WORK/app.c" "-I$B/include" -Iinclude \
    "$H/libkpack.a" -ldl -pthread -o "$WORK/app2"
check "it runs" sh -c "'$WORK/app' | grep -x 'c\[999\] = 999.5'"
check "and so does the other" sh -c "'$WORK/app2' | grep -x 'c\[999\] = 999.5'"
# On each simulated device by itself.
for device in $(echo "${KPK_SIM_DEVICES-}" | tr , ' '); do
    check "it runs on $device" env KPK_SIM_DEVICES="$device" sh -c \
        "'$WORK/app' | grep -x 'c\[999\] = 999.5'"
done
check "it starts without a GPU or HIP, and says so" env -u LD_LIBRARY_PATH \
    KPK_HIP_LIBRARY=/none sh -c "'$WORK/app' 2>&1 | grep -q HIP"

# ---- C++ ----

cat >"$WORK/app.cpp" <<'END'
#include <kpack.h>
#include <kpack/candle.h>
#include <cstdio>
int main()
{
    const kpk_pack *pack = &kpk_candle;
    return std::printf("%s\n", kpk_pack_name(pack)) < 0;
}
END
if command -v c++ >/dev/null; then
    check "headers and archive serve C++11" build c++ "$WORK/app.cpp" \
        "$WORK/appcpp" -std=c++11 -Wall -Wextra -Wpedantic -Werror
    check "the C++ program runs" sh -c "'$WORK/appcpp' | grep -x candle"
fi

# ---- two plug-ins with a pack each, in one process ----

cat >"$WORK/plugin.c" <<'END'
#include <kpack.h>
#include <kpack/candle.h>
const void *NAME(void);
const void *NAME(void)
{
    return kpk_pack_name(&kpk_candle) ? (const void *)&kpk_candle : 0;
}
END
cat >"$WORK/host.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    const void *(*f[2])(void) = {0, 0};
    for (int i = 0; i < 2 && argc == 3; i++) {
        void *so = dlopen(argv[1 + i], RTLD_NOW | RTLD_GLOBAL);
        if (!so)
            return fprintf(stderr, "%s\n", dlerror()), 1;
        *(void **)&f[i] = dlsym(so, i ? "second" : "first");
        if (dlsym(so, "kpk_open"))
            return fprintf(stderr, "kpk_open is exported\n"), 1;
    }
    return !f[0] || !f[1] || f[0]() == f[1]();
}
END
if [ -z "${SAN-}" ]; then
    check "a plug-in links" build "$CC" "$WORK/plugin.c" "$WORK/first.so" \
        -DNAME=first -fPIC -shared
    check "another links" build "$CC" "$WORK/plugin.c" "$WORK/second.so" \
        -DNAME=second -fPIC -shared
    check "a host links" "$CC" "$WORK/host.c" -ldl -o "$WORK/host"
    check "each has its own pack and exports none" "$WORK/host" \
        "$WORK/first.so" "$WORK/second.so"
fi
finish
