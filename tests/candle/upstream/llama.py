#!/usr/bin/env python3
"""llama.py - a language model by candle, on its backend on kpack

usage: llama.py BUILD MODEL TEXTS LINES [DEVICE...]

As ../llama.py, whose program opens Device::new_kpack() here. Quantized products
round as the CPU backend's do, so a device may be FAR times as far from weights
as f32.
"""
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import llama  # ../llama.py

FAR = 1.25
MANIFEST = """[package]
name = "llama"
version = "0.0.0"
edition = "2021"

[[bin]]
name = "llama"
path = "llama.rs"

[dependencies]
candle-core = {{ version = "={version}", features = ["kpack"] }}
candle-nn = {{ version = "={version}", features = ["kpack"] }}
candle-transformers = "={version}"
"""


def program(folder, build):
    """builds llama.rs in the workspace of run.py; folder is for the results"""
    os.makedirs(folder, exist_ok=True)
    spec = importlib.util.spec_from_file_location(
        "upstream", os.path.join(HERE, "run.py"))
    upstream = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(upstream)
    run, place = llama.run, os.path.join(build, "candle-kpack")
    os.makedirs(os.path.join(place, "llama"), exist_ok=True)
    with open(os.path.join(run.HERE, "llama.rs"), encoding="utf-8") as file:
        text = file.read().replace("new_cuda", "new_kpack")
    run.write(os.path.join(place, "llama", "llama.rs"), text)
    run.write(os.path.join(place, "llama", "Cargo.toml"),
              MANIFEST.format(version=run.VERSION))
    upstream.workspace(run, place, "llama")
    target = os.path.join(place, "target")
    run.cargo(place, "build", "-p", "llama", env={
        **os.environ, "KPACK_DIR": build, "CARGO_TARGET_DIR": target})
    return os.path.join(target, "debug", "llama")


if __name__ == "__main__":
    llama.program, llama.FAR = program, FAR
    sys.exit(llama.main(*sys.argv[1:]))
