#!/bin/sh
# headers_alone.sh - each header of kernels/include compiles by itself, for AMD
# and for sm_90; includes make no circle of headers or of folders
#
# Only the front-end runs. Clang's cc1 compiles many files in one process, and
# the headers of HIP or CUDA are precompiled: a header costs 0.1 s of CPU time.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

include=$ROOT/kernels/include

# Headers that choose a vendor's way of what their folder does. The vendor's
# folder includes the rest of theirs, so their includes of it count in no circle.
choosing="conv/direct.h fused/sample.h map.h matrix/gemm.h matrix/skinny_gemm.h
          quantized/mat_vec.h quantized/mul_mat.h"

# ---- includes ----

# Prints the headers to compile for a vendor. If a header's first line includes
# another header, this tests the other one too, which is then left out.
cat >"$WORK/includes.py" <<'END'
import os
import re
import sys

root, vendor, choosing = sys.argv[1], sys.argv[2] + "/", sys.argv[3].split()
VENDORS = "amd", "nvidia"
# folders that include each other and headers of no folder alone
LOWEST = "nvidia/copy", "nvidia/unit"
headers = {}
for folder, _, files in os.walk(root):
    for name in files:
        if name.endswith(".h"):
            path = os.path.join(folder, name)
            text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
            headers[os.path.relpath(path, root)] = [
                line.strip() for line in text.split("\n") if line.strip()]
bad = []


def included(line):
    found = re.match(r'#\s*include "([^"]+)"', line)
    return found and not found.group(1).startswith("..") and found.group(1)


def folder_of(header):
    """map for map/view.h and for map.h, . for walk.h, nvidia/copy for ring.h"""
    top = header.split("/")[0].replace(".h", "")
    if top in VENDORS:
        return os.path.dirname(header)
    return top if os.path.isdir(os.path.join(root, top)) else "."


# the headers that each header includes; the folders that each folder includes
includes, folders = {}, {}
for header, lines in headers.items():
    includes[header] = {included(line) for line in lines} - {None, False}
    for other in includes[header]:
        if other not in headers:
            bad.append("%s: there is no %s" % (header, other))
        pair = folder_of(header), folder_of(other)
        chosen = header in choosing and pair[1].split("/")[0] in VENDORS
        if pair[0] != pair[1] and not chosen:
            folders.setdefault(pair[0], set()).add(pair[1])


def find_circles(edges):
    done = set()

    def walk(node, above):
        if node in above:
            bad.append("a circle: %s" % " ".join(above[above.index(node):] + (node,)))
        elif node not in done:
            for other in sorted(edges.get(node, ())):
                walk(other, above + (node,))
            done.add(node)

    for node in sorted(edges):
        walk(node, ())


find_circles(includes)
find_circles(folders)
for folder in LOWEST:
    for other in sorted(folders.get(folder, set()) - {".", *LOWEST}):
        bad.append("%s includes %s" % (folder, other))
for header in choosing:
    if not any(other.startswith(VENDORS) for other in includes.get(header, ())):
        bad.append("%s chooses no vendor's way" % header)

VENDOR = re.compile(r"\b(__CUDA_\w+|__CUDACC__|__NVCC__|__HIP__|__HIP_PLATFORM_\w+)\b")
first = set()
names = {}
for header, lines in sorted(headers.items()):
    if lines[:1] != ["#pragma once"]:
        bad.append("%s: #pragma once is not in front" % header)
    code = [i for i, line in enumerate(lines) if line[0] != "#"]
    for i, line in enumerate(lines):
        if included(line) and code and i > code[0]:
            bad.append("%s: %s is behind code" % (header, line))
        if VENDOR.search(line) and header != "base.h":
            bad.append("%s: %s reads a compiler's macro" % (header, line))
    if len(lines) > 1 and included(lines[1]) and not header.startswith(vendor):
        first.add(included(lines[1]))
    name = os.path.basename(header)
    if name in names:
        bad.append("%s has the name of %s" % (header, names[name]))
    names[name] = header
if bad:
    sys.exit("\n".join(bad))
print("\n".join(sorted(h for h in headers if h not in first and not h.startswith(vendor))))
END
includes() { # folder of headers, folder of the other vendor, choosing headers
    python3 "$WORK/includes.py" "$1" "$2" "$3"
}

check "includes are in front and make no circle, names are unique, base.h knows the vendor" \
    includes "$include" nvidia "$choosing"
