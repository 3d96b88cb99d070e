#!/bin/sh
# on_both.sh - the example program of src/README.md, on every device there is
#
# tests/build/nvidia.sh builds it for NVIDIA's targets, too.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
case " ${MODULES:-vector_add} " in
*" vector_add "*) ;;
*)
    skip "the pack has no module vector_add"
    finish
    ;;
esac
build() {
    # shellcheck disable=SC2086 # flags are words
    $CC -std=c11 -Wall -Wextra -Werror ${SAN:+-fsanitize=$SAN} tests/install/on_both/on_both.c \
        "-I$B/include" -Iinclude "$H/libkpack.a" -ldl -pthread -o "$WORK/on_both"
}
check "it compiles" build
check "it is right on every device" "$WORK/on_both"
cp "$WORK/check.out" "$WORK/said"
n=$(grep -c '^device .*: right$' "$WORK/said")
check "which each line says" test "$n" -ge 1 -a "$(tail -n 1 "$WORK/said")" = "right on $n of $n"
if [ -n "${KPK_SIM_DEVICES:-}" ]; then
    refuse "without a GPU it says what to look at" "sees a GPU" \
        env KPK_SIM_DEVICES=none KPK_CUDA_LIBRARY= "$WORK/on_both"
    check "of all that are simulated" test "$n" -eq "$(echo "$KPK_SIM_DEVICES" | tr , '\n' | wc -l)"
fi
refuse "without a driver it says what was looked for" "For NVIDIA GPUs" \
    env LD_LIBRARY_PATH=/none KPK_HIP_LIBRARY=/nowhere KPK_CUDA_LIBRARY=/nowhere "$WORK/on_both"
finish
