#!/usr/bin/env python3
"""run.py - candle's own CUDA tests, on kpack

usage: run.py BUILD [DEVICE...]

candle-core and candle-nn come from Rust's registry, and are not changed. What
they depend on has the versions of candle-core's own Cargo.lock. Cargo puts two crates of this folder in the
place of cudarc and candle-kernels. DEVICE is a processor that is simulated
twice (gfx942), or `card`: the machine's GPU. BUILD has libkpack.a and sim/;
the tests are built in BUILD/candle.

judge.py runs them, and holds the results against failing.csv.
"""
import json
import os
import re
import shutil
import subprocess
import sys

from judge import CRATES, judge

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "0.11.1"
# Crates of this folder, in the place of others by these names.
OURS = ("cudarc", "candle-kernels", "cudaforge")
# Tests use it, and the published manifest does not name it.
LEFT_OUT = """
[dev-dependencies.candle-nn]
version = "={version}"
features = ["cuda"]
"""
FETCH = """[package]
name = "fetch"
version = "0.0.0"
edition = "2021"
[workspace]
[lib]
path = "lib.rs"
[dependencies]
"""
WORKSPACE = """[workspace]
resolver = "2"
members = {members}

[patch.crates-io]
{patches}
[profile.dev]
opt-level = 1
debug = false
incremental = false
"""
PROFILE = """
[profile.dev.package.{name}]
opt-level = 0
"""


def cargo(folder, *words, **more):
    return subprocess.run(["cargo", *words], cwd=folder, check=True, text=True,
                          **more)


def write(path, text):
    """writes a file, unless it has that text already"""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def is_fetched(manifest):
    if not os.path.exists(manifest):
        return False
    with open(manifest, encoding="utf-8") as file:
        return f'\nversion = "{VERSION}"\n' in file.read()


def fetch(folder):
    """copies candle's crates out of Cargo's store into folder"""
    if all(is_fetched(os.path.join(folder, name, "Cargo.toml"))
           for name in CRATES):
        return
    asks = os.path.join(folder, "fetch")
    os.makedirs(asks, exist_ok=True)
    write(os.path.join(asks, "lib.rs"), "")
    write(os.path.join(asks, "Cargo.toml"), FETCH + "".join(
        f'{name} = "={VERSION}"\n' for name in CRATES))
    found = json.loads(cargo(asks, "metadata", "--format-version", "1",
                             stdout=subprocess.PIPE).stdout)
    for package in found["packages"]:
        if package["name"] in CRATES and package["version"] == VERSION:
            to = os.path.join(folder, package["name"])
            shutil.rmtree(to, ignore_errors=True)
            shutil.copytree(os.path.dirname(package["manifest_path"]), to)
            if "flash" in package["name"]:
                with open(os.path.join(to, "Cargo.toml"), "a",
                          encoding="utf-8") as file:
                    file.write(LEFT_OUT.format(version=VERSION))
    lock(folder)


def workspace(folder, *more):
    """a workspace of candle's crates, of ours, and of more in the folder"""
    places = {name: name for name in CRATES}
    for name in OURS:
        places[name] = os.path.join(HERE, name)
    write(os.path.join(folder, "Cargo.toml"), WORKSPACE.format(
        members=json.dumps([*CRATES, *more]), patches="".join(
            f"{name} = {{ path = {json.dumps(path)} }}\n"
            for name, path in places.items()))
          + "".join(PROFILE.format(name=name) for name in CRATES))


def lock(folder):
    """candle-core's Cargo.lock without the crates that are replaced"""
    to = os.path.join(folder, "Cargo.lock")
    with open(os.path.join(folder, "candle-core", "Cargo.lock"),
              encoding="utf-8") as file:
        head, *packages = file.read().split("[[package]]\n")
    write(to, "[[package]]\n".join([head] + [
        text for text in packages
        if not re.match(r'name = "(candle-.*|cudarc)"', text)]))


def environment(build):
    """candle's workspaces share what Cargo compiles"""
    return {**os.environ, "KPACK_DIR": build,
            "CARGO_TARGET_DIR": os.path.join(build, "candle-target")}


def programs(folder, build, crates, features, *more):
    """builds candle's tests: a crate's folder, a program and its name, each"""
    words = ["test", "--no-run", "--features", features, "--lib", "--tests",
             "--message-format", "json-render-diagnostics"]
    for name in crates:
        words += ["-p", name]
    words += more
    for line in cargo(folder, *words, env=environment(build),
                      stdout=subprocess.PIPE).stdout.splitlines():
        made = json.loads(line)
        if made["reason"] == "compiler-artifact" and made["executable"]:
            crate = os.path.dirname(made["manifest_path"])
            yield crate, made["executable"], made["target"]["name"]


def build_tests(build):
    """candle's tests, by its backend for CUDA"""
    folder = os.path.join(build, "candle")
    fetch(folder)
    workspace(folder)
    return list(programs(folder, build, CRATES, "candle-core/cuda,candle-nn/cuda"))


def main(build, *devices):
    build = os.path.abspath(build)
    return judge(build_tests(build), build, devices, HERE)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
