#!/bin/sh
# rocminfo.sh - rocminfo lists the simulated device
#
# The program itself, not the runtime, looks for the driver's module with lsmod
# and opens /dev/kfd: here it finds an lsmod that lists it and a preloaded open().
set -u

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
if ! command -v rocminfo >/dev/null; then
    echo "rocminfo.sh: no rocminfo; run 'make deps'" >&2
    exit 1
fi
printf '#!/bin/sh\necho "amdgpu 1 0"\n' >"$out/lsmod"
chmod +x "$out/lsmod"
cat >"$out/open.c" <<END
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

int open(const char *path, int flags, int mode)
{
    int (*real)(const char *, int, ...) =
        (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");

    return real(strcmp(path, "/dev/kfd") == 0 ? "/dev/null" : path, flags, mode);
}
END
"${CC:-cc}" -shared -fPIC -o "$out/open.so" "$out/open.c" -ldl || exit 1
PATH=$out:$PATH LD_PRELOAD=$out/open.so LD_LIBRARY_PATH=$THUNK \
    KPK_SIM_DEVICES=gfx90a,gfx1030 rocminfo >"$out/log" 2>&1
status=$?
failed=0
for line in 'Name: *gfx90a' 'amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-' \
    'Name: *gfx1030' 'Marketing Name: *AMD Instinct MI210 (simulated)'; do
    if ! grep -q -e "$line" "$out/log"; then
        echo "rocminfo (exit status $status) does not say '$line'"
        failed=$((failed + 1))
    fi
done
if [ $failed -gt 0 ]; then cat "$out/log"; fi
echo "$((4 - failed)) passed, $failed failed"
[ $failed -eq 0 ]
