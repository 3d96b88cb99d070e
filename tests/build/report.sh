#!/bin/sh
# report.sh - make report's page, looked at and used in headless Chromium
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build}
tool=$B/kpack-report
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || echo)

# A small pack of the code objects that are there, and an older build of it:
# one kernel otherwise compiled, one module not there yet, one since removed.
now=$WORK/now old=$WORK/old
targets=$(find "$B"/hsaco/*/vector_add.hsaco "$B"/hsaco/*/affine.hsaco 2>/dev/null |
    awk -F/ '{ n[$(NF - 1)]++ } END { for (t in n) if (n[t] == 2) print t }' |
    grep '^gfx' | sort | head -n 2)
one=$(echo "$targets" | head -n 1)
copy_tree "$WORK/tree" "$ROOT/kernels/vector_add.hip"
check "two targets are there" test "$(echo "$targets" | wc -w)" -eq 2
check "an older build" plain_make SAN= -s -C "$WORK/tree" hsaco ARCHS="$one" HIPFLAGS=-O0
for t in $targets; do
    mkdir -p "$now/$t" "$old/hsaco/$t"
    for m in vector_add affine; do
        "$tool" $m "$B/hsaco/$t/$m.hsaco" >"$now/$t/$m.json"
    done
    cp "$B/hsaco/$t/vector_add.hsaco" "$old/hsaco/$t/"
    cp "$B/hsaco/$t/vector_add.hsaco" "$old/hsaco/$t/removed.hsaco"
done
cp "$WORK/tree/build/hsaco/$one/vector_add.hsaco" "$old/hsaco/$one/"

is_json() { python3 -m json.tool "$1"; }
for f in "$now"/*/*.json; do
    check "${f##*/} is JSON" is_json "$f"
done
agrees_with_objdump() { # the instruction counts
    wanted=$("$OBJDUMP" -d --disassemble-symbols=vector_add "$B/hsaco/$one/vector_add.hsaco" |
        grep '//' | grep -vc s_code_end) # padding up to the next kernel
    got=$(python3 -c 'import json,sys; k, = json.load(open(sys.argv[1]))["kernels"]; print(sum(k[13]))' \
        "$now/$one/vector_add.json")
    echo "objdump $wanted, report $got"
    [ "$wanted" -eq "$got" ] && [ "$got" -gt 5 ]
}
OBJDUMP=$(for v in 22 21 20 19; do command -v llvm-objdump-$v; done | head -n 1)
check "instructions are those that llvm-objdump sees" agrees_with_objdump

# Output of make bench-bounds; the line of "short" lacks fields, and that of "</script>"
# names no kernel.
cat >"$WORK/made-bounds.csv" <<'END'
# A head.
target,kernel,layout,shape,launched
gfx942,badd_f32,,1024x1024,callers',2.363,0,15,0,52,0,7,100,0,100.0,0.0,8,65536,10510,
gfx942,short,,1024x1024,callers',2.363,0,15,0,52,0,7,100,0,100.0,0.0,8,65536
gfx942,</script>,,1x1,callers',2.363,0,15,0,52,0,7,100,0,100.0,0.0,8,65536,10510,
gfx90a,mul_mat_q4_0,,1024x4096x512,callers',71.5,100,81,0,9,48,30,22,0,100.5,12.5,2,16384,10510,75
gfx1100,uneg_f32,bias,1024x1024,recommended,8.738,0,8,61,20,0,7,100,0,100.0,0.0,16,65536,3500,
END
BOUNDS="$WORK/made-bounds.csv" check "the page" gen/report/make-page "$tool" gen/report/page.html candle \
    "a compiler's \"name\" </script>" "" "$WORK/plain.html" "$now"/*/*.json
check "a page that compares" gen/report/make-page "$tool" gen/report/page.html \
    candle "" "$old" "$WORK/compared.html" "$now"/*/*.json
refuse "a build that is none" "there is no $WORK/none/hsaco/TARGET/NAME.hsaco" \
    gen/report/make-page "$tool" gen/report/page.html candle "" "$WORK/none" \
    "$WORK/x.html" "$now"/*/*.json
no_addresses() { ! grep -nE '(src|href)="?(https?:)?//|url\(|@import' "$1"; }
check "it names nothing outside itself" no_addresses "$WORK/compared.html"
check "chromium is there (make deps)" test -n "$browser"
used() { # page: each of its cases counts
    python3 tests/build/report_page.py "$browser" "$1" >"$WORK/used" 2>&1
    last=$(tail -n 1 "$WORK/used")
    case $last in
    *' passed, '*)
        checks_passed=$((checks_passed + ${last%% *}))
        last=${last#*, }
        checks_failed=$((checks_failed + ${last%% *}))
        grep FAILED "$WORK/used"
        ;;
    *)
        cp "$WORK/used" "$WORK/check.out"
        flunk "use of $1"
        ;;
    esac
}
used "$WORK/plain.html"
used "$WORK/compared.html"
finish
