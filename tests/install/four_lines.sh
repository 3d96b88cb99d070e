#!/bin/sh
# four_lines.sh - runs the lines of "In four lines", src/sim/README.md
#
# This tree's build stands in for the first two lines, which clone and build.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

H=$(cd "$ROOT" && realpath "${H:-build}")
if [ -n "${SAN-}" ]; then # the library would want its sanitizer in the program
    check "the page is there" test -e "$ROOT/src/sim/README.md"
    finish
fi
command -v hipcc >/dev/null || {
    flunk "hipcc is needed: run 'make deps'"
    finish
}
awk '/^## / { here = $0 == "## In four lines" } here && /^```sh$/ { take = 1; next } /^```$/ { take = 0 } take' \
    "$ROOT/src/sim/README.md" >"$WORK/lines"
line() { sed -n "$1p" "$WORK/lines"; }
check "there are four" test "$(wc -l <"$WORK/lines")" -eq 4
check "the first clones" test "$(line 1)" = "git clone THIS_REPOSITORY kpack"
check "the second builds" sh -c "sed -n 2p '$WORK/lines' | grep -E '^make -C kpack deps sim( +#.*)?\$'"
check "with goals that make has" plain_make -n -C "$ROOT" B="$WORK/b" deps sim

mkdir -p "$WORK/work/kpack/build" && cd "$WORK/work" || exit 1
ln -s "$H/sim" kpack/build/sim
cp "$ROOT/tests/install/four_lines/test.hip" .
check "$(line 3)" env -u LD_LIBRARY_PATH sh -c "$(line 3)"
# shellcheck disable=SC2317 # check calls it
run_line() { env -u LD_LIBRARY_PATH -u KPK_SIM_DEVICES sh -c "$(line 4)" >said && cat said; }
check "$(line 4)" run_line
printf '%s: 63 * 63 = 3969\n' gfx90a:sramecc+:xnack- gfx1030 >wanted
check "prints what it should" cmp wanted said
finish
