#!/usr/bin/env python3
# branches.py - which branches of runtime, command and generator no test takes
#
#   branches.py EXCEPTIONS OBJECTS...
#
# OBJECTS are folders with what gcc's --coverage left beside its objects. A
# source that was compiled several times counts once: a branch is taken if it is
# in one of them. Each branch that was not taken has to have a row in EXCEPTIONS,
# by file and text of its line, with the reason. A row whose line has no such
# branch is an error. PARTS says which share of a part's branches has to be
# taken; where it is not all, the lines without a row are listed and no error.
#
# Beside EXCEPTIONS it writes taken.csv: how many branches of each file are taken.
import csv
import json
import os
import subprocess
import sys

PARTS = {"gen/": 95, "src/base/": 95, "src/cmd/": 95, "src/": 100}


def part_of(file):
    return next((part for part in PARTS if file.startswith(part)), None)


def lines_of(data):
    """Each source line with branches: file, number, counts."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities",
                          os.path.basename(data)], cwd=os.path.dirname(data),
                         capture_output=True)
    if done.returncode != 0:  # nothing of it counts, as if it had not run
        print(f"{data}: {done.stderr.decode().strip()}")
        return
    for text in done.stdout.decode().splitlines():
        for file in json.loads(text)["files"] if text.startswith("{") else []:
            # A test may include a source, as ../../src/NAME.c.
            name = os.path.normpath(file["file"])
            if not part_of(name):
                continue
            for line in file["lines"]:
                if line["branches"]:
                    yield name, line["line_number"], [b["count"] for b in line["branches"]]


def gather(folders):
    """Counts by file and line, of all compilations together."""
    lines = {}
    for folder in folders:
        for path, _, names in os.walk(folder):
            for name in sorted(names):
                if not name.endswith(".gcda"):
                    continue
                here = {}
                for file, number, counts in lines_of(os.path.join(path, name)):
                    here.setdefault((file, number), []).extend(counts)
                for key, counts in here.items():
                    # A header's function may be left out of some objects.
                    known = lines.get(key, [])
                    if len(known) == len(counts):
                        counts = [a + b for a, b in zip(known, counts)]
                    if len(counts) >= len(known):
                        lines[key] = counts
    return lines


def text_of(file, number, cache={}):
    if file not in cache:
        with open(file) as source:
            cache[file] = source.read().split("\n")
    return cache[file][number - 1].strip()


def main():
    table, *folders = sys.argv[1:]
    with open(table, newline="") as file:
        reasons = {(row["file"], row["line"]): row["reason"] for row in csv.DictReader(file)}
    lines = gather(folders)
    taken, total = {}, {}
    bad, untaken = 0, set()
    for (file, number), counts in sorted(lines.items()):
        for name in (file, part_of(file)):
            total[name] = total.get(name, 0) + len(counts)
            taken[name] = taken.get(name, 0) + sum(c > 0 for c in counts)
        if 0 in counts:
            text = text_of(file, number)
            untaken.add((file, text))
            if not reasons.get((file, text)):
                bad += PARTS[part_of(file)] == 100
                print(f"{file}:{number}: {counts.count(0)} of {len(counts)} branches "
                      f"that no test takes: {text}")
    for file, text in sorted(reasons.keys() - untaken):
        bad += 1
        print(f"{table}: {file}: every branch is taken, or there is no such line: {text}")
    for file in sorted(total.keys() - PARTS.keys()):
        print(f"{file}: {taken[file]} of {total[file]} branches")
    for part, wanted in PARTS.items():
        share = 100 * taken.get(part, 0) / max(total.get(part, 0), 1)
        short = total.get(part, 0) == 0 or (wanted < 100 and share < wanted)
        bad += short
        print(f"{part}: {taken.get(part, 0)} of {total.get(part, 0)} branches are taken, {share:.1f} %"
              + (f", {wanted} % are wanted" if short else ""))
    with open(os.path.join(os.path.dirname(table), "taken.csv"), "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["file", "taken", "branches", "percent"])
        for name in sorted(total):
            out.writerow([name, taken[name], total[name], f"{100 * taken[name] / total[name]:.1f}"])
    print(f"{len(reasons)} lines have a reason, {bad} faults")
    return 1 if bad else 0


sys.exit(main())
