#!/bin/sh
# hipcc.sh - ordinary programs, built by Debian's hipcc, on AMD's own runtime
#
# Two translation units with a device global, streams and events between them,
# vectors, and features.hip: event timing, scratch, a grid barrier, printf.
set -u

dir=$(dirname "$0")
programs=$dir/../programs
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
passed=0 failed=0

if ! command -v hipcc >/dev/null; then
    echo "hipcc.sh: no hipcc; run 'make deps'" >&2
    exit 1
fi

try() { # name sources...
    name=$1
    shift
    if ! hipcc --offload-arch=gfx90a --offload-arch=gfx1030 -O2 -o "$out/$name" \
        "$@" >"$out/log" 2>&1; then
        echo "$name does not compile:"
        cat "$out/log"
        failed=$((failed + 1))
        return
    fi
    for device in gfx90a gfx1030; do
        if KPK_SIM_DEVICES=$device,$device "$dir/with-hip" "$THUNK" '' "$out/$name" \
            >"$out/log" 2>&1; then
            passed=$((passed + 1))
        else
            echo "$name fails on $device:"
            cat "$out/log"
            failed=$((failed + 1))
        fi
    done
}

try units "$programs/units.hip" "$programs/units_other.hip"
try streams "$programs/streams.hip"
try vectors "$programs/vectors.hip"
try features "$dir/features.hip"

# Faults: what AMD's runtime says when a kernel goes wrong.
fault() { # word in the report, argument of features
    KPK_SIM_DEVICES=gfx90a "$dir/with-hip" "$THUNK" '' "$out/features" "$2" \
        >"$out/log" 2>&1
    status=$?
    if [ $status -ne 0 ] && grep -q "$1" "$out/log"; then
        passed=$((passed + 1))
    else
        echo "features $2: status $status and no '$1' in:"
        cat "$out/log"
        failed=$((failed + 1))
    fi
}
fault 'Memory access fault by GPU node-1.* on address 0x1234' address
fault 'HSA_STATUS_ERROR_EXCEPTION' trap

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
