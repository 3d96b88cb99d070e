#!/usr/bin/env python3
"""ggml_speed.py - llama.cpp's tokens a second, by its CUDA backend and by kpack

    ggml_speed.py PROGRAMS CUDA_PROGRAMS KPACK.so MODEL.gguf...

PROGRAMS is a folder with llama-batched-bench, llama-bench and libggml-cpu.so of a
llama.cpp that loads backends (-DGGML_BACKEND_DL=ON); CUDA_PROGRAMS is the same with
libggml-cuda.so beside. KPACK.so is libggml-kpack.so for the same llama.cpp.

Prompts of 512 tokens, 128 more made, one sequence and eight; flash attention
on. Each model is run by both backends in turn, twice over, and the better run
counts. first_token_s is what a process takes that loads the model, reads 512
tokens and makes one, without a warm-up.
"""
import json
import os
import subprocess
import sys
import time

READ, MAKE, SEQUENCES, TIMES = 512, 128, (1, 8), 2
LONGEST_S = 120


def run(folder, library, program, *words):
    """what a program prints, and its seconds"""
    env = dict(os.environ)
    env.pop("GGML_BACKEND_PATH", None)
    if library:
        env["GGML_BACKEND_PATH"] = os.path.abspath(library)
    start = time.monotonic()
    try:
        done = subprocess.run(
            [os.path.join(folder, program), "-ngl", "99", "-b", "2048", "-ub",
             "512", "-t", "8", *words],
            env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=LONGEST_S, check=False)
    except OSError as error:
        sys.exit(f"{program}: {error}. The first words name folders of "
                 "llama.cpp's programs")
    except subprocess.TimeoutExpired:
        sys.exit(f"{program} {' '.join(words)}: not done in {LONGEST_S} s")
    seconds = time.monotonic() - start
    if done.returncode:
        sys.exit(f"{program} {' '.join(words)}: {done.stderr[-2000:]}")
    return done.stdout, seconds


def measure(folder, library, device, model):
    """{sequences: (read, made)}, the best of TIMES in one process; and the
    seconds to a first token"""
    context = (READ + MAKE) * max(SEQUENCES)
    context = (context + 2047) // 2048 * 2048
    said, _ = run(folder, library, "llama-batched-bench", "-m", model, "-dev",
                  device, "-fa", "on", "--output-format", "jsonl", "-c",
                  str(context), "-npp", str(READ), "-ntg", str(MAKE), "-npl",
                  ",".join(map(str, SEQUENCES * TIMES)))
    best = {}
    for line in said.splitlines():
        if not line.startswith("{"):
            continue
        line = json.loads(line)
        read, made = best.get(line["pl"], (0, 0))
        best[line["pl"]] = (max(read, line["speed_pp"]),
                            max(made, line["speed_tg"]))
    _, first = run(folder, library, "llama-bench", "-m", model, "-dev", device,
                   "-fa", "1", "-p", "0", "-n", "0", "-pg", f"{READ},1", "-r",
                   "1", "--no-warmup")
    return best, first


def main(words):
    if len(words) < 4:
        return __doc__
    programs, cuda_programs, library, *models = words
    backends = (("cuda", cuda_programs, None, "CUDA0"),
                ("kpack", programs, library, "KPACK0"))
    print("backend,model,sequences,read_per_s,made_per_s,first_token_s")
    for model in models:
        name = os.path.splitext(os.path.basename(model))[0]
        best = {}
        for _ in range(TIMES):
            for backend, *where in backends:
                speeds, first = measure(*where, model)
                for n, (read, made) in speeds.items():
                    r, m, f = best.get((backend, n), (0, 0, LONGEST_S))
                    best[backend, n] = (max(r, read), max(m, made),
                                        min(f, first))
        for n in SEQUENCES:
            for backend, *_ in backends:
                read, made, first = best[backend, n]
                print(f"{backend},{name},{n},{read:.0f},{made:.1f},{first:.2f}",
                      flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
