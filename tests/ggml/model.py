#!/usr/bin/env python3
"""model.py - programs of llama.cpp, and a model, on libggml-kpack.so

usage: model.py build FOLDER
       model.py run FOLDER BUILD MODEL [DEVICES...]

`build` builds llama-completion, llama-perplexity, llama-quantize and two of
llama.cpp's tests in FOLDER, where check.py has fetched llama.cpp. `run` runs MODEL with them on
simulated GPUs beside ggml's CPU backend: DEVICES is one (gfx942), several that
share the layers (gfx942,gfx1100), or the machine's (card).

 - The likeliest tokens are the CPU's, with nodes fused and graphs recorded, and
   without; so are the logits, but for the rounding of another order of sums.
 - Fused and recorded, the logits are bit for bit what they are without.
 - Only the nodes of ON_THE_CPU run on the CPU.
 - Recordings save launches, which are counted (simulated GPUs).
 - Random mixtures of experts (experts.py) give the CPU's logits in all FORMATS,
   and only kernels of modules quantized and moe multiply with experts.
 - A model that cannot be recorded runs all the same (simulated GPUs).
 - Two contexts compute at once (llama.cpp's test-thread-safety).
 - Small random models of the ARCHITECTURES give the CPU's logits
   (test-llama-archs).
"""
import copy
import os
import re
import subprocess
import sys
import time

import experts
from check import COLOUR, OPTIONS, Judge, counted_hip, tree

PROGRAMS = ["llama-completion", "llama-perplexity", "llama-quantize",
            "test-llama-archs", "test-thread-safety"]
PROMPT = "The first three planets of the Sun are"
TOKENS = 12
# Words for two chunks of 32 tokens.
TEXT = ("Gravity pulls each thing that has a mass towards each other one. The "
        "Moon goes round the Earth, and the Earth goes round the Sun, because "
        "of it. A stone that falls is faster after each second, and on the "
        "Moon it falls six times as slowly as here. Light bends, too, where a "
        "star is near, which an eclipse once showed to be as large as said.")
CHUNK, CHUNKS = 32, 2
# The CPU backend's two ways of attention differ in the next token's distribution.
# kpack's distance from one of them may be this many times as large.
MOST_DISTANCE = 2
# llama.cpp keeps the table of tokens in host memory and reads it on the CPU.
ON_THE_CPU = {"GET_ROWS"}
ARCHITECTURES = ("llama", "qwen2", "qwen3", "gemma3", "phi3", "gpt2",
                 "olmoe")
# formats of a mixture of experts' weights, in llama-quantize's names
FORMATS = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K_S")
PLAIN = {"KPK_GGML_WITHOUT": "graphs,fusion"}
COUNTED = re.compile(r"counted_hip: \S+: (\d+) launches, (\d+) replays")
LAUNCHED = re.compile(r"kpack-sim: (\w+) on ")
NODE = re.compile(r"node #\s*\d+ \(\s*(\w+)\):.*?\[\s*(\w+)\s")
# chunk, perplexity, logarithm of its quotient, distance in nats so far;
# llama.cpp's logger prints a chunk's number twice at times
DISTANCE = re.compile(r"^\s*\d+(?:\s+\d+)?\s+"
                      r"(?:[-\d.]+ ±\s+[\d.]+\s+){2}([-\d.]+) ±", re.M)


def build(folder):
    source, made = tree(folder), os.path.join(folder, "build")
    options = [o for o in OPTIONS if not re.search("TOOLS|TESTS", o)]
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["cmake", "-S", source, "-B", made, *options,
                    "-DLLAMA_BUILD_TOOLS=ON", "-DLLAMA_BUILD_TESTS=ON",
                    "-DLLAMA_OPENSSL=OFF"], **quiet)
    subprocess.run(["cmake", "--build", made, f"-j{os.cpu_count()}",
                    "--target", *PROGRAMS], **quiet)


