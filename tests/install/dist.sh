#!/bin/sh
# dist.sh - the tarball of `make dist`, built where cc, make and xxd are all
#
# The place is a folder with copies of these, the C library and the usual small
# tools, entered with chroot in namespaces of its own: no clang, no HIP, no
# libelf, no cmocka, no network, nothing of this tree. Needs no root.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
make_cflags=-O2 # as for users
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build}
version=$(sed -n 's/.*KPK_VERSION_STRING "\(.*\)"/\1/p' include/kpack.h)
name=kpack-$version
if [ -n "${SAN-}" ]; then # no part has sanitizers
    check "there is a version" test -n "$version"
    finish
fi

# ---- the tarball ----

make_dist() { # folder goal...
    folder=$1
    shift
    plain_make "$@" MODULES="vector_add affine" ARCHS="gfx942 gfx90a:xnack-" \
        KPACK_GEN="$B/kpack-gen" B="$folder"
}
a=$WORK/a b=$WORK/b
check "make dist" make_dist "$a" dist lib
check "and again, elsewhere" make_dist "$b" dist
check "the same bytes" cmp "$a/$name.tar.gz" "$b/$name.tar.gz"
check "its own sum" sh -c "cd '$a' && sha256sum -c $name.tar.gz.sha256"
mkdir "$WORK/out"
check "it unpacks" tar xzf "$a/$name.tar.gz" -C "$WORK/out"
tree=$WORK/out/$name
check "every sum is right" sh -c "cd '$tree' && sha256sum -c --quiet SHA256SUMS"
check "every file has one" env LC_ALL=C sh -c "$(cat <<END
cd '$tree' && find . -type f ! -name SHA256SUMS | sed 's,^\./,,' | sort >'$WORK/files' &&
    sed 's/^[0-9a-f]*  //' SHA256SUMS | sort | cmp - '$WORK/files'
END
)"
spdx() { # python expression over doc
    python3 -c "import json, sys, hashlib
doc = json.load(open('$tree/kpack.spdx.json'))
assert $1"
}
check "SPDX: version, licence, one package" spdx \
    "doc['spdxVersion'] == 'SPDX-2.3' and [p['licenseDeclared'] for p in doc['packages']] == ['MIT']"
check "SPDX: every file but the two lists" spdx \
    "sorted(f['fileName'] for f in doc['files']) == sorted('./' + n for n in open('$WORK/files').read().split() if n != 'kpack.spdx.json')"
check "SPDX: its sums are right" spdx \
    "all(hashlib.sha256(open('$tree/' + f['fileName'], 'rb').read()).hexdigest() == f['checksums'][1]['checksumValue'] for f in doc['files'])"
check "SPDX: the package's verification code is right" spdx \
    "hashlib.sha1(''.join(sorted(f['checksums'][0]['checksumValue'] for f in doc['files'])).encode()).hexdigest() == doc['packages'][0]['packageVerificationCode']['packageVerificationCodeValue']"
program_of "$tree/README.md" >"$WORK/app.c"
program_of README.md >"$WORK/of_readme.c"
check "its README.md has README.md's program" cmp "$WORK/app.c" "$WORK/of_readme.c"
check "and names targets and modules" sh -c "grep -x 'gfx90a:xnack- gfx942' '$tree/README.md' && grep -x 'vector_add affine' '$tree/README.md'"
goals_that_are_not() { # goals of make that the page names, and make there has not
    make -C "$tree" --no-print-directory help >"$WORK/help" &&
        grep -oE 'make [a-z-]+' "$tree/README.md" | cut -d' ' -f2 | sort -u >"$WORK/named" && [ -s "$WORK/named" ] &&
        while read -r goal; do grep -qE "^  $goal( |\$)" "$WORK/help" || echo "make $goal"; done <"$WORK/named"
}
check "it names no goal that is not there" test -z "$(goals_that_are_not)"
check "its pages have no link to nowhere" test -z "$(dead_links "$tree")"
check "no path of this machine in it" sh -c \
    "! grep -rlF -e '$ROOT' -e '$WORK' '$tree'"

# ---- a tool that fails on the way ----

