#!/usr/bin/env python3
"""run.py - candle's own CUDA tests, on kpack

usage: run.py BUILD [DEVICE...]

candle-core and candle-nn come from Rust's registry, and are not changed. What
they depend on has the versions of candle-core's own Cargo.lock. Cargo puts two crates of this folder in the
place of cudarc and candle-kernels. DEVICE is a processor that is simulated
twice (gfx942), or `card`: the machine's GPU. BUILD has libkpack.a and sim/;
the tests are built in BUILD/candle.

Each test that fails has a row in failing.csv. A failure without a row, and a
row whose test passes, are failures here.
"""
import csv
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "0.11.1"
GPU_TESTS = ("gpu", "cuda", "allocates_twice_when_transferring")
# candle's crates, and what is in the names of their tests that use a GPU
CRATES = {"candle-core": GPU_TESTS, "candle-nn": GPU_TESTS,
          "candle-flash-attn": (), "candle-flash-attn-v3": ()}
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


def programs(folder, build, crates, features):
    """builds candle's tests: a crate's folder, a program and its name, each"""
    env = {**os.environ, "KPACK_DIR": build,
           "CARGO_TARGET_DIR": os.path.join(folder, "target")}
    words = ["test", "--no-run", "--features", features, "--lib", "--tests",
             "--message-format", "json-render-diagnostics"]
    for name in crates:
        words += ["-p", name]
    for line in cargo(folder, *words, env=env,
                      stdout=subprocess.PIPE).stdout.splitlines():
        made = json.loads(line)
        if made["reason"] == "compiler-artifact" and made["executable"]:
            crate = os.path.dirname(made["manifest_path"])
            yield crate, made["executable"], made["target"]["name"]


def results(crate, program, device, build):
    """how each GPU test of a program ended, by name, and what they printed"""
    env = dict(os.environ)
    if device != "card":
        env.update(LD_LIBRARY_PATH=os.path.join(build, "sim"),
                   KPK_SIM_DEVICES=f"{device},{device}")
    words = [program, *CRATES[os.path.basename(crate)]]
    listed = subprocess.run([*words, "--list"], cwd=crate, env=env, text=True,
                            check=True, stdout=subprocess.PIPE).stdout
    names = re.findall(r"^(\S+): test$", listed, re.M)
    if not names:
        return {}, ""
    ran = subprocess.run([*words, "--test-threads", str(os.cpu_count())],
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


def main(build, *devices):
    build = os.path.abspath(build)
    folder = os.path.join(build, "candle")
    fetch(folder)
    workspace(folder)
    return judge(list(programs(folder, build, CRATES,
                               "candle-core/cuda,candle-nn/cuda")),
                 build, devices, HERE)


def judge(built, build, devices, rows):
    """runs the programs on each device, and holds the results against failing.csv"""
    wrong = passed = 0
    for device in devices or ("gfx942", "gfx1100"):
        known, good, bad = failing(device, rows), set(), {}
        for crate, program, target in built:
            ended, printed = results(crate, program, device, build)
            place = f"{os.path.basename(crate)}/{target}"
            ended = {f"{place}/{name}": end for name, end in ended.items()}
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


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