class Model:
    """the programs, on one set of devices or on the CPU alone"""

    def __init__(self, folder, build_folder, model, devices):
        self.judge = Judge(folder, build_folder, devices)
        self.programs = os.path.join(folder, "build", "bin")
        self.folder, self.model = folder, model
        self.simulated = devices != "card"
        count = 1 if devices == "card" else devices.count(",") + 1
        self.names = ",".join(f"KPACK{i}" for i in range(count))

    def run(self, program, *words, on_gpu=True, **env):
        """its standard output, both outputs, its status and seconds"""
        env = {**self.judge.env, **env}
        if on_gpu:
            env["GGML_BACKEND_PATH"] = self.judge.backend
        start = time.monotonic()
        done = subprocess.run(
            [os.path.join(self.programs, program), *words], env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, check=False)
        seconds = time.monotonic() - start
        out, err = (COLOUR.sub("", text.decode(errors="replace"))
                    for text in (done.stdout, done.stderr))
        return out, out + err, done.returncode, seconds

    def options(self, on_gpu):
        return ["-m", self.model, "-t", "2", "-fit", "off",
                "-ngl", "99" if on_gpu else "0",
                "-dev", self.names if on_gpu else "none"]

    def go_on(self, *words, on_gpu=True, **env):
        """the likeliest tokens behind PROMPT"""
        out, both, status, seconds = self.run(
            "llama-completion", *self.options(on_gpu), "-p", PROMPT, "-n",
            str(TOKENS), "-c", "256", "--temp", "0", "-no-cnv",
            "--no-warmup", "--no-display-prompt", *words, on_gpu=on_gpu, **env)
        if status:
            out = f"status {status}: {both[-2000:]}"
        return out.strip(), both, seconds

    def logits(self, base, *words, on_gpu=True, **env):
        """a text's logits, to the file `base`; or compared with its"""
        text = os.path.join(self.folder, "text")
        with open(text, "w", encoding="utf-8") as file:
            file.write(TEXT)
        _, both, status, seconds = self.run(
            "llama-perplexity", *self.options(on_gpu), "--no-warmup", "-f",
            text, "-c", str(CHUNK), "-b", str(CHUNK), "--chunks", str(CHUNKS),
            "--kl-divergence-base", base, *words, on_gpu=on_gpu, **env)
        if status:
            both = f"status {status}: {both[-2000:]}"
        return both, seconds


def nodes_of(output):
    """{backend: {operation: nodes}}"""
    counts = {}
    for op, backend in NODE.findall(output):
        of = counts.setdefault(backend, {})
        of[op] = of.get(op, 0) + 1
    return counts


def distance_of(output):
    found = DISTANCE.findall(output)
    return float(found[-1]) if len(found) == CHUNKS else float("nan")


def same_file(a, b):
    with open(a, "rb") as x, open(b, "rb") as y:
        return x.read() == y.read()


def wrong_counts(counts):
    """what is wrong with (launches, replays), as users run it and plain"""
    if len(counts) != 2:
        return [f"no launches were counted: {counts}"]
    (launches, replays), (plain, none) = ((int(a), int(b)) for a, b in counts)
    print(f"  launches: {launches} and {replays} recorded graphs; "
          f"{plain} neither recorded nor fused")
    # the first token's graph is launched, the second's is recorded
    if none or replays < TOKENS - 4 or launches > plain // 2:
        return [f"{launches} launches and {replays} replays instead of {plain} "
                f"launches and {none} replays"]
    return []


def check_tokens(m):
    """the faults of what llama-completion says"""
    faults = []
    expected, _, cpu_seconds = m.go_on(on_gpu=False)
    print(f"  the CPU says: {expected!r}, {cpu_seconds:.1f} s", flush=True)
    ways, counts = [("", {}), ("neither recorded nor fused", PLAIN)], []
    if m.simulated:
        counting = {"KPK_HIP_LIBRARY": counted_hip(m.judge)}
        ways = [(what, {**env, **counting}) for what, env in ways]
        ways.append(("recording fails",
                     {"KPK_SIM_FAULTS":
                      "hipStreamEndCapture:1=hipErrorUnknown"}))
    for what, env in ways:
        said, both, seconds = m.go_on("-lv", "5", GGML_SCHED_DEBUG="2", **env)
        print(f"  {m.names} {what or 'says it, too'}: {seconds:.1f} s",
              flush=True)
        if said != expected:
            faults.append(f"{what or 'as users run it'}: {said!r}")
        if "recording" in what and "graphs are not recorded" not in both:
            faults.append("no recording failed")
        counts += COUNTED.findall(both)
    if m.simulated:
        faults += wrong_counts(counts)
    nodes = nodes_of(both)
    on_cpu = nodes.pop("CPU", {})
    print(f"  nodes: {sum(sum(of.values()) for of in nodes.values())} on GPUs, "
          f"on the CPU {on_cpu}")
    if not nodes or set(on_cpu) - ON_THE_CPU:
        faults.append(f"nodes on the CPU: {on_cpu}")
    return faults


def files_of_logits(m, *names):
    """their names; none is there"""
    files = [os.path.join(m.folder, f"{name}.logits") for name in names]
    for file in files:
        if os.path.exists(file):
            os.remove(file)
    return files


