#!/usr/bin/env python3
"""run.py - candle's own GPU tests, on its backend on kpack

usage: run.py BUILD [DEVICE...]

As ../run.py, but candle gets a backend by patch.py, and no crate is replaced.
The tests are built in BUILD/candle-kpack.
"""
import filecmp
import importlib.util
import json
import os
import shutil
import sys
import tempfile

from patch import patch

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
CRATES = ("candle-core", "candle-nn")


def harness():
    """../run.py"""
    spec = importlib.util.spec_from_file_location(
        "harness", os.path.join(HERE, "..", "run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def update(source, to):
    """copies what differs, so that Cargo compiles no more"""
    for folder, _, names in os.walk(source):
        there = os.path.join(to, os.path.relpath(folder, source))
        os.makedirs(there, exist_ok=True)
        for name in names:
            ours, theirs = os.path.join(folder, name), os.path.join(there, name)
            if not os.path.exists(theirs) or not filecmp.cmp(ours, theirs, False):
                shutil.copyfile(ours, theirs)


def workspace(run, folder, *more):
    """candle's crates with the backend, and more in the folder"""
    registry = os.path.join(folder, "registry")
    os.makedirs(registry, exist_ok=True)
    run.fetch(registry)
    with tempfile.TemporaryDirectory() as fresh:
        for name in CRATES:
            shutil.copytree(os.path.join(registry, name), os.path.join(fresh, name))
        patch(fresh, os.path.join(TREE, "src", "rust", "kpack"))
        update(fresh, folder)
    run.write(os.path.join(folder, "Cargo.toml"), run.WORKSPACE.format(
        members=json.dumps([*CRATES, *more]),
        patches="".join(f'{name} = {{ path = "{name}" }}\n' for name in CRATES))
        + "".join(run.PROFILE.format(name=name) for name in CRATES))
    if not os.path.exists(os.path.join(folder, "Cargo.lock")):
        shutil.copy(os.path.join(registry, "Cargo.lock"), folder)


def main(build, *devices):
    build = os.path.abspath(build)
    folder = os.path.join(build, "candle-kpack")
    run = harness()
    workspace(run, folder)
    built = list(run.programs(folder, build, CRATES, "kpack"))
    return run.judge(built, build, devices, HERE)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
