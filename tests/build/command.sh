#!/bin/sh
# command.sh - the kpack command: what it prints, and its exit statuses
#
# Needs no GPU: what needs one is tested on the simulated one, if that is
# where this test runs.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build}
kpack=$H/kpack
status() { # wanted status, command...
    wanted=$1
    shift
    "$@"
    got=$?
    [ "$got" -eq "$wanted" ] || {
        echo "wanted exit status $wanted, got $got"
        return 1
    }
}
says() { # words, command...
    words=$1
    shift
    "$@" 2>&1 | grep -F -e "$words"
}
is_json() { # command...
    "$@" | python3 -m json.tool
}
# Any target of the pack will do: the first of the first module.
module=$("$kpack" list | sed -n '2s/ .*//p')
target=$("$kpack" list | sed -n '2s/^[^ ]* *[0-9]* *[0-9]* *\([^ ]*\).*/\1/p')
kernel=$("$kpack" list --kernels | sed -n '2s/ .*//p')
processor=${target%%:*}

check "there is a module, a kernel and a target" [ -n "$module" -a -n "$kernel" -a -n "$target" ]
check "list" says "$module" "$kpack" list
check "list --kernels counts as the header does" [ \
    "$("$kpack" list --kernels | sed 1d | wc -l)" -eq \
    "$("$kpack" list --json | python3 -c 'import json,sys; print(sum(len(m["kernels"]) for m in json.load(sys.stdin)["modules"]))')" ]
check "info of a module" says "module $module:" "$kpack" info "$module"
check "info of a kernel" says "kernel $kernel of module $module:" "$kpack" info "$kernel"
check "select" says "exact processor" "$kpack" select "$target" "$module"
for words in "list" "info $module" "info $kernel" "select $target"; do
    # shellcheck disable=SC2086
    check "$words --json" is_json "$kpack" $words --json
done

# ---- extract gives the file that went in ----

check "extract -o" "$kpack" extract "$module" "$target" -o "$WORK/out.hsaco"
check "extract -o, same bytes" cmp "$WORK/out.hsaco" "$B/hsaco/$target/$module.hsaco"
"$kpack" extract "$module" "$target" -o - >"$WORK/stdout.hsaco"
check "extract to standard output" cmp "$WORK/stdout.hsaco" "$WORK/out.hsaco"
(cd "$WORK" && "$ROOT/$kpack" extract "$module" "$target") 2>/dev/null ||
    (cd "$WORK" && "$kpack" extract "$module" "$target")
check "extract to a name of its own" cmp "$WORK/$module-$target.hsaco" "$WORK/out.hsaco"
sum=$(sha256sum "$WORK/out.hsaco" | cut -d' ' -f1)
check "the SHA-256 is the file's" says "$sum" "$kpack" info "$module"

# ---- exit statuses ----

check "--help" says "exit status:" "$kpack" --help
check "--help after a command" says "usage: kpack" "$kpack" list --help
check "--version" says "kpack $(sed -n 's/.*KPK_VERSION_STRING "\(.*\)".*/\1/p' include/kpack.h)" "$kpack" --version
check "no command" status 2 "$kpack"
check "unknown command" status 2 "$kpack" lisp
check "unknown option" status 2 "$kpack" list --yaml
check "option of another command" status 2 "$kpack" list -o x
check "option without its value" status 2 "$kpack" extract "$module" "$target" -o
check "no number" status 2 "$kpack" run -d one
check "word missing" status 2 "$kpack" info
check "word too many" status 2 "$kpack" info a b
check "no such name" status 1 "$kpack" info no_such_name
check "no such module" status 1 "$kpack" extract no_such_module "$target"
check "select, none fits" status 1 "$kpack" select gfx9999
check "select says ARCHS" says "gfx9999\"" "$kpack" select gfx9999
check "select, no target ID" status 2 "$kpack" select "$processor:what"
check "extract, none fits" status 1 "$kpack" extract "$module" gfx9999
check "run without a HIP runtime" status 3 env KPK_HIP_LIBRARY=/nowhere.so LD_LIBRARY_PATH='' "$kpack" run
check "full disk, list" status 4 sh -c "'$kpack' list >/dev/full"
check "full disk, extract" status 4 "$kpack" extract "$module" "$target" -o /dev/full
check "full disk, a sentence" says "No space left on device" sh -c "'$kpack' info '$module' 2>&1 >/dev/full"
check "no such folder" status 4 "$kpack" extract "$module" "$target" -o "$WORK/no/such/folder"
check "the man page lists each exit status" sh -c \
    "'$kpack' --help | sed -n 's/^  [0-4]  //p' | while read -r text; do grep -qF \"\$text\" src/kpack.1 || exit 1; done"
if command -v man >/dev/null; then
    check "the man page is well-formed" sh -c \
        "! man -l --warnings src/kpack.1 2>&1 >/dev/null | grep ."
fi

# ---- on a device ----

case ${KPK_SIM_DEVICES:-} in
'') ;;
*)
    first=$(echo "$KPK_SIM_DEVICES" | cut -d, -f1 | cut -d: -f1)
    check "devices" says "$first" "$kpack" devices
    check "devices --json" is_json "$kpack" devices --json
    check "run of one kernel" says "PASSED device 0" "$kpack" run -d 0 -k "vector_add"
    check "run --json" is_json "$kpack" run -d 0 -k "vector_add" --json
    check "run, no such device" status 3 "$kpack" run -d 99
    check "run, nothing matches" status 1 "$kpack" run -d 0 -k "no_such_*"
    ;;
esac

finish
