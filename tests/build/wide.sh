#!/bin/sh
# wide.sh - words in ARCHS: wide, the fewest targets that serve every processor;
# native, those of the machine's GPUs
#
# Two modules are built for all of AMD's half, and a sample of their tests runs
# on a simulated GPU of each family; attention for gfx9-generic alone. `make
# check-wide` runs all tests of all.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
make_cflags=-O2 # kernel tests run
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build} SAN=${SAN:-}
wide=gen/make/wide-targets

# ---- the list ----

stand_in() { # name; the script is read
    { echo '#!/bin/sh'; cat; } >"$WORK/$1"
    chmod +x "$WORK/$1"
}
stand_in clang <<'END'
printf 'Available CPUs for this target:\n\n\tgfx908\n\tgfx90a\n\tgfx9-generic\n' >&2
END
stand_in nvcc <<'END'
printf 'sm_80\nsm_90\n'
END
gives() { # targets argument...
    targets=$1
    shift
    "$wide" src/base "$@" >"$WORK/given"
    cat "$WORK/given"
    [ "$(cat "$WORK/given")" = "$targets" ]
}
amd='gfx10-1-generic gfx10-3-generic gfx11-generic gfx12-generic gfx1250 gfx1251 gfx9-4-generic gfx9-generic gfx908 gfx90a'
nvidia='sm_80 sm_90 sm_100 sm_120 compute_80'
check "wide" gives "$amd $nvidia" wide
check "its half of AMD" gives "$amd" wide-amd
check "its half of NVIDIA" gives "$nvidia" wide-nvidia
check "what the compilers know" gives "gfx9-generic gfx908 gfx90a sm_80 sm_90 compute_80" \
    wide "$WORK/clang" "$WORK/nvcc"
cp "$WORK/check.out" "$WORK/told"
check "clang's gaps are told" grep -F "$WORK/told" \
    -e "ARCHS=wide leaves out gfx10-1-generic gfx10-3-generic gfx11-generic gfx12-generic gfx1250 gfx1251 gfx9-4-generic: $WORK/clang does not know them"
check "nvcc's gaps are told" grep -F "$WORK/told" \
    -e "ARCHS=wide leaves out sm_100 sm_120: $WORK/nvcc does not know them"
check "no nvcc" gives "$amd" wide "" /nowhere/nvcc
check "a compiler that does not tell is believed" gives "$amd" wide-amd true
if localedef -i en_US -f UTF-8 "$WORK/en_US.UTF-8" 2>"$WORK/check.out"; then
    in_english() { (export LOCPATH="$WORK" LC_ALL=en_US.UTF-8 && gives "$@"); }
    check "the order is no language's" in_english "$amd $nvidia" wide
else
    skip "there are no locales to compile: whether a language changes the order"
fi

# ---- the machine's own ----

node() { # name version
    mkdir -p "$WORK/nodes/$1"
    printf 'simd_count 4\ngfx_target_version %s\n' "$2" >"$WORK/nodes/$1/properties"
}
native() { # targets
    [ "$(PATH="$WORK/bin:$PATH" gen/make/native-targets "$WORK/nodes")" = "$1" ]
}
mkdir -p "$WORK/bin"
printf '#!/bin/sh\nexit 1\n' >"$WORK/bin/nvidia-smi"
chmod +x "$WORK/bin/nvidia-smi"
check "native where there is no GPU" native ""
node 0 0 && node 1 90402 && node 2 90010 && node 3 90402 && node 4 110001 && node 5 100306
check "AMD's, each once" native "gfx1036 gfx1101 gfx90a gfx942"
printf '#!/bin/sh\nprintf "9.0\\n9.0\\n12.0\\n"\n' >"$WORK/bin/nvidia-smi"
check "NVIDIA's beside" native "gfx1036 gfx1101 gfx90a gfx942 sm_120 sm_90"
native_build() {
    rm -r "$WORK/nodes"
    PATH=$WORK/bin:$PATH plain_make -n B="$WORK/native" MODULES=vector_add ARCHS=native NVCC=/bin/true cubins
}
check "make ARCHS=native" says "code=sm_120" native_build

# ---- a wide pack ----

built=$WORK/b
sample="vector_add fill"
build() { # setting or goal...
    plain_make B="$built" KPACK_GEN="$(realpath "$B/kpack-gen")" CC="${CC:-cc}" SAN="$SAN" \
        MODULES="$sample" "$@"
}
check "a pack builds" build ARCHS=wide-amd DEVICES= all kernel-tests
kpack=$built${H#"$B"}/kpack

# Processors are those of the table's own rows, and each target has one.
processors=$(sed -n 's/^ *X(\(gfx[0-9a-f]*\),.*/\1/p' src/base/target_table.h)
served() {
    : >"$WORK/chosen"
    # shellcheck disable=SC2086 # words
    for processor in $processors; do
        "$kpack" select "$processor" vector_add || return 1
    done >"$WORK/selected"
    awk '$1 == "vector_add" { print $2 }' "$WORK/selected" >"$WORK/chosen"
    [ "$(wc -l <"$WORK/chosen")" -eq "$(echo "$processors" | wc -l)" ]
}
check "every processor of the table is served" served
check "and no target is idle" test "$(sort -u "$WORK/chosen" | tr '\n' ' ')" = "$amd "
devices=$(sed -n 's/^WIDE_DEVICES := //p' Makefile)
families() {
    for device in $(echo "$devices" | tr , ' '); do
        "$kpack" select "$device" vector_add | awk '$1 == "vector_add" { print $2 }'
    done | sort -u | tr '\n' ' '
}
# The simulated GPU has no gfx1251, and not all of gfx1250.
check "the tests' devices run each target but gfx1250 and gfx1251" \
    test "$(families)" = "$(echo "$amd " | sed 's/gfx125[01] //g')"

tests() { # module kernels
    check "kernels of $1 on $devices" env LD_LIBRARY_PATH="$H/sim" \
        KPK_SIM_DEVICES="$devices" "$built${H#"$B"}/test/kernels/$1" -k "$2"
}
tests vector_add '*'
tests fill '*_f32'

# No default target has waves of 64 lanes and no matrix instructions.
check "attention builds for gfx9-generic" build B="$WORK/nine" MODULES=attention \
    ARCHS=gfx9-generic DEVICES= kernel-tests
check "attention on gfx906" env LD_LIBRARY_PATH="$H/sim" KPK_SIM_DEVICES=gfx906 \
    "$WORK/nine${H#"$B"}/test/kernels/attention" -k 'attention*_64'
finish
