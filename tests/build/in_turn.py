#!/usr/bin/env python3
# in_turn.py - a command whose calls fail in turn, by faults.c
#
#   in_turn.py memory|files STATUS,... OUTPUT COMMAND...
#
# The command runs once as it is, and then once for each way to a call that can
# fail: of the first 400 each, of the others some 60. After a failure either everything is
# as in the first run, or the status is one of those given, a sentence says why,
# and each file of OUTPUT (a file or a folder, which the command makes) is as it
# was in the first run or not there. It runs in $IN_FOLDER. $PRELOAD is faults.c,
# unless the command is linked with it.
import os
import shutil
import subprocess
import sys

FIRST, LATER = 400, 60


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


def files_of(output):
    """What there is of the output, by name."""
    found = {}
    names = [output] if os.path.isfile(output) else []
    for folder, _, here in os.walk(output):
        names += [os.path.join(folder, name) for name in here]
    for name in names:
        with open(name, "rb") as file:
            found[name] = file.read()
    if os.path.exists(output + ".tmp") or os.path.exists(output + ".new"):
        found["a file that is not complete"] = b""
    return found


def main():
    kind, statuses, output, *command = sys.argv[1:]
    statuses = [int(status) for status in statuses.split(",")]
    counted = os.environ["WORK"] + "/count"

    def run(**more):
        remove(output)
        for end in ".tmp", ".new":
            remove(output + end)
        env = dict(os.environ, FAULT=kind, **more)
        if os.environ.get("PRELOAD"):
            env["LD_PRELOAD"] = os.environ["PRELOAD"]
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL,
                              cwd=os.environ.get("IN_FOLDER"),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done, files_of(output)

    right, files = run(COUNT_TO=counted)
    with open(counted) as file:
        total = int(file.read())
    # Linked, faults.c sees none of the C library's own calls.
    if right.returncode != 0 or (total < 1 and os.environ.get("PRELOAD")):
        print(f"it does not work: status {right.returncode}, {total} calls: {right.stderr}")
        return 1
    turns = list(range(1, min(total, FIRST) + 1))
    turns += range(FIRST + 1, total + 1, max((total - FIRST) // LATER, 1))
    refused = 0
    for n in turns:
        done, here = run(FAIL_AT=str(n))
        same = done.stdout == right.stdout and here == files
        if done.returncode == 0 and same:
            continue
        refused += 1
        partial = [name for name, text in here.items() if files.get(name) != text]
        if done.returncode not in statuses or not done.stderr.strip() or partial:
            print(f"call {n} of {total}: status {done.returncode}, other than before: "
                  f"{partial or 'the output'}\n{done.stderr.decode(errors='replace')}")
            return 1
    print(f"{refused} of {len(turns)} failed, of {total} calls")
    # A few calls may be none that matters: standard output's buffer.
    return 0 if refused or total < 3 else 1


sys.exit(main())
