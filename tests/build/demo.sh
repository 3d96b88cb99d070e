#!/bin/sh
# demo.sh - `make demo` builds what the demo runs, and no more
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

CC=${CC:-cc}
demo() { # prints make's steps in a clean checkout
    plain_make -n CC="$CC" B="$WORK/build" demo "$@"
}
demo ARCHS='gfx942 gfx1100' >"$WORK/recipe" 2>&1

compiled() { # the code objects, sorted, one a line
    sed -n 's/.*HIPCC \([^"]*\).*/\1/p' "$WORK/recipe" | sort
}
check "it runs the demo" grep -q "$WORK/build/demo\$" "$WORK/recipe"
check "two modules for two targets are compiled" test \
    "$(compiled | tr '\n' ' ')" = "gfx1100/affine gfx1100/vector_add gfx942/affine gfx942/vector_add "
check "no library of the whole pack, no command, no test" sh -c \
    "! grep -E 'libkpack\.a|build/kpack( |\$)|/test/(unit|kernels)' '$WORK/recipe'"

refuse "a pack without the demo's modules" "leave out: affine" demo MODULES=vector_add
refuse "another pack" "leave out: candle" demo PACK=mine
refuse "no AMD target" "leave out: gfx" demo ARCHS=sm_90
finish
