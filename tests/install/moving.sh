#!/bin/sh
# moving.sh - programs that call HIP themselves, before and after their move
#
# Each pair of moving/NAME_before.c and NAME_after.c is compiled and run on every
# device and must print the same. tests/build/pages.sh checks that src/README.md
# shows them.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} CC=${CC:-cc}
san=${SAN:+/san-$(echo "${SAN-}" | tr , -)}
moving=tests/install/moving
flags="-std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror ${SAN:+-fsanitize=$SAN}"

# Some compilers find fault with HIP's own header.
hip="-Wno-strict-prototypes -L$H/sim -lamdhip64 -Wl,-rpath-link,$H/sim"

build_before() { # name
    # shellcheck disable=SC2086 # flags are words
    $CC $flags "$moving/$1_before.c" -o "$WORK/$1_before" $hip -pthread
}

build_after() { # name folder [flags]
    source=$moving/$1_after.c output=$WORK/$1_after folder=$2
    shift 2
    # shellcheck disable=SC2086
    $CC $flags -Iinclude "-I$folder/include" "$source" -o "$output" \
        "$folder$san/libkpack.a" "$@" -ldl -pthread
}

# Both programs print the wanted text, on the device.
same() { # name device kernels wanted
    KPK_SIM_DEVICES=$2 "$WORK/$1_before" "$3" >"$WORK/before.out" || return 1
    KPK_SIM_DEVICES=$2 "$WORK/$1_after" >"$WORK/after.out" || return 1
    cat "$WORK/before.out" "$WORK/after.out"
    cmp "$WORK/before.out" "$WORK/after.out" && grep -qF "$4" "$WORK/after.out"
}

pair() { # name pack's-folder devices kernels wanted [flags]
    name=$1 folder=$2 devices=$3 kernels=$4 wanted=$5
    shift 5
    check "$name before compiles" build_before "$name"
    check "$name after compiles" build_after "$name" "$folder" "$@"
    for device in $(echo "$devices" | tr , ' '); do
        check "$name on $device: the same before and after" \
            same "$name" "$device" "$kernels" "$wanted"
    done
    refuse "$name before needs its files" '' env KPK_SIM_DEVICES="$device" \
        "$WORK/${name}_before" /none
}

# A GPU of the machine needs no name.
all=${KPK_SIM_DEVICES:-machine}
case " ${MODULES:-affine vector_add} " in *" vector_add "*)
    pair vector_add "$B" "$all" "$B/hsaco" 'c[999] = 999.5'
    ;;
esac
case " ${MODULES:-affine vector_add} " in *" affine "*)
    pair kernel_cache "$B" "$all" "$B/hsaco" 'x[776] = 3107'
    ;;
esac
pair globals "$B/ways" "$all" "$B/ways/hsaco" '8 blocks counted to 24'
# topksoftmax's kernels are for two processors, both simulated.
export LD_LIBRARY_PATH="$H/sim:${LD_LIBRARY_PATH-}"
pair topksoftmax "$B/asm" gfx942,gfx950 "$B/asm/tree" ' 83 0.2739   38 0.2573'

finish
