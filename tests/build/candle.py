"""candle.py - the pack against candle's kernels

usage: candle.py KPACK CANDLE.csv EXTENSIONS.txt

Every kernel in CANDLE.csv must be in the pack, with those arguments, and what
the pack has beyond them must be exactly what EXTENSIONS.txt lists.
Prints what is wrong. Of a pack without all modules, those it has are checked.
"""
import csv
import itertools
import json
import re
import subprocess
import sys


def expand(pattern):
    """a{b,c}d: abd and acd"""
    parts = [part.split(",") for part in re.split("[{}]", pattern)]
    return {"".join(choice) for choice in itertools.product(*parts)}


def listed_extensions(path):
    """the names in a file of patterns"""
    with open(path, encoding="ascii") as file:
        patterns = [line.strip() for line in file if line[0] not in "#\n"]
    return set().union(*map(expand, patterns))


def second_names(names):
    return {re.sub("fp?8_e4m3", "f8e4m3", n) for n in names if "8_e4m3" in n}


def layout(arguments):
    """ "8 p 2" as a list of (offset, bytes, kind)"""
    args, end = [], 0
    for word in arguments.split():
        nbytes = 8 if word == "p" else int(word)
        offset = -(-end // nbytes) * nbytes
        args.append((offset, nbytes, "buffer" if word == "p" else "value"))
        end = offset + nbytes
    return args


def output(kpack, *words):
    run = subprocess.run([kpack, *words, "--json"], stdout=subprocess.PIPE,
                         check=True)
    return json.loads(run.stdout)["modules"]


def differences(kpack, candle_csv, extensions):
    with open(candle_csv, encoding="ascii") as file:
        rows = list(csv.DictReader(r for r in file if r[0] != "#"))
    modules = [m["name"] for m in output(kpack, "list")]
    kernels = {
        kernel["name"]: [(a["offset"], a["nbytes"], a["kind"])
                         for a in kernel["args"]]
        for module in modules
        for info in output(kpack, "info", module)
        for kernel in info["kernels"]
    }
    for row in rows:
        name, want = row["kernel"], layout(row["arguments"])
        if row["module"] in modules and kernels.get(name) != want:
            yield f"{name}: wanted {want}, got {kernels.get(name)}"
    candle = {row["kernel"] for row in rows}
    more = listed_extensions(extensions)
    for name in sorted(more & candle):
        yield f"{name}: no extension, candle has it"
    more |= second_names(candle | more)
    for name in sorted(set(kernels) - candle - more):
        yield f"{name}: neither candle's nor listed as an extension"
    if {row["module"] for row in rows} | {"vector_add"} <= set(modules):
        for name in sorted(more - set(kernels)):
            yield f"{name}: an extension that is not there"


if __name__ == "__main__":
    found = list(differences(*sys.argv[1:]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
