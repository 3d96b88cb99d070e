"""pages.py - what the pages claim, held against the tree

usage: pages.py KPACK PAGE...
       pages.py --write PAGE...

Checks of every page that its links lead somewhere; that a block of code below
a comment `from: FILE` stands in that file; that the goals of make, the commands
of kpack, the files and the names of the library that it mentions are there;
that a table below a comment `made: NAME` is what the sources say; that a table
of modules has each of kernels/, and the list of endings is the one of
imported.c. Prints what is wrong, or with --write writes tables anew that are
made. The tables of settings are settings.py's.
"""
import glob
import os
import re
import subprocess
import sys

from settings import settings

SOURCES = (".c", ".h", ".hip", ".mk", ".sh", ".py")
PLACEHOLDER = re.compile(r"NAME|MODULE|FILE|TARGET|PACK|ENCODING|VERSION|NN")
EXAMPLES = ("kpk_aiter",)  # what begins like this, a build would make


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def blocks(text):
    """(language, the file that it is from or None, lines) of fenced blocks"""
    pattern = r"(?:<!-- from: (\S+) -->\n)?```(\w*)\n(.*?)\n```"
    for origin, language, code in re.findall(pattern, text, re.S):
        yield language, origin, [line.strip() for line in code.split("\n")]


def anchors(text):
    """as GitHub makes them of headings"""
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class Tree:
    """what there is to be mentioned"""

    def __init__(self, kpack):
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"],
                                stdout=subprocess.PIPE, text=True, check=False)
        self.files = listed.stdout.split() or [
            os.path.join(folder, name)[2:]
            for folder, _, names in os.walk(".") for name in names]
        self.names = {os.path.basename(path) for path in self.files}
        makefiles = "".join(read(path) for path in self.files
                            if path == "Makefile" or path.endswith(".mk"))
        self.goals = set()
        for goals in re.findall(r"^([a-z][a-z -]*):(?!=)", makefiles, re.M):
            self.goals |= set(goals.split())
        self.settings = settings()
        text = subprocess.run([kpack, "--help"], stdout=subprocess.PIPE,
                              text=True, check=True).stdout
        self.commands = set(re.findall(r"^  ([a-z]+) ", text, re.M))
        self.options = set(re.findall(r"--[a-z]+", text))
        self.words = set()
        for path in self.files:
            if path.endswith((".c", ".h", ".mk")) and os.path.exists(path):
                self.words |= set(re.findall(r"\b[kK][pP][kK]_\w+", read(path)))

    def has(self, path, folder):
        """a path of a page in folder, maybe with braces and stars"""
        return any(glob.glob(os.path.join(start, path))
                   for start in (folder or ".", ".", "include", "tests",
                                 "kernels/include"))


def wrong_links(page, text):
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        path = os.path.join(os.path.dirname(page), path) if path else page
        if not os.path.exists(path):
            yield f"link to {target}: no such file"
        elif anchor and anchor not in anchors(read(path)):
            yield f"link to {target}: no such heading"


def wrong_blocks(text):
    for _, origin, lines in blocks(text):
        if not origin:
            continue
        if not os.path.exists(origin):
            yield f"from {origin}: no such file"
            continue
        have = [line.strip() for line in read(origin).split("\n")]
        if not any(have[i:i + len(lines)] == lines for i in range(len(have))):
            yield f"from {origin}: its text is another than in the page"


def wrong_command(tree, words):
    """a command line, cut into words"""
    if words[0] == "make" and "-f" not in words and "-C" not in words:
        for goal in words[1:]:
            if re.fullmatch(r"[a-z][a-z-]*", goal) and goal not in tree.goals:
                yield f"make {goal}: no such goal"
            setting = re.match(r"([A-Z_]+)=", goal)
            if setting and setting.group(1) not in tree.settings:
                yield f"make {goal}: no such setting"
    if words[0] == "kpack" and len(words) > 1:
        for word in words[1:]:
            if word.startswith("--") and word not in tree.options:
                yield f"kpack {word}: no such option"
        if words[1][0].islower() and words[1] not in tree.commands:
            yield f"kpack {words[1]}: no such command"