def check_distance(m, what, **env):
    """the faults of the logits beside the CPU's, and what the program said"""
    base, = files_of_logits(m, "cpu")
    said, _ = m.logits(base, "-fa", "on", on_gpu=False)
    if not os.path.exists(base):
        return [f"llama-perplexity fails on the CPU: {said}"], ""
    said, _ = m.logits(base, "-fa", "off", "--kl-divergence", on_gpu=False)
    limit = MOST_DISTANCE * distance_of(said)
    said, seconds = m.logits(base, "-fa", "on", "--kl-divergence", **env)
    distance = distance_of(said)
    print(f"  distance of {what}: {distance} nats of {limit}, {seconds:.1f} s",
          flush=True)
    if distance <= limit:
        return [], said
    return [f"the distance of {what} is {distance}:\n{said[-2000:]}"], said


def check_logits(m):
    """the faults of what llama-perplexity computes"""
    faults, _ = check_distance(m, "the logits")
    ours, plain = files_of_logits(m, "kpack", "plain")
    m.logits(ours)
    m.logits(plain, **PLAIN)
    if not os.path.exists(ours) or not same_file(ours, plain):
        faults.append("fused and recorded, the logits are others than without")
    return faults


def check_experts(m):
    """the faults of random mixtures of experts"""
    faults, numbers = [], os.path.join(m.folder, "experts.gguf")
    experts.write(numbers)
    for name in FORMATS:
        blocks = os.path.join(m.folder, f"experts-{name}.gguf")
        _, both, status, _ = m.run("llama-quantize", numbers, blocks, name,
                                   on_gpu=False)
        if status:
            faults.append(f"llama-quantize to {name}: {both[-2000:]}")
            continue
        mixture = copy.copy(m)
        mixture.model = blocks
        wrong, said = check_distance(mixture, f"experts in {name}",
                                     KPK_SIM_STATS="1")
        faults += wrong
        products = {kernel for kernel in LAUNCHED.findall(said)
                    if re.match("indexed_moe|moe_(gemm|mul_mat)|ggml_mul_mat_q",
                                kernel)}
        if m.simulated and (not products or any(
                kernel.startswith("ggml_mul_mat") for kernel in products)):
            faults.append(f"experts in {name} are multiplied by {products}")
    return faults


def check_contexts(m):
    _, both, status, seconds = m.run(
        "test-thread-safety", *m.options(True), "-p", PROMPT, "-n", "3", "-c",
        "64", "-ub", "32", "-np", "2")
    print(f"  contexts at once: {seconds:.1f} s", flush=True)
    # a model on the CPU, one on each GPU, one on all of them
    models = m.names.count(",") + 3
    if status or f"for model {models}/{models}" not in both:
        return [f"contexts at once: status {status}: {both[-2000:]}"]
    return []


def loader(folder):
    """a library that loads GGML_BACKEND_PATH: test-llama-archs does not"""
    source, library = (os.path.join(folder, f"load.{kind}")
                       for kind in ("c", "so"))
    with open(source, "w", encoding="utf-8") as file:
        file.write("void ggml_backend_load_all(void);\n"
                   "__attribute__((constructor)) static void load(void)\n"
                   "{\n    ggml_backend_load_all();\n}\n")
    libraries = os.path.abspath(os.path.join(folder, "build", "bin"))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source,
                    f"-L{libraries}", "-lggml", f"-Wl,-rpath,{libraries}"],
                   check=True)
    return os.path.abspath(library)


def check_architectures(m):
    faults, library = [], loader(m.folder)
    for name in ARCHITECTURES:
        for _ in range(2):  # llama.cpp's logger loses its last lines at times
            _, both, status, seconds = m.run("test-llama-archs", "-b",
                                             "KPACK0", "-a", f"^{name}$",
                                             LD_PRELOAD=library)
            found = re.search(r"all (\d+) test\(s\) passed", both)
            if status or found:
                break
        print(f"  {name}: {found.group(1) if found else 'no'} tests pass, "
              f"{seconds:.1f} s", flush=True)
        if status or not found:
            faults.append(f"{name}: status {status}: {both[-2000:]}")
    return faults


CHECKS = (check_tokens, check_logits, check_experts, check_contexts,
          check_architectures)


def main(words):
    if len(words) == 2 and words[0] == "build":
        return build(words[1])
    if len(words) < 4 or words[0] != "run":
        return __doc__
    failed = False
    for devices in words[4:] or ["gfx942"]:
        print(devices, flush=True)
        m = Model(words[1], words[2], words[3], devices)
        faults = [fault for check in CHECKS for fault in check(m)]
        for fault in faults:
            print(f"check-ggml-model: {devices}: {fault}", file=sys.stderr)
        failed = failed or bool(faults)
        print(f"{devices}: {len(faults)} faults")
    return 1 if failed else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
