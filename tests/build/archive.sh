#!/bin/sh
# archive.sh - libkpack.a's symbols, and the parts that a program links
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
lib=$H/libkpack.a

# ---- symbols and sections ----

defined() { # external names that the archive defines
    nm -g --defined-only "$lib" | awk 'NF == 3 { print $3 }' | sort -u
}
only_ours() {
    # AddressSanitizer defines a symbol of its own for each variable.
    defined | grep -q . && ! defined | grep -v -e '^kpk_' -e '^__odr_asan\.kpk_'
}
no_constructors() {
    ! readelf -SW "$lib" | grep -E '\.(init_array|ctors|preinit_array|dtors|init|fini) '
}
# A destructor in unpack.c gives back the memory of decompressed code objects
# when a plug-in is closed. No other member has one.
one_destructor() {
    readelf -SW "$lib" |
        awk '/^File: /{ member = $2 } / \.fini_array /{ print member }' |
        sed 's/.*(\(.*\))/\1/' | sort -u >"$WORK/destructors"
    printf 'unpack.o\n' | cmp - "$WORK/destructors"
}
# A writable section of a member other than the few that the runtime is
# allowed: what is relocated is .data.rel.ro, read-only once linked.
blobs_read_only() {
    ar t "$lib" | grep -E '^pack\.' | while read -r member; do
        ar p "$lib" "$member" >"$WORK/member.o"
        readelf -SW "$WORK/member.o" |
            awk '$2 ~ /^\.(data|bss)/ || $3 ~ /^\.(data|bss)/' |
            sed 's/^ *\[ *\([0-9]*\)\]/\1/' |
            awk -v m="$member" '$2 != ".data.rel.ro" &&
                $2 != ".data.rel.ro.local" && $5 !~ /^0+$/ && $6 !~ /^0+$/ {
                    print m, $0; bad = 1 } END { exit bad }' || exit 1
    done
}
check "all names start with kpk_" only_ours
check "none starts with kpack_" sh -c "! nm '$lib' | grep ' kpack_'"
if [ "$B" = "$H" ]; then # sanitizers have constructors of their own
    check "no constructors" no_constructors
    check "a destructor in unpack.c alone" one_destructor
    check "a pack's data is read-only" blobs_read_only
fi

# ---- bytes ----

same_bytes() { # module target: the array in the archive is the file
    c_name=$(echo "$2" | sed 's/+/_on/g;s/-:/_off:/g;s/-$/_off/;s/[:-]/_/g')
    ar p "$lib" "pack.$1.$c_name.o" >"$WORK/blob.o" &&
        objcopy -O binary -j .rodata -j .lrodata "$WORK/blob.o" "$WORK/blob" &&
        { cat "$B/blob/$2/$1.head" "$B/hsaco/$2/$1.hsaco" && printf '\0'; } |
        cmp - "$WORK/blob"
}
hash_in_table() { # file table
    sha256sum "$1" | cut -d' ' -f1 | sed 's/../0x&/g' >"$WORK/hash"
    sed -n '/{0x/,/}}/p' "$2" | tr -d ' ,{}\n' | grep -qF "$(cat "$WORK/hash")"
}
for file in "$B"/hsaco/*/vector_add.hsaco; do
    target=$(basename "$(dirname "$file")")
    grep -qF "/* $target */" "$B/gen/vector_add.c" || continue # of older ARCHS
    check "vector_add for $target is in the archive" same_bytes vector_add \
        "$target"
    check "its SHA-256 is in the table" hash_in_table "$file" \
        "$B/gen/vector_add.c"
done

# ---- linking what is named ----

program() { # symbol output
    cat >"$WORK/use.c" <<END
#include <stdio.h>
#include <kpack.h>
extern const kpk_module $1;
int main(void)
{
    return puts(kpk_module_name(&$1)) < 0;
}
END
    # shellcheck disable=SC2086 # flags are words
    $CC -Iinclude ${SAN:+-fsanitize=$SAN} "$WORK/use.c" "$lib" -pthread -ldl \
        -o "$2"
}
whole_program() {
    sed 's/kpk_module kpk_module_vector_add/kpk_pack kpk_candle/
         s/kpk_module_name(&kpk_module_vector_add)/kpk_pack_name(\&kpk_candle)/' \
        "$WORK/use.c" >"$WORK/whole.c"
    $CC -Iinclude ${SAN:+-fsanitize=$SAN} "$WORK/whole.c" "$lib" -pthread -ldl \
        -o "$WORK/whole"
}
modules_in() { # program: modules whose code objects it holds
    nm "$1" | sed -n 's/.* kpk_module_\([a-z0-9_]*\)$/\1/p' |
        while read -r m; do [ -e "$B/gen/$m.c" ] && echo "$m"; done
}
blob_bytes() { # program: bytes of its code objects, by their symbols
    nm -S "$1" | awk '$4 ~ /^kpk_i_.*_gfx/ { print $2 }' |
        while read -r hex; do echo $((0x$hex)); done |
        awk '{ n += $1 } END { print n + 0 }'
}
file_bytes() { # module: bytes of the code objects in its table, with heads and NULs
    total=0
    for f in "$B"/hsaco/*/"$1".hsaco; do
        target=$(basename "$(dirname "$f")")
        grep -qF "/* $target */" "$B/gen/$1.c" || continue
        total=$((total + $(cat "$f" "$B/blob/$target/$1.head" | wc -c) + 1))
    done
    echo $total
}
check "a program of one module links" program kpk_module_vector_add \
    "$WORK/one"
check "it runs" sh -c "'$WORK/one' | grep -x vector_add"
check "a program of the whole pack links" whole_program
check "it runs" sh -c "'$WORK/whole' | grep -x candle"
check "the one holds vector_add alone" \
    test "$(modules_in "$WORK/one")" = vector_add
check "its code objects are those of vector_add to the byte" \
    test "$(blob_bytes "$WORK/one")" -eq "$(file_bytes vector_add)"
check "the whole holds more" \
    test "$(blob_bytes "$WORK/whole")" -gt "$(blob_bytes "$WORK/one")"
# A shared library cannot be loaded into a static program: a sentence, no crash.
static_program() {
    cat >"$WORK/static.c" <<END
#include <stdio.h>
#include <kpack.h>
int main(void)
{
    int n;
    printf("%s: ", kpk_status_name(kpk_device_count(&n)));
    return puts(kpk_error_message()) < 0;
}
END
    $CC -static -Iinclude "$WORK/static.c" "$lib" -pthread -ldl -o "$WORK/static"
}
if [ "$B" = "$H" ]; then # sanitizers do not link statically
    check "a static program links" static_program
    check "it says why it has no HIP" sh -c "LD_LIBRARY_PATH='$H/sim' \
        '$WORK/static' | grep 'KPK_ERR_NO_DRIVER: this program is linked with -static'"
fi
one=$(wc -c <"$WORK/one") whole=$(wc -c <"$WORK/whole")
check "the file of the one is smaller by the rest of the pack: $one, $whole" \
    test $((whole - one)) -ge \
    $(($(blob_bytes "$WORK/whole") - $(blob_bytes "$WORK/one")))
finish