no_macro() { # file...
    ! grep -nE '__CUDA_|__CUDACC__|__NVCC__|__HIP_' "$@"
}
check "no module reads a compiler's macro" no_macro "$ROOT"/kernels/*.hip
mkdir -p "$WORK/wrong/a" "$WORK/wrong/b" "$WORK/wrong/amd"
printf '#pragma once\n' >"$WORK/wrong/a/z.h"
printf '#pragma once\n#include "a/z.h"\n' >"$WORK/wrong/amd/w.h"
wrong() { # text of a/x.h, text of b/y.h, choosing headers
    printf '#pragma once\n%b\n' "$1" >"$WORK/wrong/a/x.h"
    printf '#pragma once\n%b\n' "$2" >"$WORK/wrong/b/y.h"
    includes "$WORK/wrong" nvidia "${3-}"
}
refuse "a circle is noticed" "a circle" wrong '#include "b/y.h"' '#include "a/x.h"'
refuse "a circle of folders is noticed" "a circle: a b a" \
    wrong '#include "b/y.h"' '#include "a/z.h"'
refuse "a circle through a vendor's folder is noticed" "a circle: a amd a" \
    wrong '#include "amd/w.h"' ''
check "a header that chooses may close it" wrong '#include "amd/w.h"' '' a/x.h
refuse "a listed header that chooses nothing is noticed" \
    "a/x.h chooses no vendor's way" wrong '' '' a/x.h
refuse "an include behind code is noticed" "is behind code" \
    wrong 'int x;\n#include "b/y.h"' ''
refuse "a compiler's macro is noticed" "reads a compiler's macro" \
    wrong '#if __CUDA_ARCH__ >= 900' ''
cp "$WORK/wrong/b/y.h" "$WORK/wrong/b/x.h"
refuse "a name that stands twice is noticed" "has the name of" wrong '' ''
mkdir -p "$WORK/wrong/nvidia/unit"
printf '#pragma once\n#include "a/z.h"\n' >"$WORK/wrong/nvidia/unit/v.h"
refuse "a unit that knows a folder is noticed" "nvidia/unit includes a" wrong '' ''

# ---- compilers ----

HIPCC=${HIPCC-} ROCM_PATH=${ROCM_PATH-} sh "$ROOT/gen/make/find-compiler" "$WORK/compiler.mk"
made() { # variable of the compiler's makefile
    sed -n "s/^KPACK_DEVICE_$1 := //p" "$WORK/compiler.mk"
}
if [ -n "$(made ERROR)" ]; then
    skip "there is no device compiler: $(made ERROR)"
    finish
fi
cxx=$(made CXX)

# Sets `flags` for a target of AMD.
amd_flags() { # target wave
    flags="-x hip --offload-device-only $(made FLAGS) --offload-arch=$1"
    [ -z "$(made BITCODE)" ] ||
        flags="$flags -nogpulib -U__AMDGCN_WAVEFRONT_SIZE -D__AMDGCN_WAVEFRONT_SIZE=$2
               -U__AMDGCN_WAVEFRONT_SIZE__ -D__AMDGCN_WAVEFRONT_SIZE__=$2"
    system="<hip/hip_runtime.h>" extension=hip
}
nvidia_flags() {
    flags="-x cuda --cuda-path=${nvcc%/bin/nvcc} --cuda-device-only
           -idirafter $ROOT/gen/make/cuda --cuda-gpu-arch=sm_90a --cuda-feature=+ptx83
           -Wno-unknown-cuda-version -Wno-#warnings -Wno-unused-parameter"
    system="<cuda_bf16.h> <cuda_fp16.h> <cuda_fp8.h>" extension=cu
}

# Compiles headers, each in a file of its own, with `flags`.
alone() { # header...
    rm -rf "$WORK/alone"
    mkdir "$WORK/alone"
    for header in "$@"; do
        echo "#include \"$header\"" >"$WORK/alone/$(echo "$header" | tr / -).$extension"
    done
    # shellcheck disable=SC2086 # several flags
    set -- "$cxx" -std=c++17 -Wall -Wextra -Werror -Wno-unused-function $flags \
        "-I$include" "-I$WORK" -fsyntax-only -Xclang
    for header in $system; do echo "#include $header"; done >"$WORK/system.h"
    "$@" -emit-pch -Xclang -o -Xclang "$WORK/system.pch" "$WORK/system.h" || return
    : >"$WORK/one.$extension"
    call=$("$@" -include-pch -Xclang "$WORK/system.pch" '-###' "$WORK/one.$extension" 2>&1 |
        grep '"-cc1"')
    eval "${call% *} \"$WORK\"/alone/*"
}
all_alone() { # folder of the other vendor
    # shellcheck disable=SC2046 # several headers
    alone $(includes "$include" "$1" "$choosing")
}

echo 'static inline u32 lacks() { return lane_id(); }' >"$WORK/lacks.h"
for target in gfx942/64 gfx1100/32; do
    amd_flags "${target%/*}" "${target#*/}"
    check "each header compiles by itself for ${target%/*}" all_alone nvidia
done
refuse "a header that lacks an include is noticed" "unknown type name 'u32'" \
    alone compare.h lacks.h known.h

need_nvcc "no header is compiled for sm_90"
nvidia_flags
check "each header compiles by itself for sm_90" all_alone amd
refuse "a header that lacks an include is noticed for sm_90, too" \
    "unknown type name 'u32'" alone lacks.h
finish
