"""settings.py - the tables of settings on the pages, held against what is read

usage: settings.py [FOLDER]

A setting is a variable of the Makefile or of a *.mk file that has a default
(`NAME ?= value`). A switch is an environment variable that the runtime or the
simulated GPU reads. Each stands in the table of one page, TABLES says which.
Prints what stands in a page and is read nowhere, and what is read and stands in
no page.
"""
import glob
import os
import re
import sys

# page, heading of the table's first column, what it lists
TABLES = (("gen/README.md", "setting", ("Makefile", "gen/**/*.mk")),
          ("tests/README.md", "setting", ("tests/**/*.mk",
                                          "src/**/*.mk")),
          ("src/README.md", "variable", ("src/*.c",)),
          ("src/ggml/README.md", "variable", ("src/ggml/*.c",)),
          ("src/sim/README.md", "variable", ("src/sim/*/*.c",)))
INTERNAL = re.compile(r"KPACK_|PREBUILT")
# config.c and runtime.c have readers of their own for numbers and words.
READ = (r'(?:getenv|number|number_from|is_word)\(\s*"([A-Z_]+)"'
        r'|"(KPK_SIM_\w+)"')


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def names_in(path):
    """the settings or switches that one file reads"""
    if path.endswith(".c"):
        found = {a or b for a, b in re.findall(READ, read(path))}
    else:
        found = set(re.findall(r"^([A-Z][A-Z_]*) *\?=", read(path), re.M))
    return {name for name in found if not INTERNAL.match(name)}


def settings(folder="."):
    """all settings of make"""
    return set().union(*(names_in(path) for _, heading, patterns in TABLES
                         if heading == "setting" for pattern in patterns
                         for path in files(folder, pattern)))


def files(folder, pattern):
    return sorted(glob.glob(os.path.join(folder, pattern), recursive=True))


def shown_in(text, heading):
    """the names in the first columns of a page's tables with that heading"""
    for rows in re.findall(rf"^\| {heading} \|.*\n\|.*\n((?:\|.*\n)*)", text, re.M):
        for row in rows.splitlines():
            yield from re.findall(r"`([A-Z_]+)`", row.split("|")[1])


def wrong(folder):
    for page, heading, patterns in TABLES:
        shown = set(shown_in(read(os.path.join(folder, page)), heading))
        have = set().union(*(names_in(path) for pattern in patterns
                             for path in files(folder, pattern)))
        for name in sorted(shown - have):
            yield f"{page}: {heading} {name}: nothing reads it"
        for name in sorted(have - shown):
            yield f"{page}: {heading} {name} is missing"


def main(folder="."):
    found = list(wrong(folder))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
