#!/bin/sh
# unwaited.sh - the build and kpack verify warn of a write-back that no wait
# follows, and of no other
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

H=${H:-build}
kpack=$ROOT/$H/kpack
case $H in /*) kpack=$H/kpack ;; esac
tree=$WORK/tree

# As LLVM 22.1.8 compiles a release after a wait, and as it should.
cat >"$WORK/publish.hip" <<'END'
#include <device.h>

#define PUBLISH(name, wait)                                                    \
    extern "C" __global__ void name(int *flag)                                 \
    {                                                                          \
        asm volatile("buffer_wbl2 sc1\n" wait "global_store_dword %0, %1, off" \
                     ::"v"(flag), "v"(1)                                       \
                     : "memory");                                              \
    }

PUBLISH(publish_early, "")
PUBLISH(publish, "s_waitcnt vmcnt(0)\n")

extern "C" __global__ void publish_by_fence(int *flag, int *count)
{
    if (atomicAdd(count, 1) == 7) {
        fence_release();
        atomicExch(flag, 1);
    }
}
END
copy_tree "$tree" "$WORK/publish.hip"
plain_make -s -C "$tree" lib B=build SAN= ARCHS=gfx942 >"$WORK/made" 2>&1
built=$?

check "a pack is built" [ "$built" -eq 0 -a -s "$tree/build/libkpack.a" ]
warned() { # text: it warns of publish_early alone, with a place and advice
    cat "$1"
    [ "$(grep -ci "warning: " "$1")" -eq 1 ] &&
        grep -i "warning: " "$1" | grep "publish_early at +0x" |
        grep "no wait follows its buffer_wbl2" | grep -q "fence_release()"
}
check "the build warns" warned "$WORK/made"
"$kpack" verify "$tree/build/libkpack.a" >"$WORK/verified" 2>&1
verified=$?
check "verify warns" warned "$WORK/verified"
check "the pack is whole all the same" [ "$verified" -eq 0 ]
check "verify --json has the place" sh -c "'$kpack' verify --json '$tree/build/libkpack.a' | python3 -c '
import json, sys
[one] = json.load(sys.stdin)[\"packs\"][0][\"objects\"]
[place] = one[\"unwaited\"]
assert place[\"function\"] == \"publish_early\" and place[\"offset\"] % 4 == 0
'"
finish