lets_it_stay() { # tool that fails
    mkdir -p "$WORK/failing" && printf '#!/bin/sh\necho half\nexit 2\n' >"$WORK/failing/$1" &&
        chmod +x "$WORK/failing/$1"
    cp "$a/$name.tar.gz" "$WORK/before"
    PATH=$WORK/failing:$PATH make_dist "$a" dist && return 1
    rm -r "$WORK/failing"
    cmp "$WORK/before" "$a/$name.tar.gz" && (cd "$a" && sha256sum -c "$name.tar.gz.sha256")
}
check "an archive stays where tar fails" lets_it_stay tar
check "and where gzip does" lets_it_stay gzip

# ---- signed and checked, as gen/README.md says ----

if command -v gpg >/dev/null; then
    GNUPGHOME=$WORK/gpg
    export GNUPGHOME
    mkdir -m 700 "$GNUPGHOME"
    from_page() { # gpg's option: the page's line, for this archive
        sed -n "s,^\\(gpg $1.*\\)build/kpack-[0-9.]*tar,\\1kpack-0.tar,;/^gpg $1/s/kpack-[0-9.]*\\.tar/$name.tar/gp" "$tree/gen/README.md"
    }
    in_folder() { (cd "$a" && sh -c "$1"); }
    check "a key" gpg --batch --quiet --passphrase '' --quick-generate-key somebody default sign never
    sign=$(from_page --armor) verify=$(from_page --verify)
    check "the page of the tree says how" test -n "$sign" -a -n "$verify"
    check "$sign" in_folder "$sign"
    check "$verify" in_folder "$verify"
    cp "$a/$name.tar.gz" "$WORK/kept"
    printf 'x' >>"$a/$name.tar.gz"
    refuse "an archive that was changed" "BAD signature" in_folder "$verify"
    mv "$WORK/kept" "$a/$name.tar.gz"
    gpgconf --kill all
else
    skip "no gpg: the archive is not signed"
fi

refuse "make dist of a compressed pack" "takes no IMPORT= and no COMPRESS=" \
    plain_make dist MODULES=vector_add ARCHS=gfx942 COMPRESS=zstd \
    KPACK_GEN="$B/kpack-gen" B="$a"

# ---- a place with nothing but cc, make and xxd ----

if ! unshare -rmn true 2>/dev/null || ! command -v dpkg >/dev/null; then
    skip "no user namespaces here, or no dpkg to copy a compiler by"
    finish
fi
jail=$WORK/jail
gcc=$(gcc -dumpversion | cut -d. -f1)
tools="sh bash make xxd x86_64-linux-gnu-gcc-$gcc as ld ar nm ranlib objcopy awk sed grep cut tr
    sort uniq head tail wc cat cp mv rm mkdir rmdir ln ls chmod touch cmp find
    xargs install mktemp dirname basename env expr date nproc sleep printf
    echo test sha256sum tar gzip id uname tee true false"
