#!/bin/sh
# kpak.sh - imports, lists and refuses AMD's kernel archives, and libraries whose
# code lies in such archives
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
make_kpak=$H/test/import/make_kpak
gen=$B/kpack-gen

# Real code objects, for two targets of the build.
targets=$(cd "$B/hsaco" && printf '%s\n' gfx*/vector_add.hsaco | cut -d/ -f1)
# shellcheck disable=SC2086
set -- $targets
one=$1 two=$2
object() { echo "$B/hsaco/$1/${2:-vector_add}.hsaco"; }
# Small synthetic code objects, for gfx942 and gfx950.
check "code objects are made" "$H/test/import/make_tree" "$WORK/hsa" 100 600000
# shellcheck disable=SC2046
set -- $(find "$WORK/hsa/gfx942" -name '*.co' | sort)
a=$1 b=$2 c=$3

# ---- a tree as AMD installs it ----

tree=$WORK/rocm
mkdir -p "$tree/lib" "$tree/.kpack" "$tree/bin"
path='../.kpack/rand_lib_@GFXARCH@.kpack'
check "an archive of one target" "$make_kpak" "$tree/.kpack/rand_lib_$one.kpack" none rand \
    "lib/librand.so#0@$one=$(object "$one")" "lib/librand.so#1@$one=$(object "$one" affine)"
check "and a compressed one of another" "$make_kpak" "$tree/.kpack/rand_lib_$two.kpack" zstd rand \
    "lib/librand.so#0@$two=$(object "$two")" "lib/librand.so#1@$two=$(object "$two" affine)"
check "the library of both" "$make_kpak" "$tree/lib/librand.so.1" library lib/librand.so 2 "$path"
ln -s librand.so.1 "$tree/lib/librand.so"
check "an archive that stands alone" "$make_kpak" "$tree/fmha_gfx942.kpack" zstd fmha \
    "fmha/fwd.co@gfx942=$a"
check "a program without kernels" "$make_kpak" "$tree/bin/tool" library bin/tool 0 "$path"
built=$WORK/b
import() { # pack folder
    plain_make PACK="$1" IMPORT="$2" B="$built" KPACK_GEN="$gen"
}
check "they are imported" import rocm "$tree"
cp "$WORK/check.out" "$WORK/import.out"
check "a library without kernels is noted" grep -qF "bin/tool: note: passed over" "$WORK/import.out"
kpack=$built/kpack
listed() { # prints a list's modules and targets
    "$kpack" list "$@" --json | python3 -c 'import json, sys
all = json.load(sys.stdin)
for m in all.get("modules", []):
    for o in m["objects"]:
        print(m["name"], o["target"])
for o in all.get("objects", []):
    print(o["module"], o["target"])' | sort
}
printf '%s\n' "fmha/fwd.co gfx942" "lib/librand.so#0 $one" "lib/librand.so#0 $two" "lib/librand.so#1 $one" \
    "lib/librand.so#1 $two" | sort >"$WORK/wanted"
same_modules() { listed | diff "$WORK/wanted" -; }
check "modules are named by the keys" same_modules
for t in "$one" "$two"; do
    check "a code object for $t is extracted" "$kpack" extract 'lib/librand.so#1' "$t" -o "$WORK/extracted"
    check "as it was" cmp "$WORK/extracted" "$(object "$t" affine)"
done
cat >"$WORK/use.c" <<'USE'
#include <kpack.h>
#include <kpack/rocm.h>
#include <stdio.h>
int main(void)
{
    const kpk_module *m = kpk_pack_find(&kpk_rocm_lib, "lib/librand.so#0");
    return !m || kpk_module_object_count(m) != 2;
}
USE
used() {
    $CC -Iinclude -I"$built/include" "$WORK/use.c" "$built/libkpack.a" -ldl -lm -pthread -o "$WORK/use" && "$WORK/use"
}
check "a program links the library's part" used

# ---- the command on archives and libraries ----