def wrong_mentions(tree, page, text):
    for language, _, lines in blocks(text):
        for line in lines if language == "sh" else []:
            for command in re.split(r"&&|\|", line.split("#")[0]):
                if command.split():
                    yield from wrong_command(tree, command.split())
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    # A table of former names: the names before are names no more.
    for table in re.findall(r"^\| before \| now \|\n(?:\|.*\n)+", prose, re.M):
        for word in re.findall(r"\b(?:kpk|KPK)_\w+\b(?!\*)", "".join(re.findall(r"^\|[^|]*", table, re.M))):
            if word in tree.words:
                yield f"{word}: a former name that is still there"
        prose = prose.replace(table, re.sub(r"^\|[^|]*", "", table, flags=re.M))
    for mention in re.findall(r"`([^`\n]+)`", prose):
        yield from wrong_command(tree, mention.split())
        for word in re.findall(r"\b(?:kpk|KPK)_\w+\b(?!\*)", mention):
            if word not in tree.words and not word.startswith(EXAMPLES):
                yield f"{word}: no such name"
        if not re.fullmatch(r"[\w./*-]+", mention) or PLACEHOLDER.search(mention):
            continue
        first, *rest = mention.split("/")
        folder = os.path.dirname(page)
        if rest and first not in ("", "build") and rest[0] != "build" and \
                tree.has(first, folder):
            if not tree.has(mention, folder) and not tree.has(mention + ".*", folder):
                yield f"{mention}: no such file"
        elif re.fullmatch(r"\w[^/]*", mention) and mention.endswith(SOURCES):
            if not any(glob.fnmatch.fnmatch(name, mention) for name in tree.names):
                yield f"{mention}: no such file"


def rows_of(header, table):
    """the columns of each row of an X macro"""
    body = re.search(r"#define %s\(X\)((?:.*\\\n)*.*)\n" % table, read(header)).group(1)
    for row in re.findall(r"\bX\(([^()]*)\)", body):
        yield [column.strip(' "') for column in row.split(",")]


def formats():
    """the types of tensors that kernels read"""
    header = "src/base/gguf_formats.h"
    rows = []
    for name, lower, short, kind, number, elements, nbytes, *_ in \
            rows_of(header, "GGUF_WEIGHTS"):
        rows.append((kind, (name, lower, short), number, elements, nbytes,
                     "`quantized`, `mmvq_gguf`, `moe`"))
    for name, kind, number, elements, nbytes, *_ in rows_of(header, "GGUF_NUMBERS"):
        rows.append((kind, (name,), number, elements, nbytes, "`quantized`: to numbers"))
    for name, kind, number, elements, nbytes, *_ in rows_of(header, "GGUF_LOW_BIT"):
        rows.append((kind, (name,), number, elements, nbytes, "`low_bit`"))
    for name, kind, number, nbytes, *_ in rows_of(header, "GGUF_FLOAT_WEIGHTS"):
        rows.append((kind, (name,), number, "1", nbytes, "`quantized`"))
    yield "| format | in kernels' names | number in a file | elements of a block | bytes | modules |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for kind, names, number, *rest in sorted(rows, key=lambda row: int(row[2])):
        spelled = ", ".join(f"`{name}`" for name in dict.fromkeys(names))
        yield "| " + " | ".join((kind, spelled, number, *rest)) + " |"


# The GPUs of each generic target and of processors that no generic one covers.
FAMILIES = {
    "gfx9-generic": "Vega, MI50 to MI250",
    "gfx9-4-generic": "MI300, MI350",
    "gfx10-1-generic": "RDNA 1",
    "gfx10-3-generic": "RDNA 2",
    "gfx11-generic": "RDNA 3, 3.5",
    "gfx12-generic": "RDNA 4",
    "": "later",
}


