#!/bin/sh
# command.sh - the kpack command: what it prints, and its exit statuses
#
# Needs no GPU. Cases for a GPU run if the test runs on the simulated GPU.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build} H=${H:-build}
kpack=$H/kpack
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

# ---- the pack of another program ----

# A program that holds the same pack: the command itself, stripped.
strip -o "$WORK/app" "$kpack"
same_as_own() { # command line of the own pack: the same of the file
    "$kpack" "$@" >"$WORK/own" && "$kpack" "$@" "$WORK/app" >"$WORK/its" && diff "$WORK/own" "$WORK/its"
}
# What the tables have and code objects have not: names, tables, second names.
facts() { # module [file]
    "$kpack" info "$@" --json | python3 -c '
import json, sys
for m in json.load(sys.stdin)["modules"]:
    for k in m["kernels"]:
        print(k["packed_nbytes"], [(a["offset"], a["nbytes"], a["kind"]) for a in k["args"]], k["targets"])'
}
if [ -z "$("$kpack" list | awk '$1 ~ /[^a-z0-9_]/')" ]; then
    check "list --kernels of a program" [ \
        "$("$kpack" list --kernels "$WORK/app" | sed 1d | awk '{ print $2, $3, $4 }' | sort | uniq -c)" = \
        "$("$kpack" list --kernels | sed 1d | awk '{ print $2, $3, $4 }' | sort | uniq -c)" ]
    check "select on a program" same_as_own select "$target"
    check "select of a module on a program" same_as_own select "$target" "$module"
    check "info of a module of a program" [ "$(facts "$module" "$WORK/app" | sort)" = "$(facts "$module" | sort)" ]
fi
check "info of a kernel of a program" says "of module $module:" "$kpack" info \
    "$("$kpack" list --kernels "$WORK/app" | sed -n '2s/ .*//p')" "$WORK/app"
refuse "no such kernel in a program" "\`kpack list --kernels $WORK/app\` shows all" "$kpack" info no_such_name "$WORK/app"
refuse "no such module in a program" "\`kpack list $WORK/app\` shows them" "$kpack" select "$target" no_such_module "$WORK/app"
refuse "select on a program for another target" "fits device gfx9999" "$kpack" select gfx9999 "$WORK/app"
for words in "list --kernels" "info $module" "select $target"; do
    # shellcheck disable=SC2086 # words
    check "$words of a program, --json" is_json "$kpack" $words "$WORK/app" --json
    # shellcheck disable=SC2086 # words
    check "$words of a file without a pack" status 1 "$kpack" $words "$WORK/check.out"
    # shellcheck disable=SC2086 # words
    check "$words of no file" status 1 "$kpack" $words "$WORK/none.there"
done
# One byte of the first code object changed: the others are shown.
python3 - "$WORK/app" "$WORK/damaged" <<'END'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
at = b.index(b"KPACK BLOB\xf3")
b[at + struct.unpack_from("<I", b, at + 20)[0] + 64] ^= 1
open(sys.argv[2], "wb").write(b)
END
check "a damaged program" status 1 "$kpack" list --kernels "$WORK/damaged"
check "says what is damaged" says "SHA-256" "$kpack" list --kernels "$WORK/damaged"

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

case " $("$kpack" list | sed -n 2p) " in *" gfx942 "*)
    check "extract of what a device runs" says "taking gfx942 (" \
        "$kpack" extract "$module" gfx942:sramecc+:xnack- -o "$WORK/taken.hsaco"
    check "is the processor's" cmp "$WORK/taken.hsaco" "$B/hsaco/gfx942/$module.hsaco"
    ;;
esac

# ---- exit statuses ----

