#!/bin/sh
# deps.sh - `make deps GOAL` installs what the goal needs, and nothing twice
#
# Debian's tools are stand-ins here: what is installed is a list of names.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

bin=$WORK/bin
mkdir "$bin"
stand_in() { # name; the script is read
    { echo '#!/bin/sh'; cat; } >"$bin/$1"
    chmod +x "$bin/$1"
}
stand_in dpkg-query <<'END'
for name in "$@"; do
    if grep -qx -e "$name" "$WORK/installed"; then echo 'install ok installed'; fi
done
END
stand_in apt-cache <<'END'
for name in "$@"; do
    case $name in
    rocm-device-libs*) [ "$name" != "$LIBS" ] || echo '  Candidate: 1:1' ;;
    *-"$CLANG" | *-"$CLANG"-dev) echo '  Candidate: 1:1' ;;
    *) echo '  Candidate: (none)' ;;
    esac
done
END
stand_in apt-get <<'END'
[ ! -e "$WORK/apt-fails" ] || exit 100
echo "$1" >>"$WORK/asked"
[ "$1" = install ] || exit 0
for name in "$@"; do
    case $name in -* | install) ;; *) echo "$name" >>"$WORK/installed" ;; esac
done
END
stand_in id <<'END'
echo "${USER_ID:-0}"
END
export WORK CLANG=22 LIBS=rocm-device-libs
PATH=$bin:$PATH

bare() { # a machine on which nothing is installed
    : >"$WORK/installed"
    rm -f "$WORK/asked" "$WORK/apt-fails"
}
has() { # names
    for name in "$@"; do grep -qx -e "$name" "$WORK/installed" || return 1; done
}
lacks() { # names
    for name in "$@"; do ! has "$name" || return 1; done
}
nothing_asked() { [ ! -e "$WORK/asked" ]; }

# ---- a goal's own packages ----

bare
check "deps demo" gen/deps demo
check "it installs compilers, HIP and LLVM's headers" has make gcc xxd \
    libelf-dev libamdhip64-dev rocm-device-libs clang-22 lld-22 llvm-22-dev
check "and nothing for tests or lint" lacks chromium cargo rustc cmake \
    ninja-build python3 hipcc libcmocka-dev clang-tidy cppcheck shellcheck
rm "$WORK/asked"
check "a second time" gen/deps demo
check "it asks apt for nothing" nothing_asked
check "for a goal that needs less, too" gen/deps lib
check "it asks apt for nothing" nothing_asked
check "deps after it" gen/deps
check "installs the rest" has chromium cargo cmake python3 clang-tidy g++

bare
check "deps sim" gen/deps sim
check "needs LLVM's headers" has make gcc llvm-22-dev libmsgpack-dev
check "and no compiler for GPUs" lacks clang-22 lld-22 libamdhip64-dev xxd
bare
check "deps lib" gen/deps lib
check "needs no LLVM headers" lacks llvm-22-dev
bare
check "deps check-unit" gen/deps check-unit
check "needs cmocka and MPFR" has libcmocka-dev libmpfr-dev
check "but no lint" lacks clang-tidy
bare
check "deps check-cross" gen/deps check-cross
check "needs other machines' compilers and emulators" has gcc-aarch64-linux-gnu qemu-user gcc-mingw-w64-x86-64 wine64 clang-22 xxd
bare
check "deps help clean" gen/deps help clean
check "needs nothing" nothing_asked

# ---- no goal, check, several: all of it ----

bare
check "deps" gen/deps
check "other machines' compilers are for check-cross alone" lacks gcc-mingw-w64-x86-64 qemu-user
sort "$WORK/installed" >"$WORK/all"
for goals in check 'demo check' 'a-goal-of-tomorrow' lint; do
    bare
    # shellcheck disable=SC2086
    check "deps $goals" gen/deps $goals
    check "deps $goals: everything, each once" sh -c "sort '$WORK/installed' | cmp - '$WORK/all'"
done
check "no package twice" sh -c "! uniq -d '$WORK/all' | grep ."

# ---- make deps with other goals and options ----

bare
check "make deps help" plain_make deps help
check "make deps help needs nothing" nothing_asked
check "make -n deps demo" plain_make -n B="$WORK/b" deps demo
check "a dry run installs nothing" nothing_asked
check "make deps" plain_make deps
check "make deps installs everything" sh -c "sort '$WORK/installed' | cmp - '$WORK/all'"
bare
touch "$WORK/apt-fails"
refuse "make deps demo, and apt fails" "make deps failed" plain_make deps demo

# ---- NVIDIA=1 ----

