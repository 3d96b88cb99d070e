#!/bin/sh
# sim_devices.sh - the default simulated GPUs are the targets of the last build's
# pack
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build}
if [ -n "${SAN-}" ]; then # the command would have to load its sanitizer first
    skip "sanitizers are on"
    finish
fi
if [ ! -e "$H/sim/libamdhip64.so.7" ]; then
    skip "there is no simulated GPU: run 'make sim'"
    finish
fi
kpack=$PWD/$H/kpack
[ -x "$kpack" ] || kpack=$H/kpack
mkdir "$WORK/sim"
cp -a "$H"/sim/libamdhip64.so* "$WORK/sim/"

seen() { # file [setting...]: the targets of `kpack devices`, with that file
    rm -f "$WORK/sim/devices"
    [ -z "$1" ] || printf '%s\n' "$1" >"$WORK/sim/devices"
    shift
    env -u KPK_SIM_DEVICES LD_LIBRARY_PATH="$WORK/sim" KPK_CUDA_LIBRARY= "$@" "$kpack" devices --json |
        python3 -c 'import json, sys; print(*[d["target"].split(":")[0] for d in json.load(sys.stdin)["devices"]])'
}
check "without a file: those of the default targets" test "$(seen "")" = "gfx90a gfx942 gfx1030 gfx1100 gfx1201"
check "a file with none that is simulated: the same" test "$(seen "gfx9999")" = "gfx90a gfx942 gfx1030 gfx1100 gfx1201"
check "those of the file, in its order" test "$(seen "gfx1100,gfx942")" = "gfx1100 gfx942"
check "without those that are not simulated" test "$(seen "gfx9999,gfx942:xnack+")" = gfx942
check "KPK_SIM_DEVICES goes first" test "$(seen "gfx1100" KPK_SIM_DEVICES=gfx906)" = gfx906

# The file of this build.
check "make sim writes the file" test -s "$H/sim/devices"
module=$("$kpack" list | sed -n '2s/ .*//p')
for device in $(tr , ' ' <"$H/sim/devices"); do
    check "the pack has code for $device" "$kpack" select "$device" "$module"
done
finish
