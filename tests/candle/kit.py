#!/usr/bin/env python3
"""kit.py - candle's tests for a machine that has a GPU and no compiler

usage: kit.py BUILD

Makes BUILD/candle-kit.tar.xz: the tests of both backends as programs, with the
kernels of BUILD/libkpack.a in them, and judge.py. The machine needs Python:

    tar xf candle-kit.tar.xz
    candle-kit/judge.py

The same on simulated GPUs: candle-kit/judge.py BUILD gfx942
"""
import lzma
import os
import shutil
import subprocess
import sys
import tarfile

import judge
import run
sys.path.append(os.path.join(run.HERE, "upstream"))
import own  # upstream/own.py

# The programs have the same kernels: the window has room for two programs.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 28}]


def main(build):
    build = os.path.abspath(build)
    kit = os.path.join(build, "candle-kit")
    shutil.rmtree(kit, ignore_errors=True)
    for backend, made, rows in (("cuda", run.build_tests(build), run.HERE),
                                ("kpack", own.build_tests(build), own.HERE)):
        for crate, program, target in made:
            if not judge.tests(crate, program):
                continue
            to = os.path.join(kit, backend, os.path.basename(crate))
            os.makedirs(to, exist_ok=True)
            subprocess.run(["strip", "-o", os.path.join(to, target), program], check=True)
        shutil.copy(os.path.join(rows, "failing.csv"), os.path.join(kit, backend))
    shutil.copy(os.path.join(run.HERE, "judge.py"), kit)
    with lzma.open(f"{kit}.tar.xz", "wb", filters=FILTERS) as file, \
            tarfile.open(fileobj=file, mode="w|") as tar:
        tar.add(kit, "candle-kit")
    print(f"{kit}.tar.xz: {os.path.getsize(kit + '.tar.xz') / 1e6:.0f} MB")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