small=$tree/.kpack/rand_lib_$two.kpack library=$tree/lib/librand.so
printf '%s\n' "lib/librand.so#0 $two" "lib/librand.so#1 $two" >"$WORK/wanted.two"
list_is() { # wanted file
    listed "$2" | diff "$1" -
}
check "list of an archive" list_is "$WORK/wanted.two" "$small"
sed '/fmha/d' "$WORK/wanted" >"$WORK/wanted.library"
check "list of a library has the code of all its archives" list_is "$WORK/wanted.library" "$library"
check "and says which are there" says "rand_lib_$one.kpack ($one): 2 of 2 units" "$kpack" list "$library"
check "and of which path" says "$path: 2 are there" "$kpack" verify "$library"
check "verify of an archive" says "2 code objects are whole" "$kpack" verify "$small"
check "is right" "$kpack" verify "$small"
check "and for which GPUs" says "runs on: $two" "$kpack" verify "$small"
check "info of an archive" says "group rand, family $two, compression zstd-per-kernel" "$kpack" info "$small"
check "info of a library" says "lib/librand.so: 2 translation units" "$kpack" info "$library"
refuse "info of another file" "is a file; \`kpack list" "$kpack" info "$WORK/use.c"
json_says() { # expression command...
    expression=$1
    shift
    "$@" --json | python3 -c "import json, sys; sys.exit(not ($expression))"
}
all='(lambda d: %s)(json.load(sys.stdin))'
# shellcheck disable=SC2059
json_of() { # expression of d, command...
    expression=$(printf "$all" "$1")
    shift
    json_says "$expression" "$@"
}
check "JSON of a library" json_of 'd["library"]["missing"] == 0 and len(d["archives"]) == 2' "$kpack" list "$library"
check "of its verify" json_of 'd["library"]["units"] == 2 and len(d["packs"]) == 1' "$kpack" verify "$library"
check "of its info" json_of 'd["library"]["search_paths"] == ["'"$path"'"]' "$kpack" info "$library"
check "of an archive" json_of 'd["archives"][0]["compression"] == "zstd-per-kernel"' "$kpack" info "$small"
check "extract from a compressed archive" "$kpack" extract "$small" 'lib/librand.so#1' "$two" -o "$WORK/extracted"
check "gives the file" cmp "$WORK/extracted" "$(object "$two" affine)"
check "extract from a library" "$kpack" extract "$library" 'lib/librand.so#0' "$one" -o "$WORK/extracted"
check "gives the archive's" cmp "$WORK/extracted" "$(object "$one")"
cp -R "$tree" "$WORK/less"
rm "$WORK/less/.kpack/rand_lib_$two.kpack"
check "a library with fewer archives" "$kpack" verify "$WORK/less/lib/librand.so"
"$make_kpak" "$WORK/less/lib/librand.so.1" library lib/librand.so 3 "$path" /nowhere/x.kpack
refuse "a unit that no archive has" "MISSING: the code of 1 translation unit, from lib/librand.so#2 on" \
    "$kpack" verify "$WORK/less/lib/librand.so"
rm "$WORK/less/.kpack/rand_lib_$one.kpack"
refuse "no archive at all" "$path: none is there" "$kpack" list "$WORK/less/lib/librand.so"
refuse "nor is anything to be verified" "MISSING: the code of 3 translation units" "$kpack" verify "$WORK/less/lib/librand.so"
printf 'KPAK\1\0\0\0' >"$WORK/less/.kpack/rand_lib_$one.kpack"
refuse "a damaged archive of a library" "AMD's kernel archive is truncated" "$kpack" list "$WORK/less/lib/librand.so"
mkfifo "$WORK/less/.kpack/rand_lib_gfx1.kpack"
check "a FIFO is not waited for" says "MISSING" timeout 20 "$kpack" info "$WORK/less/lib/librand.so"
"$make_kpak" "$WORK/one.kpack" zstd '' "k@gfx942=$a" "l@gfx90a:xnack+=$b" "m@gfx11-generic=$c" "n@gfx942=$WORK/use.c" "p@gfx9999=$a" \
    "o@gfx942=$gen"
command_says() { # words: of an archive with damaged ones
    check "$1" says "$1" "$kpack" verify "$WORK/one.kpack"
}
command_says "2 modules, 2 code objects" # one for a target that is in no table
command_says "it is for another target than the archive says"
command_says "not an ELF file"
command_says "not a code object for AMDGPU"
refuse "a damaged archive" "code object at byte" "$kpack" verify "$WORK/one.kpack"
sed 's/zstd-per-kernel/lzma-per-kernel/' "$WORK/one.kpack" >"$WORK/other.kpack"
refuse "another compression" "its compression scheme is not known" "$kpack" list "$WORK/other.kpack"
sed 's/kernel_name/kernel_nome/' "$library" >"$WORK/nameless.so"
refuse "a library that does not say its name" ".rocm_kpack_ref is damaged: no kernel_name" "$kpack" list "$WORK/nameless.so"

