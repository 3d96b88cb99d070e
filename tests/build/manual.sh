#!/bin/sh
# manual.sh - the table of src/README.md has a row for all of HIP's module API
#
# The rows come from elsewhere: what the simulated runtime exports under HIP's
# symbol versions, and what kpack itself calls.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

# The rows of the table, one word a line.
grep '^| `hip' src/README.md | tr -c 'A-Za-z0-9_' '\n' >"$WORK/table"

modules() { # picks the module API's functions from a list
    grep -oE '\<hip(Module(Load|Unload|Get|Enum|Launch|Occ)|Func(Get|Set)|Library|Kernel|Link|GetFuncBySymbol|GetProcAddress|GetDriverEntryPoint|(Ext|Drv)?Launch(Multi|Cooperative)*Kernel|ExtModule|HccModule)[A-Za-z]*\>' |
        sort -u
}

for name in $(modules <src/sim/hip/functions.def) $(modules <src/hip_api.h); do
    check "$name has a row" grep -qx "$name" "$WORK/table"
done
check "there are rows" test "$(grep -c '^hip' "$WORK/table")" -gt 50

# Names in the rows exist.
grep -E '^(kpk|KPK)_' "$WORK/table" | sort -u >"$WORK/names"
while read -r name; do
    check "$name is declared" grep -qE \
        "^[a-z].*[ *]$name\(|^ *(#define )?$name( = |, )|#define $name |^} $name;" \
        include/kpack.h
done <"$WORK/names"
finish

