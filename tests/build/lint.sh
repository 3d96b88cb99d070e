#!/bin/sh
# lint.sh - the part of `make lint` that takes seconds: clang-format, shellcheck
#
# Other releases of these tools format otherwise and find other things, so only
# those of Debian 12 are asked.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

case $(clang-format --version 2>/dev/null) in
*" version 14."*) check "every file is formatted" plain_make B="$WORK/lint" lint-format ;;
*) skip "there is no clang-format 14" ;;
esac
case $(shellcheck --version 2>/dev/null) in
*"version: 0.9."*) check "shellcheck finds nothing" plain_make B="$WORK/lint" lint-shell ;;
*) skip "there is no shellcheck 0.9" ;;
esac
finish