# ---- the same through the generator alone ----

gen_import() { # folder
    rm -rf "$WORK/out"
    "$gen" import made "$WORK/out" "$1"
}
fresh() { # name: a library and an archive of its
    t=$WORK/$1
    mkdir -p "$t/lib" "$t/.kpack"
    "$make_kpak" "$t/lib/lib.so" library lib/lib.so 1 "../.kpack/lib_@GFXARCH@.kpack" &&
        "$make_kpak" "$t/.kpack/lib_gfx942.kpack" none lib "lib/lib.so#0@gfx942=$a"
}
fresh old
"$make_kpak" "$WORK/old/.kpack/lib_gfx942.kpack" zstd lib "lib/lib.so@gfx942=$a"
check "older archives have no number" gen_import "$WORK/old"
fresh families
"$make_kpak" "$WORK/families/.kpack/lib_gfx950.kpack" zstd lib "lib/lib.so#0@gfx950=$WORK/hsa/gfx950/${a#"$WORK/hsa/gfx942/"}"
"$make_kpak" "$WORK/families/.kpack/other.kpack" none other "lib/other.so#0@gfx942=$b"
ln -s lib_gfx942.kpack "$WORK/families/.kpack/lib_gfx942_again.kpack"
check "families, another library's archive, and a link" gen_import "$WORK/families"
check "all of them are there" sh -c "grep -c '' '$WORK/out/kinds.mk' && grep -rqF 'lib/other.so#0' '$WORK/out'"
fresh packages
mkdir -p "$WORK/packages/gfx942/.kpack"
mv "$WORK/packages/.kpack/lib_gfx942.kpack" "$WORK/packages/gfx942/.kpack"
check "a library in another package than its archives" says "note: its archives are in another folder" \
    gen_import "$WORK/packages"
check "is imported" gen_import "$WORK/packages"
fresh hosts
cp "$WORK/hosts/lib/lib.so" "$WORK/hosts/lib/lib.so.1"
cp "$H/obj/src/select_object.o" "$WORK/hosts/lib/libhost.so"
cp "$H/obj/src/select_object.o" "$WORK/hosts/program"
ar rcs "$WORK/hosts/lib/libother.a" "$H/obj/src/select_object.o"
check "files of the host beside AMD's archives" gen_import "$WORK/hosts"
check "are noted" says "lib/libhost.so: note: passed over, as 3 files of the host" gen_import "$WORK/hosts"
mv "$WORK/hosts/program" "$WORK/hosts/program.co"
refuse "but not one that is called as code" "program.co: an ELF file, but neither" gen_import "$WORK/hosts"
rm -r "$WORK/hosts/.kpack" "$WORK/hosts/lib/lib.so" "$WORK/hosts/lib/lib.so.1" "$WORK/hosts/program.co"
cp "$a" "$WORK/hosts"
refuse "nor without such archives" "libhost.so: an ELF file, but neither" gen_import "$WORK/hosts"
fresh hidden
mkdir "$WORK/hidden/.side"
mv "$WORK/hidden/.kpack/lib_gfx942.kpack" "$WORK/hidden/.side/lib.bin"
"$make_kpak" "$WORK/hidden/lib/lib.so" library lib/lib.so 1 ../../outside.kpack ../.side/lib.bin
check "a path that is no pattern" gen_import "$WORK/hidden"
check "a path that leads out is noted" says "not followed, for it leads out of the tree: ../../outside.kpack" \
    gen_import "$WORK/hidden"

# ---- refusals ----

fresh gone
rm "$WORK/gone/.kpack/lib_gfx942.kpack"
refuse "a library whose archives are gone" "none of them is there: ../.kpack/lib_@GFXARCH@.kpack" gen_import "$WORK/gone"
fresh build
"$make_kpak" "$WORK/build/lib/lib.so" library lib/lib.so 2 "../.kpack/lib_@GFXARCH@.kpack"
refuse "archives of another build" "none of its 1 archives has a code object of lib/lib.so#1" gen_import "$WORK/build"
fresh whole
refuse "a folder without the archives" "leads out of the tree; import the folder that holds both" \
    gen_import "$WORK/whole/lib"
