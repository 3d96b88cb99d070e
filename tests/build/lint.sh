#!/bin/sh
# lint.sh - the part of `make lint` that takes seconds: clang-format, shellcheck,
# the pages' tables of settings, sentences that point, includes between rooms
#
# Only the releases of Debian 12 run: other releases of these tools format
# differently and find other mistakes.
# shellcheck disable=SC2016 # pages have backticks
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

case $(clang-format --version 2>/dev/null) in
*" version 14."*) check "every file is formatted" plain_make B="${B:-build}" lint-format ;;
*) skip "there is no clang-format 14" ;;
esac
case $(shellcheck --version 2>/dev/null) in
*"version: 0.9."*) check "shellcheck finds nothing" plain_make B="${B:-build}" lint-shell ;;
*) skip "there is no shellcheck 0.9" ;;
esac
check "the pages have every setting" plain_make B="${B:-build}" lint-settings
check "no folder has too many sentences that point" plain_make B="${B:-build}" lint-sentences
check "includes follow the rooms' table, and go in no circle" plain_make B="${B:-build}" lint-rooms

# ---- errors are found ----

mkdir "$WORK/tree"
find Makefile gen src tests -name Makefile -o -name '*.mk' -o -name '*.c' -o -name README.md |
    tar -cf - -T - | tar -xf - -C "$WORK/tree"
refuse_page() { # page words sed-script: a tree whose page that script changed
    sed -i "$3" "$WORK/tree/$1"
    refuse "$1 after sed '$3'" "$1: $2" python3 -B tests/build/settings.py "$WORK/tree"
    cp "$1" "$WORK/tree/$1"
}
refuse_page gen/README.md 'setting COV is missing' '/^| `COV`/d'
refuse_page tests/README.md 'setting INTO is missing' '/^| `INTO`/d'
refuse_page tests/README.md 'setting NONE: nothing reads it' 's/^| `INTO`/| `INTO`, `NONE`/'
refuse_page src/sim/README.md 'variable KPK_SIM_TRACE is missing' '/^| `KPK_SIM_TRACE`/d'
refuse_page src/sim/README.md 'variable KPK_SIM_TRACK: nothing reads it' 's/^| `KPK_SIM_TRACE`/| `KPK_SIM_TRACK`/'
refuse_page src/README.md 'variable KPK_HIP_LIBRARY is missing' '/^| `KPK_HIP_LIBRARY`/d'

rm -r "$WORK/tree"
mkdir "$WORK/tree" "$WORK/tree/src" "$WORK/tree/gen"
sentences() { # text: the count of a tree with 19 plain sentences and this text
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
        printf '/* The runtime opens module %s once. */\n\n' "$i"
    done >"$WORK/tree/src/a.c"
    printf '%s\n' "$1" >>"$WORK/tree/src/a.c"
    python3 -B tests/build/sentences.py "$WORK/tree"
}
check "plain sentences pass" sentences '/* The writer closes each file. */'
check "strings and code are no comments" sentences 'int of; /**/ char *s = "/* What of it is theirs. */ ";'
refuse "a sentence that points" 'src: 5.0 % of the sentences point' sentences '/* Where that is one of those. */'
refuse "an opening" '5.0 % begin badly' sentences '// Of two modules
// the runtime opens both.'
printf '# It is what it is.\nall:\n' >"$WORK/tree/gen/a.mk"
refuse "a makefile" 'gen: 100.0 % of the sentences point' sentences '/* */'
printf '#!/bin/sh\n# What the tool\n# makes goes here.\n' >"$WORK/tree/gen/tool"
rm "$WORK/tree/gen/a.mk"
refuse "a script" '100.0 % begin badly' sentences '/* */'
printf '# Page\n\nGoals build the pack. This is what it is.\n' >"$WORK/tree/gen/README.md"
refuse "a page" 'gen: 33.3 % of the sentences point' sentences '/* */'
shows() { # words of the output of --show
    python3 -B tests/build/sentences.py --show gen "$WORK/tree" | grep -qF "$1"
}
printf '# Page\n\n6 of 6 files hold equal bytes. Goals build the pack.\n' >"$WORK/tree/gen/README.md"
rm "$WORK/tree/gen/tool"
check "a number before Of is no opening" sentences '/* */'
printf '# Page\n\nGoals build the pack. This is what it is.\n' >"$WORK/tree/gen/README.md"
printf '#!/bin/sh\n# What the tool\n# makes goes here.\n' >"$WORK/tree/gen/tool"
check "--show names a script's line" shows 'gen/tool:2: What the tool makes goes here.'
check "--show names a page's line" shows 'gen/README.md:3: This is what it is.'
refuse "a folder without a row" 'no row tests/none' python3 -B tests/build/sentences.py --show tests/none "$WORK/tree"

rm -r "$WORK/tree"
mkdir "$WORK/tree"
find include src gen kernels tests -name '*.[ch]' -o -name '*.cc' -o -name '*.hip' | tar -cf - -T - | tar -xf - -C "$WORK/tree"
refuse_include() { # file included words: a tree whose file includes another one
    printf '#include "%s"\n' "$2" >>"$WORK/tree/$1"
    refuse "$2 in $1" "$3" python3 -B tests/build/rooms.py "$WORK/tree"
    cp "$1" "$WORK/tree/$1"
}
check "a copy of the rooms passes" python3 -B tests/build/rooms.py "$WORK/tree"
refuse_include src/base/sha256.h ../launch.c 'includes src/launch.c; src/base may use include'
refuse_include src/hip.c sim/isa/insn.h 'includes src/sim/isa/insn.h; src may use include, src/base'
refuse_include src/base/msgpack_scan.h kpak.h 'includes src/base/kpak.h'
printf 'void sha256_final(void);\n' >>"$WORK/tree/src/base/kpak.h"
printf 'void sha256_final(void)\n{\n}\n' >>"$WORK/tree/src/base/sha256.c"
for line in 'include <pthread.h>' 'ifdef _WIN32'; do
    cp src/hip.c "$WORK/tree/src/hip.c"
    printf '#%s\n' "$line" >>"$WORK/tree/src/hip.c"
    refuse "#$line in hip.c" ' is for *_posix.c and *_windows.c' python3 -B tests/build/rooms.py "$WORK/tree"
done
cp src/hip.c "$WORK/tree/src/hip.c"
refuse "a function of another file" 'src/base/kpak.h: declares sha256_final() of src/base/sha256.c' python3 -B tests/build/rooms.py "$WORK/tree"
finish