check "--help" says "exit status:" "$kpack" --help
check "--help after a command" says "usage: kpack list [FILE] [OPTION]..." "$kpack" list --help
check "help of a command" says "usage: kpack prune FILE.a [OPTION]..." "$kpack" help prune
check "-h after a command is its own" sh -c "! '$kpack' devices -h | grep -e --keep -e 'exit status:'"
check "it has the command's options" says "--keep TARGET,..." "$kpack" prune --help
check "a star is a mark in long texts alone" says "-k 'affine_*'" "$kpack" run --help
check "in lines that fit" sh -c "! '$kpack' extract --help | grep -E '.{79}'"
check "help of no command" status 2 "$kpack" help lisp
check "-V" says "kpack $(sed -n 's/.*KPK_VERSION_STRING "\(.*\)".*/\1/p' include/kpack.h)" "$kpack" -V
check "--version" says "kpack $(sed -n 's/.*KPK_VERSION_STRING "\(.*\)".*/\1/p' include/kpack.h)" "$kpack" --version
check "no command" status 2 "$kpack"
check "unknown command" status 2 "$kpack" lisp
check "unknown option" status 2 "$kpack" list --yaml
refuse "an option with a word, twice" "given twice" "$kpack" run -d 0 -d 1
check "option of another command" status 2 "$kpack" list -o x
check "option without its value" status 2 "$kpack" extract "$module" "$target" -o
for number in one -1 1x 2147483648 99999999999999999999 ''; do
    check "no number: '$number'" status 2 "$kpack" run -d "$number"
done
check "select of no such module" status 1 "$kpack" select "$target" no_such_module
check "select --json, none fits" sh -c "'$kpack' select gfx9999 --json | grep '\"none\"'"
check "-h" says "exit status:" "$kpack" -h
check "help" says "exit status:" "$kpack" help
check "word missing" status 2 "$kpack" info
check "word too many" status 2 "$kpack" info a b c
check "no such name" status 1 "$kpack" info no_such_name
check "a file where a name belongs" says "kpack list $kpack" sh -c "'$kpack' info '$kpack' 2>&1; true"
check "no such module" status 1 "$kpack" extract no_such_module "$target"
check "select, none fits" status 1 "$kpack" select gfx9999
check "select says ARCHS" says "gfx9999\"" "$kpack" select gfx9999
check "select, no target ID" status 2 "$kpack" select "$processor:what"
check "extract, none fits" status 1 "$kpack" extract "$module" gfx9999
check "run without a HIP runtime" status 3 env KPK_HIP_LIBRARY=/nowhere.so LD_LIBRARY_PATH='' "$kpack" run
check "a file called -" status 1 "$kpack" list -
check "full disk, list" status 4 sh -c "'$kpack' list >/dev/full"
check "full disk, extract" status 4 "$kpack" extract "$module" "$target" -o /dev/full
check "full disk, a sentence" says "No space left on device" sh -c "'$kpack' info '$module' 2>&1 >/dev/full"
check "no such folder" status 4 "$kpack" extract "$module" "$target" -o "$WORK/no/such/folder"
"$kpack" --manual >"$WORK/kpack.1"
for name in $("$kpack" --help | sed -n 's/^  \([a-z]*\) .*/\1/p;s/^  \(-[-a-z]*\) .*/\1/p' | grep -v -e --help); do
    check "the manual has $name" sh -c "tr -d '\\\\' <'$WORK/kpack.1' | grep -qF -e 'fB$name' -e 'fBkpack $name'"
done
check "the manual has each exit status" sh -c \
    "'$kpack' --help | sed -n 's/^  [0-9]  //p' | while read -r text; do grep -qxF \"\$text\" '$WORK/kpack.1' || exit 1; done"
if command -v man >/dev/null; then
    check "the manual page is well-formed" sh -c \
        "! man -l --warnings '$WORK/kpack.1' 2>&1 >/dev/null | grep ."
    check "it reads as it should" sh -c "MANWIDTH=200 man -l '$WORK/kpack.1' | col -b |
        grep -F 'kpack run vector_add f32x1000:ramp f32x1000:0.5 f32x1000:0 u32:1000'"
fi

# ---- did you mean ----

