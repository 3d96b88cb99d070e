#!/bin/sh
# run.sh - tests/run counts cases: passed, failed, and skipped apart from both
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

test_that() { # name status: prints what comes in
    { echo "#!/bin/sh"; echo "cat <<'END'"; cat; echo END; echo "exit $2"; } >"$WORK/$1"
    chmod +x "$WORK/$1"
}
ends() { # line status test...
    line=$1 status=$2
    shift 2
    (cd "$WORK" && "$ROOT/tests/run" "$@") >"$WORK/ends.out" 2>&1
    found=$?
    cat "$WORK/ends.out"
    [ "$found" -eq "$status" ] && [ "$(tail -n 1 "$WORK/ends.out")" = "$line" ]
}
has() { grep -qxE -e "$1" "$WORK/ends.out"; }

echo nothing | test_that silent 0
echo nothing | test_that broken 3
echo '3 passed, 0 failed' | test_that three 0
echo '2 passed, 1 failed' | test_that two 1
printf '%s\n' 'SKIPPED: no such tool' '0 passed, 0 failed, 1 skipped' | test_that none 0
printf '%s\n' 'SKIPPED: one' '4 passed, 0 failed, 2 skipped' | test_that some 0
printf '%s\n' '[==========] 3 test(s) run.' '[  PASSED  ] 2 test(s).' \
    '[  SKIPPED ] 1 test(s), listed below:' '[  SKIPPED ] test_this' | test_that cmocka 0
printf '%s\n' '[  PASSED  ] 2 test(s).' '[  FAILED  ] a: 1 test(s), listed below:' \
    '[  FAILED  ] test_this' | test_that cmocka_failed 1

check "what counts nothing is one case" ends "1 passed, 0 failed" 0 ./silent
check "or one failure" ends "0 passed, 1 failed" 1 ./broken
check "cases add up" ends "5 passed, 1 failed" 1 ./two ./three
check "what is skipped did not pass" ends "3 passed, 0 failed, 1 skipped" 0 ./three ./none
check "and its line says so" has 'skip     0  \./none \(.*, 1 skipped\)'
check "and why" has ' *SKIPPED: no such tool'
check "some cases of a test" ends "4 passed, 0 failed, 2 skipped" 0 ./some
check "cmocka's too" ends "2 passed, 0 failed, 1 skipped" 0 ./cmocka
check "by name" has ' *\[  SKIPPED \] test_this'
check "cmocka's failures" ends "2 passed, 1 failed" 1 ./cmocka_failed
check "all skipped is nothing that ran" ends "0 passed, 0 failed, 1 skipped" 1 ./none
test_skip() {
    cat >"$WORK/script" <<END
#!/bin/sh
ROOT=$ROOT
. "$ROOT/tests/checks.sh"
check "true" true
skip "a reason"
finish
END
    chmod +x "$WORK/script"
    ends "1 passed, 0 failed, 1 skipped" 0 ./script
}
check "a script skips a case" test_skip
finish
