#!/usr/bin/env python3
"""llama.py - a language model by candle, on its backend on kpack

usage: llama.py BUILD MODEL TEXTS LINES [DEVICE...]

As ../llama.py, whose program opens Device::new_kpack() here. Quantized products
round as the CPU backend's do, so a device may be FAR times as far from weights
as f32.
"""
import os
import sys

import own
import llama  # ../llama.py

FAR = 1.25
MANIFEST = """[package]
name = "llama"
version = "0.0.0"
edition = "2021"

[[bin]]
name = "llama-own"
path = "llama.rs"

[dependencies]
candle-core = {{ version = "={version}", features = ["kpack"] }}
candle-nn = {{ version = "={version}", features = ["kpack"] }}
candle-transformers = "={version}"
"""


def program(folder, build):
    """builds llama.rs in the workspace of run.py; folder is for the results"""
    os.makedirs(folder, exist_ok=True)
    run, place = llama.run, os.path.join(build, "candle-kpack")
    os.makedirs(os.path.join(place, "llama"), exist_ok=True)
    with open(os.path.join(run.HERE, "llama.rs"), encoding="utf-8") as file:
        text = file.read().replace("new_cuda", "new_kpack")
    run.write(os.path.join(place, "llama", "llama.rs"), text)
    run.write(os.path.join(place, "llama", "Cargo.toml"),
              MANIFEST.format(version=run.VERSION))
    own.workspace(place, "llama")
    run.cargo(place, "build", "-p", "llama", env=run.environment(build))
    return os.path.join(build, "candle-target", "debug", "llama-own")


if __name__ == "__main__":
    llama.program, llama.FAR = program, FAR
    sys.exit(llama.main(*sys.argv[1:]))
