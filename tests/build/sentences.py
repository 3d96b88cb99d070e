"""sentences.py - counts sentences of comments and pages that point instead of naming

usage: sentences.py [TREE]
       sentences.py --show FOLDER [TREE]

A sentence points when 40 % or more of its words are words of POINTING. Such
sentences are hard to read once: "What is left of it is that one's". The program
counts them, and the sentences that begin as OPENING says, in the
comments of C, HIP, makefiles and shell scripts and in the pages, and fails if a
folder has a larger share of either than LIMITS allows. --show prints the
sentences of one row of LIMITS. A candidate may be a good sentence: the judge is
a reader who knows GPUs and not kpack.
"""
import os
import re
import sys

POINTING = frozenset("""that what which of those it its itself them they their
there this these where who whom whose as is are was were be than one ones other
others each all""".split())
OPENING = re.compile(r"[\W_]*(?:of|what|that|those)\b", re.I)
POINTS_FROM = 0.4
SHORTEST = 4  # words; a shorter text is a label

# folder: percent of pointing sentences, percent of openings. A row holds for
# the folder and for subfolders without a row of their own. Limits may only go
# down; every row ends at 2, 2.
LIMITS = {
    "src":                    (2, 2),
    "include":                (2, 2),
    "gen":                    (2, 2),
    "gen/pack":               (2, 2),
    "gen/read":               (2, 2),
    "kernels":                (2, 2),
    "kernels/include":        (2, 2),
    "kernels/include/nvidia": (2, 2),
    "tests":                  (2, 2),
    "tests/aiter":            (2, 2),
    "tests/bench":            (2, 2),
    "tests/build":            (2, 2),
    "tests/candle":           (2, 2),
    "tests/fuzz":             (2, 2),
    "tests/kernels":          (2, 2),
    "tests/matrix":           (2, 2),
    "tests/model":            (2, 2),
    "tests/sim":              (2, 2),
    "tests/unit":             (2, 2),
    "tests/ways":             (2, 2),
    ".":                      (2, 2),
}

LANGUAGES = {"c": "c", "h": "c", "hip": "c", "inc": "c", "def": "c",
             "mk": "#", "sh": "#", "md": "page"}
ROOTS = ("Makefile", "README.md", ".ci", "src", "include", "gen", "kernels",
         "tests")
NO_SOURCES = ("tests/fuzz/regressions",)
# Strings are matched too, because a string may hold the start of a comment.
IN_C = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
                  r'|/\*(.*?)\*/|((?://[^\n]*\n[ \t]*)+)', re.S)
# "##" is a goal's help text, "#!" an interpreter.
IN_SCRIPT = re.compile(r"(?:^|(?<=[ \t]))#(?![#!])[^\n]*(?:\n[ \t]*#[^\n]*)*",
                       re.M)
MARKS = {"c": re.compile(r"^[ \t]*(?:\*|//)?", re.M),
         "#": re.compile(r"^[ \t]*#", re.M)}
EXAMPLE = re.compile(r"```.*?```|\]\([^)\s]*\)", re.S)
# A paragraph ends at an empty line, before an item of a list, a cell of a table,
# a heading, and a line that explains one argument ("  name  its meaning").
PARAGRAPH = re.compile(r"\n[ \t]*(?=\n)|\n(?=[ \t]*(?:[-*>|#]|\d+\.) )"
                       r"|\n(?=[ \t]{2,}\S+[ \t]{2,}\S)| \| ")
SENTENCE = re.compile(r"(?<=[.!?])\s+")
WORD = re.compile(r"[a-z][a-z']*")


def language(path):
    extension = os.path.basename(path).rpartition(".")[2]
    if extension in LANGUAGES:
        return LANGUAGES[extension]
    if os.path.basename(path) == "Makefile":
        return "#"
    if "." in os.path.basename(path):
        return None
    with open(path, "rb") as file:
        return "#" if file.read(9) == b"#!/bin/sh" else None


def blank(match):
    """as many lines as the match, so that numbers of lines stay"""
    return "\n" * match.group().count("\n")


def texts(kind, source):
    """each comment of a source: where it starts, and its text"""
    if kind == "page":
        yield 0, EXAMPLE.sub(blank, source)
    for match in IN_C.finditer(source) if kind == "c" else ():
        group = 1 if match.group(1) is not None else 2
        if match.group(group) is not None:
            yield match.start(group), MARKS["c"].sub("", match.group(group))
    for match in IN_SCRIPT.finditer(source) if kind == "#" else ():
        if not match.group().startswith("# shellcheck"):
            yield match.start(), MARKS["#"].sub("", match.group())


def split(pattern, text):
    """the parts between matches of a pattern, each with its offset"""
    start = 0
    for match in pattern.finditer(text):
        yield start, text[start:match.start()]
        start = match.end()
    yield start, text[start:]


def sentences(path):
    """each sentence of a file: its line, its words, its text"""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    for start, text in texts(language(path), source):
        first = source.count("\n", 0, start) + 1
        for at, paragraph in split(PARAGRAPH, text):
            for more, sentence in split(SENTENCE, paragraph):
                words = WORD.findall(sentence.lower())
                if len(words) >= SHORTEST:
                    more += len(sentence) - len(sentence.lstrip())
                    yield (first + text.count("\n", 0, at + more), words,
                           " ".join(sentence.split()))


def points(words):
    return sum(word in POINTING for word in words) >= POINTS_FROM * len(words)


def row_of(path):
    """the row of LIMITS that a file belongs to"""
    while path and path not in LIMITS:
        path = os.path.dirname(path)
    return path or "."


def sources(tree):
    """the files of a tree that have comments, relative to it"""
    for root in ROOTS:
        top = os.path.join(tree, root)
        found = [top] if os.path.isfile(top) else [
            os.path.join(folder, name) for folder, _, names in os.walk(top)
            if not os.path.relpath(folder, tree).startswith(NO_SOURCES)
            for name in names]
        for path in sorted(found):
            if language(path):
                yield os.path.relpath(path, tree)


def count(tree, show=None):
    """for each row: sentences, those that point, openings"""
    counts = {row: [0, 0, 0] for row in LIMITS}
    for path in sources(tree):
        row = row_of(path)
        for line, words, text in sentences(os.path.join(tree, path)):
            bad = (points(words), bool(OPENING.match(text)))
            total = counts.setdefault(row, [0, 0, 0])
            for i, add in enumerate((True, *bad)):
                total[i] += add
            if row == show and any(bad):
                print(f"{path}:{line}: {text}")
    return counts


def main(arguments):
    show = None
    if arguments[:1] == ["--show"]:
        show, arguments = arguments[1].rstrip("/"), arguments[2:]
        if show not in LIMITS:
            sys.exit(f"sentences.py: no row {show}; there are: {' '.join(LIMITS)}")
    counts = count(arguments[0] if arguments else ".", show)
    status = 0
    for row, (total, *bad) in counts.items():
        shares = [100 * n / max(total, 1) for n in bad]
        limits = LIMITS.get(row, (2, 2))
        if row == show:
            print(f"{row}: {total} sentences, {shares[0]:.1f} % point (limit "
                  f"{limits[0]}), {shares[1]:.1f} % begin badly (limit {limits[1]})")
        elif not show and any(s > l for s, l in zip(shares, limits)):
            status = 1
            print(f"{row}: {shares[0]:.1f} % of the sentences point (limit "
                  f"{limits[0]}), {shares[1]:.1f} % begin badly (limit {limits[1]}): "
                  f"see python3 tests/build/sentences.py --show {row}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
