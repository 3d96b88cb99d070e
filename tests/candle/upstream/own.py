#!/usr/bin/env python3
"""own.py - candle's own GPU tests, on its backend on kpack

usage: own.py BUILD [DEVICE...]

As ../run.py, but candle gets a backend by patch.py. The crates of ../run.py take
part only in a check that candle has this backend and CUDA's at once. The tests are
built in BUILD/candle-kpack.
"""
import filecmp
import os
import shutil
import sys
import tempfile

from patch import patch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import run  # ../run.py

TREE = os.path.abspath(os.path.join(HERE, "..", "..", ".."))


def update(source, to):
    """copies what differs, so that Cargo compiles no more"""
    for folder, _, names in os.walk(source):
        there = os.path.join(to, os.path.relpath(folder, source))
        os.makedirs(there, exist_ok=True)
        for name in names:
            ours, theirs = os.path.join(folder, name), os.path.join(there, name)
            if not os.path.exists(theirs) or not filecmp.cmp(ours, theirs, False):
                shutil.copyfile(ours, theirs)


def workspace(folder, *more):
    """candle's crates with the backend, and more in the folder"""
    registry = os.path.join(folder, "registry")
    os.makedirs(registry, exist_ok=True)
    run.fetch(registry)
    with tempfile.TemporaryDirectory() as fresh:
        for name in run.CRATES:
            shutil.copytree(os.path.join(registry, name), os.path.join(fresh, name))
        patch(fresh, os.path.join(TREE, "src", "rust", "kpack"))
        update(fresh, folder)
    run.workspace(folder, *more)
    if not os.path.exists(os.path.join(folder, "Cargo.lock")):
        shutil.copy(os.path.join(registry, "Cargo.lock"), folder)


def build_tests(build):
    """candle's tests, by the backend"""
    folder = os.path.join(build, "candle-kpack")
    workspace(folder)
    return list(run.programs(folder, build, run.CRATES, "kpack", "--no-default-features"))


def check_both(build):
    """features cuda and kpack in one program; of CUDA it has the harness's crates"""
    words = [word for name in run.CRATES for word in ("-p", name)]
    run.cargo(os.path.join(build, "candle-kpack"), "test", "--no-run", "--lib",
              "--features", "cuda,kpack", *words, env=run.environment(build))


def main(build, *devices):
    build = os.path.abspath(build)
    built = build_tests(build)
    check_both(build)
    return run.judge(built, build, devices, HERE)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