fresh link
mv "$WORK/link/.kpack" "$WORK/elsewhere"
ln -s ../elsewhere "$WORK/link/.kpack"
refuse "archives behind a link that leads out" "is a link that leads out of the tree" gen_import "$WORK/link"
fresh damaged
printf 'HIPF' | dd of="$WORK/damaged/lib/lib.so" bs=1 conv=notrunc status=none \
    seek="$(grep -abo HIPK "$WORK/damaged/lib/lib.so" | cut -d: -f1)"
refuse "a library that is marked in part" "wrapper 0 is not marked HIPK" gen_import "$WORK/damaged"

bad=$WORK/bad
mkdir "$bad"
"$make_kpak" "$WORK/whole.kpack" zstd a "a#0@gfx942=$a" "a#1@gfx942=$b"
"$make_kpak" "$WORK/plain.kpack" none a "a#0@gfx942=$a"
head -c 300 "$WORK/whole.kpack" >"$bad/cut.kpack"
head -c 300 "$WORK/plain.kpack" >"$bad/cut-plain.kpack"
printf 'KPAK\1\0\0\0' >"$bad/header.kpack"
echo text >"$bad/text.kpack"
{ cat "$WORK/plain.kpack" && echo; } >"$bad/longer.kpack"
sed 's/zstd-per-kernel/lzma-per-kernel/' "$WORK/whole.kpack" >"$bad/scheme.kpack"
sed 's/a#1/a#0/' "$WORK/whole.kpack" >"$bad/twice.kpack"
cp "$WORK/whole.kpack" "$bad/frame.kpack"
dd if=/dev/zero of="$bad/frame.kpack" bs=1 seek=100 count=64 conv=notrunc status=none
cp "$WORK/plain.kpack" "$bad/first.kpack"
cp "$WORK/plain.kpack" "$bad/second.kpack"
"$make_kpak" "$bad/target.kpack" none a "t#0@gfx950=$a"
"$make_kpak" "$bad/lib_gfx950.kpack" none a "l#0@gfx942=$a"
"$make_kpak" "$bad/feature.kpack" none a "f#0@gfx942:xnack+=$a"
echo garbage >"$WORK/garbage"
"$make_kpak" "$bad/garbage.kpack" zstd a "g#0@gfx942=$WORK/garbage"
sed 's/gfx942/gfx940/' "$WORK/plain.kpack" >"$bad/family.kpack"
sed 's/\xaagfx_arches\x91\xa6gfx942/\xaagfx_arches\x91\xa6gfx940/' "$WORK/plain.kpack" >"$bad/list.kpack"
refuse "a tree of bad archives" "nothing was written" gen_import "$bad"
cp "$WORK/check.out" "$WORK/bad.out"
bad_says() { # file words
    check "$1: $2" grep -qE -e "^$bad/$1: .*$2" "$WORK/bad.out"
}
bad_says cut.kpack "truncated: its table of contents begins at byte .*; copy it again"
bad_says cut-plain.kpack "truncated: its table of contents begins at byte"
bad_says header.kpack "truncated in its header"
bad_says text.kpack "AMD's kernel archive is not one"
bad_says longer.kpack "1 bytes follow its table of contents"
bad_says scheme.kpack "compression scheme is not known"
bad_says twice.kpack "a#0 is there twice"
bad_says frame.kpack "a#0 for gfx942: damaged: its zstd frame does not hold"
bad_says second.kpack "a second code object of module a#0 for gfx942, after .*first.kpack; remove one of the two"
bad_says target.kpack "t#0 for gfx950: is for gfx942, but labelled gfx950"
bad_says lib_gfx950.kpack "l#0 for gfx942: is for gfx942, but labelled gfx950"
bad_says feature.kpack "is for gfx942.*, but labelled gfx942:xnack"
bad_says garbage.kpack "g#0 for gfx942: not an ELF file"
bad_says list.kpack "mislabelled: a#0 is there for gfx942, which gfx_arches"
finish