refuse "a command with two letters exchanged" 'Did you mean "list"?' "$kpack" lsit
refuse "a command's option" 'Did you mean "--kernels"?' "$kpack" list --kernel
refuse "a plain option" 'Did you mean "--version"?' "$kpack" --versoin
refuse "a kernel or module" "Did you mean \"$kernel\"?" "$kpack" info "${kernel}x"
refuse "a module" "Did you mean \"$module\"?" "$kpack" extract "${module}x" "$target"
check "nothing near is nothing meant" sh -c "! '$kpack' info qqqqqqqqqqqq 2>&1 | grep 'Did you mean'"
check "an option that is right, given twice, is not guessed" sh -c "! '$kpack' run -d 0 -d 1 2>&1 | grep 'Did you mean'"
check "nor is a text longer than any name" sh -c "! '$kpack' info $(printf '%0100d' 0) 2>&1 | grep 'Did you mean'"

# ---- completion ----

check "completion of no shell" status 2 "$kpack" --completion tcsh
check "completion of none named" status 2 "$kpack" --completion
complete() { # words...: what bash offers for the last
    PATH=$(cd "$(dirname "$kpack")" && pwd):$PATH bash -c '
        eval "$(kpack --completion bash)" && COMP_WORDS=(kpack "$@") COMP_CWORD=$# && _kpack &&
            printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
if command -v bash >/dev/null; then
    offers() { # word words...
        offered=$1
        shift
        complete "$@" >"$WORK/offers"
        cat "$WORK/offers"
        grep -qxF -e "$offered" "$WORK/offers"
    }
    for name in $("$kpack" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p;s/^  \(--[a-z][a-z]*\) .*/\1/p' | sort -u); do
        "$kpack" "$name" --help >/dev/null 2>&1 || continue
        check "bash offers $name" offers "$name" "${name%?}"
        for option in $("$kpack" "$name" --help | sed -n 's/^  \(-[-a-z]*\) .*/\1/p'); do
            check "bash offers $name $option" offers "$option" "$name" "-"
        done
    done
    check "bash offers kernels" offers "$kernel" info "${kernel%?}"
    check "bash offers modules" offers "$module" info "${module%?}"
    check "bash offers files" offers "$WORK/out.hsaco" verify "$WORK/out"
    check "and no file where none belongs" sh -c "! test -s '$WORK/none'" complete devices "$WORK/out" >"$WORK/none"
    check "bash offers files of -o" offers "$WORK/out.hsaco" extract -o "$WORK/out"
else
    skip "there is no bash"
fi
for shell in zsh fish; do
    "$kpack" --completion $shell >"$WORK/completion.$shell"
    for name in $("$kpack" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'); do
        check "$shell's completion has $name" grep -qw -e "$name" "$WORK/completion.$shell"
    done
    if command -v $shell >/dev/null; then
        check "$shell reads it" $shell -n "$WORK/completion.$shell"
    fi
done

# ---- on a device ----

case ${KPK_SIM_DEVICES:-} in
'') ;;
*)
    sums=$(python3 -c 'import hashlib, struct
print(hashlib.sha256(b"".join(struct.pack("<f", i % 8 + 0.5) for i in range(1000))).hexdigest()[:16])')
    first=$(echo "$KPK_SIM_DEVICES" | cut -d, -f1 | cut -d: -f1)
    check "devices" says "$first" "$kpack" devices
    check "devices --json" is_json "$kpack" devices --json
    check "devices of a HIP with a newer number" says "$first" env KPK_HIP_LIBRARY=libamdhip64.so.8 "$kpack" devices
    check "run loads kernels" says "1 kernels loaded, 0 failed" "$kpack" run -d 0 -k "vector_add"
    check "run launches a kernel" says "argument 2, f32 x 1000, SHA-256 $sums: 0.5 1.5 2.5 3.5 4.5 5.5 6.5 7.5 ..." \
        "$kpack" run vector_add f32x1000:ramp f32x1000:0.5 f32x1000:-1 u32:1000
    check "with a shape of its own" says "grid 8 x 1 x 1, block 128 x 1 x 1" \
        "$kpack" run vector_add f32x1000:ramp f32x1000:0.5 f32x1000:-1 u32:1000 -b 128
    check "that of -g" says "argument 2, f32 x 3, SHA-256" \
        "$kpack" run vector_add f32x3:1e3 f32x3:random f32x3:nan u32:3 -b 1 -g 3 -s 0
    check "run of a kernel, --json" is_json "$kpack" run vector_add f32x9:1 f32x9:2 f32x9:0 u32:9 --json
    printf '\001\000\000\000\377\377\377\377' >"$WORK/two"
    check "integers from a file" says "argument 1, i32 x 2, SHA-256 $(sha256sum "$WORK/two" | cut -c1-16): 1 -1" \
        "$kpack" run vector_add f32x2:0 "i32x2:@$WORK/two" f32x2:0 u32:2
    check "run of 64-bit integers" says "argument 2, i64 x 1, SHA-256" \
        "$kpack" run vector_add u64x1:18446744073709551615 f16x2:random i64x1:-9223372036854775808 u32:0 -b 1
    check "they are whole" says ": -9223372036854775808" \
        "$kpack" run vector_add u16x1:7 i8x4:random i64x1:-9223372036854775808 u32:0 -b 1
    for extent in 0 x -1 '1,' '1;2' 99999999999999999999 1,0 1,2,3,4 4294967296 ''; do
        check "run -g '$extent'" status 2 "$kpack" run vector_add f32x1:1 f32x1:1 f32x1:1 u32:1 -g "$extent"
    done
    check "run in three dimensions" says "grid 2 x 1 x 1, block 2 x 1 x 1" \
        "$kpack" run vector_add f32x4:1 f32x4:1 f32x4:1 u32:4 -g 2,1,1 -b 2,1
    check "run, a kernel or a pattern" status 2 "$kpack" run vector_add -k x
    check "run, no such kernel" status 1 "$kpack" run no_such_kernel
    check "run, no such device for a kernel" status 3 "$kpack" run vector_add u32:1 -d 99

    # HIP fails: a sentence that names the function, and a status.
    fails() { # faults, words, command...
        faults=$1 words=$2
        shift 2
        KPK_SIM_FAULTS=$faults "$@" >"$WORK/fails" 2>&1
        status=$?
        cat "$WORK/fails"
        [ "$status" -eq 1 ] && grep -qF -e "$words" "$WORK/fails"
    }
    one="vector_add f32x1:1 f32x1:1 f32x1:1 u32:1"
    for function in hipMalloc hipMemcpy hipModuleLaunchKernel hipModuleLoadData hipModuleGetFunction \
        hipStreamSynchronize hipMemcpy:4 hipMemcpy:5 hipModuleUnload; do
        # shellcheck disable=SC2086 # words
        check "run, $function fails" fails "$function=hipErrorUnknown" "${function%:*} returned" "$kpack" run $one
    done
    check "run of all, hipModuleLoadData fails" fails hipModuleLoadData:1=hipErrorUnknown \
        "FAILED vector_add: " "$kpack" run -d 0 -k "vector_add"
    check "the same, --json" sh -c "KPK_SIM_FAULTS=hipModuleLoadData:1=hipErrorUnknown '$kpack' run -d 0 -k vector_add --json |
        python3 -c 'import json, sys; d = json.load(sys.stdin)[0]; sys.exit(not (d[\"failed\"] == 1 and d[\"failures\"][0][\"error\"]))'"
    check "run of all, hipModuleUnload fails" fails hipModuleUnload=hipErrorUnknown "hipModuleUnload returned" \
        "$kpack" run -d 0 -k "vector_add"
    check "run of all, hipGetDeviceCount fails" fails hipGetDeviceCount:3=hipErrorUnknown "cannot count" "$kpack" run
    check "devices, hipGetDeviceCount fails" fails hipGetDeviceCount=hipErrorUnknown "cannot count" "$kpack" devices
    for json in "" --json; do
        # shellcheck disable=SC2086 # none or one
        check "devices, properties fail $json" fails hipGetDeviceProperties:1=hipErrorUnknown,hipGetDevicePropertiesR0600:1=hipErrorUnknown \
            "hipGetDeviceProperties returned" "$kpack" devices $json
    done
    check "devices, none" status 3 env KPK_SIM_FAULTS=hipGetDeviceCount=hipErrorNoDevice "$kpack" devices
    check "devices, none, --json" sh -c "KPK_SIM_DEVICES=none KPK_CUDA_LIBRARY= '$kpack' devices --json |
        python3 -c 'import json, sys; d = json.load(sys.stdin); sys.exit(d[\"devices\"] != [] or \"sees a GPU\" not in d[\"error\"])'"
    check "devices, a CUDA library that is not there" says "no CUDA driver: KPK_CUDA_LIBRARY names /nowhere.so" \
        env KPK_CUDA_LIBRARY=/nowhere.so "$kpack" devices
    check "devices without a HIP runtime" status 3 env KPK_HIP_LIBRARY=/nowhere.so LD_LIBRARY_PATH='' "$kpack" devices
    check "run, a wrong size" says "is 4 bytes, 8 were given" \
        "$kpack" run vector_add f32x9:1 f32x9:2 f32x9:0 u64:9
    check "run, too few arguments" says "vector_add takes 4 arguments, 1 was given" \
        "$kpack" run vector_add f32x9:1
    for word in f31:1 f32 f32x0:1 f32x:1 f32x-1:1 f32xx2:1 f32x2:ramps u8:256 u8:-1 i8:128 i8:-129 u32:1x \
        "f32x9:@$WORK/two" "f32x1:@$WORK/two" f32x2:@/nowhere "" x:1 u8: u8x1: f32: f32:1x u64:18446744073709551616 \
        u32:--5 i32:--0 f32x18446744073709551616:1 f64x2305843009213693953:1; do
        check "run, argument '$word'" status 2 "$kpack" run vector_add "$word"
    done
    check "run, two arguments that are none" status 2 "$kpack" run vector_add x:1 y:2
    # shellcheck disable=SC2086 # words
    check "run, the kernel fails and so does closing" fails \
        hipModuleLaunchKernel=hipErrorUnknown,hipModuleUnload=hipErrorUnknown "hipModuleLaunchKernel returned" "$kpack" run $one
    none_fits() { KPK_SIM_DEVICES=gfx906 "$kpack" run "$@" >"$WORK/said" 2>&1; [ $? -eq 1 ] && cat "$WORK/said"; }
    case " $(echo "$KPK_SIM_DEVICES" | tr , ' ')" in *gfx906*) ;; *)
        check "run, none fits" says "no code object of module" none_fits
        ;;
    esac
    if [ -e "$H/test/gpu/stand_in.so" ]; then
        with_cuda() { STAND_IN_DEVICES=90 KPK_CUDA_LIBRARY=$(realpath "$H/test/gpu/stand_in.so") "$kpack" devices "$@"; }
        check "devices of CUDA's driver" says "CUDA driver 1" with_cuda
        broken_cuda() { STAND_IN_INIT=999 with_cuda "$@"; }
        check "CUDA fails beside a working HIP: a sentence" says "does not start: cuInit" broken_cuda
        check "HIP's devices are listed all the same" says "$first" broken_cuda
        check "the same, --json" sh -c "STAND_IN_INIT=999 STAND_IN_DEVICES=90 KPK_CUDA_LIBRARY='$(realpath "$H/test/gpu/stand_in.so")' '$kpack' devices --json 2>/dev/null |
            python3 -c 'import json, sys; d = json.load(sys.stdin); sys.exit(\"does not start\" not in d[\"cuda_error\"] or not d[\"devices\"])'"
        check "the same, --json" sh -c "STAND_IN_DEVICES=90 KPK_CUDA_LIBRARY='$(realpath "$H/test/gpu/stand_in.so")' '$kpack' devices --json |
            python3 -c 'import json, sys; d = json.load(sys.stdin); sys.exit(not d[\"cuda_version\"] or d[\"devices\"][-1][\"target\"] != \"sm_90\")'"
    fi
    check "run, no pointer" status 0 "$kpack" run vector_add null f32x1:1 f32x1:1 u32:0
    check "run -s, no number" status 2 "$kpack" run vector_add u32:1 -s x
    check "run, no such shape" status 2 "$kpack" run vector_add u32:1 -b 0
    check "run --json" is_json "$kpack" run -d 0 -k "vector_add" --json
    check "run, no such device" status 3 "$kpack" run -d 99
    check "run, nothing matches" status 1 "$kpack" run -d 0 -k "no_such_*"
    ;;
esac

finish
