#!/usr/bin/env python3
"""llama.py - a language model by candle, on kpack

usage: llama.py BUILD MODEL TEXTS LINES [DEVICE...]

candle-transformers' quantized llama reads the first LINES texts of a list of
tokens, such as tests/model/data/smollm2.tokens, on candle's CPU backend and on
each DEVICE of run.py's.

The reference has the weights as f32. A device is held to it twice: with weights
as f32, too, for the first tokens, within EXACT of the logits' spread; and with
quantized weights, within FAR times the distance of the CPU backend, since both
round activations, each in its own way. With `card` and the environment variables
CANDLE_PTX and CANDLE_LIBRARY candle's own kernels run as well.
"""
import os
import subprocess
import sys

import run

EXACT, FIRST_TOKENS = 1e-4, 3
FAR = 4
AS_F32 = {"CANDLE_DEQUANTIZE_ALL": "1"}
CANDLES = ("CANDLE_PTX", "CANDLE_LIBRARY")
MANIFEST = """[package]
name = "llama"
version = "0.0.0"
edition = "2021"

[[bin]]
name = "llama"
path = "{path}"

[dependencies]
candle-core = {{ version = "={version}", features = ["cuda"] }}
candle-transformers = {{ version = "={version}", features = ["cuda"] }}
"""


def program(folder, build):
    """builds llama.rs in the workspace of candle's crates"""
    run.fetch(folder)
    os.makedirs(os.path.join(folder, "llama"), exist_ok=True)
    run.write(os.path.join(folder, "llama", "Cargo.toml"), MANIFEST.format(
        path=os.path.join(run.HERE, "llama.rs"), version=run.VERSION))
    run.workspace(folder, "llama")
    run.cargo(folder, "build", "-p", "llama", env=run.environment(build))
    return os.path.join(build, "candle-target", "debug", "llama")


def first_tokens(text):
    prompt, answer = text.split("|")[:2]
    return f"{prompt}| {' '.join(answer.split()[:FIRST_TOKENS])}\n"


def main(build, model, texts, lines, *devices):
    build = os.path.abspath(build)
    folder = os.path.join(build, "candle")
    llama = program(folder, build)
    own = {name: os.environ.pop(name) for name in CANDLES
           if name in os.environ}
    with open(texts, encoding="utf-8") as file:
        read = [line for line in file if line[0] != "#"][:int(lines)]

    def distance(name, place, given, *others, **env):
        """runs the program, says what it found; its distance from others[0]"""
        def logits(run_name):
            return os.path.join(folder, f"{run_name}.logits")
        ran = subprocess.run(
            [llama, place, model, logits(name), *map(logits, others)],
            env={**os.environ, **env}, input="".join(given), text=True,
            check=True, stdout=subprocess.PIPE).stdout
        said = [line.split(" ", 1) for line in ran.splitlines()]
        print(f"{name}: " + ", ".join(
            f"{word} {os.path.basename(value)}".replace("_", " ")
            for word, value in said), flush=True)
        return next((float(value) for word, value in said
                     if word == "relative_distance"), 0)

    first = [first_tokens(read[0])]
    distance("f32-first", "cpu", first, **AS_F32)
    distance("f32", "cpu", read, **AS_F32)
    allowed = FAR * distance("cpu", "cpu", read, "f32")
    passed = failed = 0
    for device in devices or ("gfx942",):
        env = {} if device == "card" else {
            "LD_LIBRARY_PATH": os.path.join(build, "sim"),
            "KPK_SIM_DEVICES": device}
        for far, limit in (
                (distance(f"{device}-f32", "gpu", first, "f32-first",
                          **env, **AS_F32), EXACT),
                (distance(device, "gpu", read, "f32", "cpu", **env), allowed)):
            if far <= limit:
                passed += 1
            else:
                failed += 1
                print(f"{device}: {far} from f32, where {limit:.6f} is allowed")
        if own and device == "card":
            distance("candle", "gpu", read, "f32", "cpu", "card", **own)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