def ranges(names):
    """four names and more without a gap are spelled as first and last"""
    runs = []
    for number in (int(name[3:], 16) for name in names):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    for run in runs:
        shown = [f"gfx{number:x}" for number in run]
        yield from shown if len(run) < 4 else [f"{shown[0]} to {shown[-1]}"]


def targets():
    """the processors of each family; one without a generic target belongs to
    the others of its version"""
    table = [(name, version, generic) for name, _, *version, _, generic in (
        row[:6] for row in rows_of("src/base/target_table.h", "KPK_PROCESSOR_TABLE"))]
    generics = {tuple(version): generic for _, version, generic in table if generic}
    families = {generic: [] for generic in FAMILIES}
    for name, version, generic in table:
        family = generics.get(tuple(version), "")
        if family not in families:
            sys.exit(f"pages.py: {name}: FAMILIES has no {family}")
        families[family].append((name, generic))
    yield "| GPUs | processors | one code object for all of them |"
    yield "| --- | --- | --- |"
    for family, members in families.items():
        apart = [name for name, generic in members if not generic]
        covers = f"`{family}` " if family else ""
        if family and apart:
            covers = f"`{family}`; not for {' and '.join(apart)} "
        yield f"| {FAMILIES[family]} | {', '.join(ranges(name for name, _ in members))} | {covers}|"
    yield "| NVIDIA, with [CUDA's tools](gen/README.md#nvidias-gpus) | `sm_80`, `sm_90` and so on: cubins " \
        "| `compute_80` and so on: PTX for all later ones |"


MADE = {"formats": formats, "targets": targets}
MADE_TABLE = re.compile(r"(<!-- made: (\w+) -->\n)((?:\|.*\n)*)")


def written(text):
    """the page with its made tables as they should be"""
    return MADE_TABLE.sub(lambda m: m[1] + "".join(
        line + "\n" for line in MADE[m[2]]()), text)


def wrong_made(text):
    for _, name, table in MADE_TABLE.findall(text):
        if name not in MADE:
            yield f"made: {name}: no such table"
        elif table.splitlines() != list(MADE[name]()):
            yield f"made: {name}: the sources say another table; pages.py --write writes it"


def wrong_modules(text):
    """of a table whose first two columns are modules and kernels"""
    table = re.search(r"^\| module \| kernels \|.*\n\|.*\n((?:\|.*\n)+)", text, re.M)
    if table:
        shown = set(re.findall(r"^\| `(\w+)`", table.group(1), re.M))
        there = {os.path.basename(path)[:-4] for path in glob.glob("kernels/*.hip")}
        for name in sorted(shown ^ there):
            yield f"module {name}: only in " + ("the page" if name in shown else "kernels/")


def wrong_endings(text):
    """of the row that lists the endings of files with code objects"""
    row = re.search(r"^\| anything else \|.*$", text, re.M)
    if not row:
        return
    table = re.search(r"import_endings\[\] = \{(.*?)\n\};", read("gen/pack/imported.c"), re.S)
    known = set(re.findall(r'"(\.\w+)"', table.group(1)))
    for name in sorted(known ^ set(re.findall(r"`(\.\w+)`", row.group()))):
        yield f"ending {name}: only in " + ("imported.c" if name in known else "the page")


def main(kpack, *pages):
    if kpack == "--write":
        for page in pages:
            text = written(read(page))
            with open(page, "w", encoding="utf-8") as file:
                file.write(text)
        return 0
    tree = Tree(kpack)
    found = []
    for page in pages:
        text = read(page)
        found += [f"{page}: {what}" for what in (
            *wrong_links(page, text), *wrong_blocks(text),
            *wrong_mentions(tree, page, text), *wrong_made(text),
            *wrong_modules(text), *wrong_endings(text))]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
