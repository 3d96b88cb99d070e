#!/bin/sh
# races.sh - a sample of the kernels' tests on simulated GPUs that look for races
# and for memory that nothing wrote; all of them: make check-races
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

H=${H:-build}
EVERY=${EVERY:-97}
# Modules whose kernels are known to be clean under both; the others are watched
# by make check-races alone.
WATCHED=${WATCHED:-affine attention binary cast fill gemm indexing mmvq_gguf moe random sort ternary vector_add}
RACES_DEVICES=${RACES_DEVICES:-gfx942,gfx1100}
if [ -z "${KPK_SIM_DEVICES-}" ]; then # a GPU of the machine's
    skip "no simulated GPUs here"
    finish
fi
# Devices that a pack has nothing for are left out.
devices=
for device in $(echo "$RACES_DEVICES" | tr ',' ' '); do
    case ",$KPK_SIM_DEVICES," in *",$device,"*) devices=$devices${devices:+,}$device ;; esac
done
for test in "$H"/test/kernels/*; do
    module=$(basename "$test")
    case " ${MODULES:-$module} " in *" $module "*) ;; *) continue ;; esac
    case " $WATCHED " in *" $module "*) ;; *) continue ;; esac
    check "$module" env KPK_SIM_DEVICES="${devices:-$KPK_SIM_DEVICES}" KPK_SIM_RACES=1 KPK_SIM_UNINIT=1 \
        "$test" -s "$EVERY"
done
finish