# The machine's own CUDA is hidden from the script where possible.
stand_in python3 <<'END'
[ "$3" != --version ] || { [ ! -e "$WORK/no-pip" ]; exit; }
echo "$*" >"$WORK/pip-asked"
[ ! -e "$WORK/pip-fails" ] || exit 1
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/nvidia/cu13/bin" "$2/nvidia/cu13/nvvm/bin"
echo 'nvcc' >"$2/nvidia/cu13/bin/nvcc"
echo 'cicc' >"$2/nvidia/cu13/nvvm/bin/cicc"
END
with_cuda() { # command...: at a user's who has none
    env XDG_DATA_HOME="$WORK/data" NVIDIA=1 "$@"
}
bare
if [ -x /usr/local/cuda/bin/nvcc ] || command -v nvcc >/dev/null; then
    check "deps lib, where there is an nvcc" with_cuda gen/deps lib
    check "takes none from PyPI" test ! -e "$WORK/pip-asked"
    sed -e 's,/usr/local/cuda/bin/nvcc nvcc,,' gen/deps >"$bin/deps"
    chmod +x "$bin/deps"
else
    cp gen/deps "$bin/deps"
fi
check "deps lib, where there is none" with_cuda "$bin/deps" lib
cp "$WORK/check.out" "$WORK/told"
check "asks PyPI for nvcc and what it needs" grep -q -e 'nvidia-cuda-nvcc==.* nvidia-cuda-crt==.* nvidia-nvvm==.* nvidia-cuda-runtime==.* nvidia-cuda-cccl==' "$WORK/pip-asked"
check "and says where it is" grep -qxF "$WORK/told" \
    -e "make deps NVIDIA=1: nvcc is $WORK/data/kpack/cuda/nvidia/cu13/bin/nvcc"
check "it may be run" test -x "$WORK/data/kpack/cuda/nvidia/cu13/nvvm/bin/cicc"
rm "$WORK/pip-asked"
check "a second time" with_cuda "$bin/deps" lib
check "it asks for nothing" test ! -e "$WORK/pip-asked"
rm -r "$WORK/data"
check "NVCC=, which is there" with_cuda NVCC=/bin/true "$bin/deps" lib
check "it asks for nothing" test ! -e "$WORK/pip-asked"
touch "$WORK/pip-fails"
refuse "PyPI has none" "PyPI did not give nvidia-cuda-nvcc for this machine ($(uname -m))" \
    with_cuda "$bin/deps" lib
check "and leaves nothing" test ! -e "$WORK/data/kpack/cuda" -a ! -e "$WORK/data/kpack/cuda.new"
touch "$WORK/no-pip"
refuse "there is no pip" "no pip (python3-pip) to take it from PyPI with. Install NVIDIA's CUDA toolkit" \
    with_cuda "$bin/deps" lib
check "which was asked of apt" has python3-pip
rm "$WORK/no-pip" "$WORK/pip-fails"
bare
check "deps lib" gen/deps lib
check "without NVIDIA=1 nothing of it" test ! -e "$WORK/data/kpack/cuda"
takes_nvcc() {
    plain_make -n B="$WORK/b" ARCHS="gfx942 sm_90" MODULES=vector_add NVCC=/bin/true cubins |
        grep -F -e "/bin/true -x cu -cubin"
}
check "make compiles with NVCC=" takes_nvcc

# ---- other machines ----

bare
check "deps where apt has clang-20" env CLANG=20 gen/deps demo
check "takes it" has clang-20 lld-20 llvm-20-dev
bare
check "deps where apt has the libraries of HIP 7.2" env LIBS=rocm-device-libs-22 gen/deps demo
check "takes them" has rocm-device-libs-22 libamdhip64-dev
check "and no older ones" lacks rocm-device-libs
rm "$WORK/asked"
check "a second time" gen/deps demo
check "it asks apt for nothing" nothing_asked
bare
refuse "deps where apt has no clang" "no clang between 19 and 22" env CLANG=0 gen/deps demo

# Only these, so that a sudo or apt-get of the machine is not found.
for tool in sh awk sed grep tr cat env; do ln -s "$(command -v $tool)" "$bin/$tool"; done
bare
refuse "deps without root or sudo" "run it as root" \
    env PATH="$bin" USER_ID=1000 gen/deps demo
rm "$bin/apt-get"
refuse "demo where there is no apt" "LLVM with headers" env PATH="$bin" gen/deps demo
check "says nothing of lint" sh -c "! grep -i -e lint -e chromium '$WORK/check.out'"
refuse "all where there is no apt" "shellcheck" env PATH="$bin" gen/deps
check "and of CUDA no word" sh -c "! grep -i cuda '$WORK/check.out'"
refuse "NVIDIA=1 where there is no apt" "the CUDA toolkit, 11.8 or later" \
    env PATH="$bin" NVIDIA=1 gen/deps lib
finish
