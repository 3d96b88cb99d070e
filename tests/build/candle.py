"""candle.py - the pack against candle's kernels

usage: candle.py KPACK CANDLE.csv [--others]

Every kernel in CANDLE.csv must be in the pack, with those arguments, and every
name with f8_e4m3 or fp8_e4m3 has a second one with f8e4m3. Prints what is wrong;
of a pack without all modules, those it has are checked. With --others it prints
the kernels that candle does not have.
"""
import csv
import json
import re
import subprocess
import sys


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


def kernels_of(kpack):
    """a module's name, and its kernels' arguments by their names"""
    for module in output(kpack, "list"):
        yield module["name"], {
            kernel["name"]: [(a["offset"], a["nbytes"], a["kind"])
                             for a in kernel["args"]]
            for info in output(kpack, "info", module["name"])
            for kernel in info["kernels"]
        }


def differences(rows, modules):
    for row in rows:
        name, want = row["kernel"], layout(row["arguments"])
        kernels = modules.get(row["module"], {name: want})
        if kernels.get(name) != want:
            yield f"{name}: wanted {want}, got {kernels.get(name)}"
    for kernels in modules.values():
        for name in sorted(second_names(kernels) - set(kernels)):
            yield f"{name}: a second name that is not there"


def main(kpack, candle_csv, *options):
    with open(candle_csv, encoding="ascii") as file:
        rows = list(csv.DictReader(r for r in file if r[0] != "#"))
    modules = dict(kernels_of(kpack))
    if options == ("--others",):
        known = {row["kernel"] for row in rows}
        names = set().union(*modules.values())
        print("\n".join(sorted(names - known - second_names(names))))
        return 0
    found = list(differences(rows, modules))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
