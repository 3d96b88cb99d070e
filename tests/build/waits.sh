#!/bin/sh
# waits.sh - kernels/README.md lists all kernels that wait for the launch before
# them, and `kpack info` tells them from others
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

gen=$(realpath "${B:-build}/kpack-gen")
tree=$WORK/tree
target=compute_90
need_nvcc "kernels are compiled for no NVIDIA, whose alone wait"

# Only module fused is tested, unless FULL is set. To save time, two formats
# stand for all, which have the same templates, and f16 for attention's types.
copy_tree "$tree" "$ROOT"/kernels/*.hip
cp -R "$ROOT/kernels/host" "$tree/kernels/"
sed -i -E '/^#define GGUF_WEIGHTS/,/\)$/{
    /^    X\((q4_0|q8_0),/b
    /^    X\(.*\\$/d
    s/^    X\(.*/    \/**\//
}
/^#define GGUF_LOW_BIT/,/\)$/{
    /^    X\(iq2_xxs,/b
    /^    X\(.*\\$/d
    s/^    X\(.*/    \/**\//
}' "$tree/src/base/gguf_formats.h"
sed -i '/^EXPORT(bf16)$/d' "$tree/kernels/attention.hip" # as f16's

early_modules() { # modules that may have such kernels, by their includes
    for source in "$tree"/kernels/*.hip; do
        "${CC:-cc}" -x c++ -M -MG "-I$tree/kernels/include" "$source" 2>/dev/null |
            grep -q 'include/early\.h' && basename "$source" .hip
    done
}
modules=$(early_modules)
[ -n "${FULL-}" ] || modules=$(echo "$modules" | grep -x fused)
files=$(for module in $modules; do echo "build/hsaco/$target/$module.ptx"; done)
build() { # its flags last
    plain_make -C "$tree" KPACK_GEN="$gen" NVCC="$nvcc" "$@"
}
check "modules whose kernels may wait are found" test -n "$modules"
# shellcheck disable=SC2086 # several files
check "they compile" build -j2 ARCHS="$target" $files

cat >"$WORK/compare.py" <<'END'
import os, re, sys

# Meanings of the placeholders in a kernel's name.
STANDS = {"F": "q4_0|q8_0|iq2_xxs", "T": "f32|f16|bf16", "N": "[1-8]", "*": ".*"}


def pattern(name):
    parts = re.split(r"(\*|(?<=_)[FT](?=_|$)|N$)", name)
    return "".join("(%s)" % STANDS[p] if p in STANDS else re.escape(p) for p in parts)


page, *files = sys.argv[1:]
table = re.search(r"\n\| kernels that wait .*?\n\n", open(page).read(), re.S).group(0)
names = [n for row in table.strip().splitlines()[2:] for n in re.findall(r"`([^`]+)`", row.split("|")[1])]
kernels = {}


def waits(name, bodies):
    """Itself, or by one of the functions that it names."""
    return "griddepcontrol.wait" in bodies[name] or any(
        waits(f, bodies) for f in bodies if f.startswith("_Z") and f != name and f in bodies[name])


for file in files:
    parts = re.split(r"\n(?:\.\w+ )*\.(entry|func)\s+(?:\(.*\)\s*)?(\w+)\s*\(", open(file).read())
    kinds, names_here, texts = parts[1::3], parts[2::3], parts[3::3]
    bodies = {n: t for n, t in zip(names_here, texts) if "\n{" in t}
    for kind, name in zip(kinds, names_here):
        if kind == "entry":
            kernels[name] = waits(name, bodies)
listed = {k for k in kernels if any(re.fullmatch(pattern(n), k) for n in names)}
wrong = ["%s waits, and the table does not have it" % k for k in kernels if kernels[k] and k not in listed]
wrong += ["%s of the table does not wait" % k for k in listed if not kernels[k]]
if os.environ.get("FULL"):  # else the table has kernels of other modules, too
    wrong += ["%s of the table is no kernel's name" % n for n in names
              if not any(re.fullmatch(pattern(n), k) for k in kernels)]
print("\n".join(sorted(wrong)) or "%d kernels, %d wait" % (len(kernels), len(listed)))
sys.exit(bool(wrong) or not listed)
END
compare() { # page
    # shellcheck disable=SC2086 # several files
    (cd "$tree" && python3 "$WORK/compare.py" "$1" $files)
}
check "the table has the kernels that wait" compare kernels/README.md
# A table that lacks a kernel is noticed, and so is one that has another.
sed 's/rope_table_f32/silu_mul_T/' \
    "$tree/kernels/README.md" >"$tree/other.md"
for line in "rope_table_f32 waits" "silu_mul_f32 of the table does not wait"; do
    refuse "a wrong table: $line" "$line" compare other.md
done

# `kpack info` shows whether a kernel waits.
pack_of_fused() {
    cp "$ROOT/kernels/fused.csv" "$tree/kernels/" &&
        build ARCHS="gfx942 $target" MODULES=fused
}
waits() { # kernel target 0-or-1
    "$tree/build/kpack" info "$1" >"$WORK/said" && cat "$WORK/said" &&
        awk -v t="$2" -v w="$3" '$1 == "TARGET" { title = $NF } $1 == t { got = $NF }
            END { exit title != "WAITS" || got != w }' "$WORK/said" &&
        "$tree/build/kpack" info "$1" --json | python3 -c 'import json, sys
rows = json.load(sys.stdin)["kernels"][0]["targets"]
sys.exit([r["waits"] for r in rows if r["target"] == sys.argv[1]] != [int(sys.argv[2])])' "$2" "$3"
}
check "a pack of one of the modules" pack_of_fused
check "info says that a kernel waits" waits rope_table_f32 "$target" 1
check "and that it does not on AMD" waits rope_table_f32 gfx942 0
check "and that another does not" waits silu_mul_f32 "$target" 0
finish
