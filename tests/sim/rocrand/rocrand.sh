#!/bin/sh
# rocrand.sh - AMD's prebuilt rocRAND misses no wait: its numbers are the same
# on the simulated GPU with KPK_SIM_WEAK and without
#
# Debian's package is downloaded into the build folder, once.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../../checks.sh"
cd "$ROOT/.." || exit 1

B=${B:-build} H=${H:-build}
if [ -z "${KPK_SIM_WEAK-}" ] || [ -z "${KPK_SIM_DEVICES-}" ]; then
    skip "not by make check-weak"
    finish
fi

library() { # its path
    find "$B/rocrand" -name librocrand.so.1 2>/dev/null | grep .
}
if ! library >"$WORK/library"; then
    mkdir -p "$B/rocrand"
    if ! (cd "$WORK" && apt-get download librocrand1 && dpkg -x librocrand1_*.deb root) >"$WORK/download" 2>&1 ||
        ! mv "$WORK/root/usr" "$B/rocrand/" || ! library >"$WORK/library"; then
        skip "Debian's package librocrand1 cannot be downloaded"
        finish
    fi
fi
read -r library <"$WORK/library"
${CC:-cc} -o "$WORK/rocrand" tests/sim/rocrand/rocrand.c -ldl || exit 1

# shellcheck disable=SC2317 # same() calls it
numbers() { # out device generator weak
    LD_LIBRARY_PATH=$H/sim KPK_SIM_HIP_VERSION=5 KPK_SIM_DEVICES=$2 KPK_SIM_WEAK=$4 \
        "$WORK/rocrand" "$library" "$3" >"$1"
}
# shellcheck disable=SC2317 # check calls it
same() { # device generator
    numbers "$WORK/plain" "$1" "$2" 1 &&
        numbers "$WORK/weak" "$1" "$2" "$KPK_SIM_WEAK" &&
        cmp "$WORK/plain" "$WORK/weak"
}
# Random123's known answer to a counter and a key of 0, as rocRAND begins.
# shellcheck disable=SC2317 # check calls it
philox_begins_as_published() {
    [ "$(head -n 4 "$WORK/plain" | tr '\n' ' ')" = "6627e8d5 e169c58d bc57ac4c 9b00dbd8 " ]
}

ran=
for device in $(echo "$KPK_SIM_DEVICES" | tr ',' ' '); do
    case $device in gfx90a | gfx1030) ;; *) continue ;; esac # it has code for
    ran=yes
    # XORWOW, MRG32k3a, MTGP32, Sobol of 32 and 64 bits, Philox
    for generator in 401 402 403 501 504 404; do
        check "generator $generator on $device" same "$device" "$generator"
    done
    check "Philox on $device: the known answer" philox_begins_as_published
done
[ -n "$ran" ] || skip "rocRAND has no code for $KPK_SIM_DEVICES"
finish
