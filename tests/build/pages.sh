#!/bin/sh
# pages.sh - what README.md and the folders' pages claim is so
#
# The programs of README.md and src/README.md are built and run elsewhere:
# install.sh, packs.sh and moving.sh in tests/.
# shellcheck disable=SC2016 # pages have backticks
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
pages() { # page...
    python3 -B tests/build/pages.py "$H/kpack" "$@"
}
all=$(find README.md include kernels gen src tests -name README.md -o -name CHANGELOG.md | sort)

for page in $all; do
    check "$page" pages "$page"
done
check "README.md is a page to be read: 150 lines" test "$(wc -l <README.md)" -le 150
version=$(sed -n 's/.*KPK_VERSION_STRING "\(.*\)"/\1/p' include/kpack.h)
check "CHANGELOG.md has the version" test "$(grep -m1 '^## [0-9]' include/CHANGELOG.md)" = "## $version"
check "so has Debian's" test "$(sed -n '1s/^kpack (\(.*\)-.*/\1/p' gen/ship/debian/changelog)" = "$version"
case " ${MODULES-affine} " in
*" affine "*)
    # shellcheck disable=SC2086 # flags are words
    check "the examples compile" $CC -std=c99 -Wall -Wextra -Werror -Iinclude "-I$B/include" \
        -c -o "$WORK/examples.o" tests/build/page_examples.c
    ;;
*) skip "the examples are of module affine" ;;
esac
for file in tests/install/moving/*_before.c tests/install/moving/*_after.c \
    tests/asm/gemm_tile.c tests/install/own_make/Makefile; do
    # shellcheck disable=SC2086
    check "a page shows $file" grep -q "^<!-- from: $file -->\$" $all
done

# README.md's output of the demo: make orders the devices by name.
default="gfx1030,gfx1100,gfx1201,gfx90a,gfx942"
demo_prints() {
    sed -n '/^device 0:/,/^PASSED/p' README.md | grep -vFx ... >"$WORK/shown"
    [ "$(wc -l <"$WORK/shown")" -gt 4 ] && ! grep -vFx -f "$WORK/demo" "$WORK/shown"
}
if LD_LIBRARY_PATH="$H/sim" KPK_SIM_DEVICES=$default "$H/demo" >"$WORK/demo" 2>&1; then
    check "README.md shows what the demo prints" demo_prints
else
    skip "no demo for the default targets was built"
fi

# ---- errors are found ----

wrong() { # text words: a page with this text is refused with these words
    mkdir -p "$WORK/gen"
    echo "$1" >"$WORK/gen/page.md"
    refuse "a page with: $1" "$2" pages "$WORK/gen/page.md"
}
wrong '[a](nowhere.md)' 'nowhere.md: no such file'
wrong '[a](#nowhere)' '#nowhere: no such heading'
wrong '<!-- from: Makefile -->
```make
all: nothing
```' 'from Makefile: its text'
wrong '<!-- from: nowhere.c -->
```c
int x;
```' 'from nowhere.c: no such file'
wrong 'run `make demmo` first' 'make demmo: no such goal'
wrong '`make NONE=1`' 'make NONE=1: no such setting'
wrong '```sh
make deps chek
```' 'make chek: no such goal'
wrong 'see `kpack lst`' 'kpack lst: no such command'
wrong 'see `kpack list --kernls`' 'kpack --kernls: no such option'
wrong '`kpk_opn()` opens' 'kpk_opn: no such name'
wrong '`KPK_SIM_DEVICE` sets' 'KPK_SIM_DEVICE: no such name'
wrong '| before | now |
| --- | --- |
| `kpk_close()` | `kpk_open()` |' 'kpk_close: a former name that is still there'
wrong '| before | now |
| --- | --- |
| `kpk_opn()` | `kpk_opened()` |' 'kpk_opened: no such name'
wrong 'in `src/nowhere.c`' 'src/nowhere.c: no such file'
wrong 'in `nowhere.c`' 'nowhere.c: no such file'
wrong '<!-- made: nothing -->' 'made: nothing: no such table'
sed '/^| Q4_K |/d' kernels/README.md >"$WORK/gen/page.md"
refuse "a table of formats without one" "made: formats: the sources say another" \
    pages "$WORK/gen/page.md"
sed '/^| `sort` |/d' kernels/README.md >"$WORK/gen/page.md"
refuse "a table of modules without one" "module sort: only in kernels/" \
    pages "$WORK/gen/page.md"
sed 's/gfx1100 to gfx1103, //' README.md >"$WORK/gen/page.md"
refuse "a table of GPUs without some" "made: targets: the sources say another" \
    pages "$WORK/gen/page.md"
sed 's/`.hipfb`, //' gen/README.md >"$WORK/gen/page.md"
refuse "a list of endings without one" "ending .hipfb: only in imported.c" \
    pages "$WORK/gen/page.md"
finish