copy() { # file...: to the same place below the jail
    for file in "$@"; do
        mkdir -p "$jail$(dirname "$file")"
        [ -e "$jail$file" ] || cp -L "$file" "$jail$file"
    done
}
fill_jail() {
    for tool in $tools; do
        path=$(command -v "$tool") || continue
        case $path in /*) ;; *) path=/usr/bin/$tool ;; esac
        copy "$path"
    done
    ln -sf "x86_64-linux-gnu-gcc-$gcc" "$jail/usr/bin/cc"
    libexec=/usr/lib/gcc/x86_64-linux-gnu/$gcc
    for file in cc1 collect2 crtbegin.o crtbeginS.o crtend.o crtendS.o libgcc.a \
        libgcc_eh.a libgcc_s.so lto-wrapper liblto_plugin.so; do
        copy "$libexec/$file"
    done
    cp -R "$libexec/include" "$jail$libexec/"
    dpkg -L libc6-dev linux-libc-dev | grep -E '^/usr/(include|lib)/.*\.(h|o|a|so)$' |
        grep -v -e '/libc\.a$' -e '/libm-.*\.a$' | while read -r file; do
        [ -f "$file" ] && copy "$file"
    done
    copy /lib64/ld-linux-x86-64.so.2
    # Libraries of these programs.
    find "$jail" -type f \( -perm -100 -o -name '*.so*' \) -exec ldd {} + 2>/dev/null |
        sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u | while read -r file; do copy "$file"; done
    copy /lib/x86_64-linux-gnu/libgcc_s.so.1 /lib/x86_64-linux-gnu/libm.so.6 /lib/x86_64-linux-gnu/libmvec.so.1
    mkdir -p "$jail/dev" "$jail/proc" "$jail/tmp" "$jail/bin" "$jail/src"
    [ -e "$jail/bin/sh" ] || ln -s "$(command -v sh)" "$jail/bin/sh"
    cp -R "$tree" "$jail/src/"
}
inside() { # command: in the jail, in the tree
    # shellcheck disable=SC2016 # the inner shell's
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare -rmn --pid --fork sh -c '
        mount --rbind /dev "$0/dev" &&
        { mount -t proc proc "$0/proc" || mount --rbind /proc "$0/proc"; } 2>/dev/null &&
        exec chroot "$0" /usr/bin/env -C "/src/'"$name"'" \
            PATH=/usr/bin:/bin TMPDIR=/tmp "$@"' "$jail" "$@"
}
check "the place is made" fill_jail
check "no clang, no C++, no ELF or HIP headers, no zstd, no cmocka, no python" inside sh -c \
    '! command -v clang && ! command -v clang-22 && ! command -v c++ && ! command -v python3 &&
     ! ls /usr/include/hip /usr/include/libelf.h /usr/include/cmocka.h /usr/include/zstd.h 2>/dev/null'
check "make" inside make -j2
cp "$WORK/check.out" "$WORK/make.out"
check "nothing was compiled for a GPU" sh -c "! grep HIPCC '$WORK/make.out'"
check "libkpack.a is that of the sources, to the byte" cmp "$a/libkpack.a" \
    "$jail/src/$name/build/libkpack.a"
check "make check" inside make check -j2
cp "$WORK/check.out" "$WORK/unit.out"
check "all unit tests passed" grep -Ex '[0-9]{2,} passed, 0 failed(, [12] skipped)?' "$WORK/unit.out"
check "those left out are named" grep -F 'left out' "$WORK/unit.out"
check "make install" inside make install PREFIX=/usr/local DESTDIR=/stage
for file in lib/libkpack.a include/kpack.h include/kpack/candle/affine.h bin/kpack; do
    check "$file is installed" test -s "$jail/stage/usr/local/$file"
done
cp "$ROOT/tests/demo/demo.c" "$jail/src/$name/"
check "a program builds with what was installed" inside cc -I/stage/usr/local/include \
    demo.c /stage/usr/local/lib/libkpack.a -ldl -lm -pthread -o demo
cp "$WORK/app.c" "$jail/src/$name/"
check "and so does the one of its page" inside cc -I/stage/usr/local/include \
    app.c /stage/usr/local/lib/libkpack.a -ldl -pthread -o app
check "the command lists the pack" inside /stage/usr/local/bin/kpack list
check "make uninstall" inside make uninstall PREFIX=/usr/local DESTDIR=/stage
check "nothing is left of it" test -z "$(find "$jail/stage/usr/local" -type f)"
refuse "other targets" "this tree holds pack candle, compiled for ARCHS='gfx90a:xnack- gfx942'" \
    inside make ARCHS=gfx1100
refuse "fewer modules" "with MODULES='vector_add affine'" inside make MODULES=affine
check "a code object that changed" sh -c \
    "echo >>'$jail/src/$name/prebuilt/hsaco/gfx942/affine.hsaco'"
refuse "is refused" "prebuilt/hsaco/gfx942/affine.hsaco: FAILED" inside make B=b2
sed -i 's/assert_int_equal(fake->nloads, 1)/assert_int_equal(fake->nloads, 2)/' \
    "$jail/src/$name/tests/unit/test_kernels.c"
refuse "a unit test that fails fails there too" "1 failed" inside make check -j2

# On a simulated GPU, outside.
for device in gfx942 gfx90a:xnack-; do
    check "its demo runs on $device" env KPK_SIM_DEVICES=$device "$jail/src/$name/demo"
done
finish
