#!/usr/bin/env python3
# branches.py - which branches of the runtime no test takes
#
#   branches.py EXCEPTIONS OBJECTS
#
# OBJECTS is a folder with what gcc's --coverage left beside its objects. Each
# branch that was not taken has to have a row in EXCEPTIONS, by file and text of
# its line, with the reason. A row whose line has no such branch is an error.
import csv
import json
import os
import subprocess
import sys


def lines_of(data):
    """Each source line under src/ with branches: file, number, counts."""
    out = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities",
                          os.path.basename(data)], cwd=os.path.dirname(data),
                         capture_output=True, check=True).stdout
    for text in out.decode().splitlines():
        for file in json.loads(text)["files"] if text.startswith("{") else []:
            if not file["file"].startswith("src/"):
                continue
            for line in file["lines"]:
                if line["branches"]:
                    yield file["file"], line["line_number"], [b["count"] for b in line["branches"]]


def main():
    table, folder = sys.argv[1:]
    with open(table, newline="") as file:
        reasons = {(row["file"], row["line"]): row["reason"] for row in csv.DictReader(file)}
    taken, total, untaken = {}, {}, []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".gcda"):
            continue
        for file, number, counts in lines_of(os.path.join(folder, name)):
            total[file] = total.get(file, 0) + len(counts)
            taken[file] = taken.get(file, 0) + sum(c > 0 for c in counts)
            if 0 in counts:
                with open(file) as source:
                    text = source.read().split("\n")[number - 1].strip()
                untaken.append((file, number, text))
    bad = 0
    for file, number, text in untaken:
        if reasons.get((file, text)):
            continue
        bad += 1
        print(f"{file}:{number}: a branch that no test takes: {text}")
    for file, text in reasons.keys() - {(file, text) for file, _, text in untaken}:
        bad += 1
        print(f"{table}: {file}: every branch is taken, or there is no such line: {text}")
    for file in sorted(total):
        print(f"{file}: {taken[file]} of {total[file]} branches")
    everything = sum(total.values())
    print(f"{sum(taken.values())} of {everything} branches are taken, "
          f"{len(reasons)} lines have a reason, {bad} do not")
    return 1 if bad or everything == 0 else 0


sys.exit(main())
