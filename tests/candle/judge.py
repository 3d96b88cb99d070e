#!/usr/bin/env python3
"""judge.py - runs candle's tests, and holds the results against failing.csv

usage: judge.py [BUILD DEVICE...]

Each test that fails has a row in failing.csv. A failure without a row, and a row
whose test passes, are failures here.

In a kit of kit.py, this is what runs: on the machine's GPU, or on DEVICE, which
BUILD/sim simulates. It prints the results, and writes results.csv beside itself.
"""
import csv
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
GPU_TESTS = ("gpu", "cuda", "allocates_twice_when_transferring")
# candle's crates, and what is in the names of their tests that use a GPU
CRATES = {"candle-core": GPU_TESTS, "candle-nn": GPU_TESTS,
          "candle-flash-attn": (), "candle-flash-attn-v3": ()}


def tests(crate, program, env=None):
    """the GPU tests of a program"""
    listed = subprocess.run([program, *CRATES[os.path.basename(crate)], "--list"], cwd=crate, env=env,
                            text=True, check=True, stdout=subprocess.PIPE).stdout
    return re.findall(r"^(\S+): test$", listed, re.M)


def results(crate, program, device, build):
    """how each GPU test of a program ended, by name, and what they printed"""
    env = dict(os.environ)
    if device != "card":
        env.update(LD_LIBRARY_PATH=os.path.join(build, "sim"),
                   KPK_SIM_DEVICES=f"{device},{device}")
    names = tests(crate, program, env)
    if not names:
        return {}, ""
    ran = subprocess.run([program, *CRATES[os.path.basename(crate)],
                          "--test-threads", str(os.cpu_count())],
                         cwd=crate, env=env, text=True, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = dict(re.findall(r"^test (\S+) \.\.\. (\w+)$", ran.stdout, re.M))
    return {name: said.get(name, "no result") for name in names}, ran.stdout


def failing(device, folder):
    """the tests that fail there, with the reasons"""
    with open(os.path.join(folder, "failing.csv"), encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if line[0] != "#")
        return {row["test"]: row["reason"] for row in rows
                if row["device"] in ("*", device)}


def judge(built, build, devices, rows, note=lambda *row: None):
    """runs the programs on each device, and holds the results against failing.csv"""
    wrong = passed = 0
    for device in devices or ("gfx942", "gfx1100"):
        known, good, bad = failing(device, rows), set(), {}
        for crate, program, target in built:
            began = time.monotonic()
            ended, printed = results(crate, program, device, build)
            seconds = f"{time.monotonic() - began:.2f}"
            place = f"{os.path.basename(crate)}/{target}"
            ended = {f"{place}/{name}": end for name, end in ended.items()}
            for name, end in ended.items():
                note(device, name, end, seconds)
            failed = {name for name, end in ended.items() if end != "ok"}
            if failed - set(known):
                print(printed)
            good |= set(ended) - failed
            bad.update((name, ended[name]) for name in failed)
        for name in sorted(bad):
            print(f"{device}: {name}: {bad[name]}"
                  + (f", as expected: {known[name]}" if name in known else ""))
        for name in sorted(set(known) - set(bad)):
            print(f"{device}: {name}: is in failing.csv, and "
                  + ("passes" if name in good else "there is no such test"))
        wrong += len(set(bad) ^ set(known))
        passed += len(good)
        print(f"{device}: {len(good)} of {len(good) + len(bad)} tests pass")
    print(f"{passed} passed, {wrong} failed")
    return 1 if wrong or not passed else 0


def main(build="", *devices):
    """judges a kit: BACKEND/CRATE/PROGRAM, with BACKEND/failing.csv"""
    wrong = 0
    with open(os.path.join(HERE, "results.csv"), "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(("backend", "device", "test", "result", "seconds of its program"))
        for backend in sorted(os.listdir(HERE)):
            rows = os.path.join(HERE, backend)
            if not os.path.isdir(rows):
                continue
            built = [(os.path.join(rows, crate), os.path.join(rows, crate, program), program)
                     for crate in CRATES if os.path.isdir(os.path.join(rows, crate))
                     for program in sorted(os.listdir(os.path.join(rows, crate)))]
            print(f"{backend}:", flush=True)
            wrong |= judge(built, os.path.abspath(build), devices or ("card",), rows,
                           lambda *row, backend=backend: table.writerow((backend, *row)))
    return wrong


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
