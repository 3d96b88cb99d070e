#!/bin/sh
# amd.sh - `make check-amd`, as one of the tests of `make check`
#
# Kernels of a few modules stand for all, unless FULL is set. Not under
# sanitizers, which AMD's programs are not built for.
if [ -n "${SAN-}" ] || [ ! -e /usr/lib/x86_64-linux-gnu/libamdhip64.so.5 ]; then
    echo "SKIPPED: sanitizers are on, or the system has no libamdhip64.so.5"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
if [ -z "${FULL-}" ]; then
    sample=
    for module in vector_add affine reduce indexing; do
        case " $MODULES " in *" $module "*) sample="$sample $module" ;; esac
    done
    MODULES=${sample:-$MODULES}
    export MODULES
fi
exec "${MAKE:-make}" --no-print-directory B="${B:-build}" check-amd
