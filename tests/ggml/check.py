#!/usr/bin/env python3
"""check.py - ggml's own test of backends, on libggml-kpack.so

usage: check.py fetch FOLDER
       check.py run FOLDER BUILD [DEVICE[:OP,OP...]...]
       check.py write FOLDER BUILD [DEVICE[:OP,OP...]...]

`fetch` brings the source package of llama-cpp-python, which holds a llama.cpp,
from PyPI, and builds its ggml and its test-backend-ops in FOLDER. `run` runs the
test's cases on BUILD/libggml-kpack.so and a simulated GPU, or the machine's
(card), beside ggml's CPU backend: all operations, or those that are named.

The parts of models in fused.c give the same bits fused and recorded as they do
with a launch for each node.

passes.csv has a row for each operation: how many cases there are, how many pass
on each device, and which are run (a regular expression for their parameters; the
others take too long on a simulated GPU). A device without a number is held
against the first device's. A case that fails, a number that differs, and an
operation without a row are failures here. passes-card.csv is the same for the
machine's GPU, which runs all cases. `write` does the same and then puts
the numbers into the devices' columns of passes.csv: read the difference.
"""
import csv
import os
import re
import shutil
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "0.3.36"
SDIST = "llama_cpp_python-" + VERSION
# Only ggml is built of llama.cpp, with no code for this machine's CPU only.
OPTIONS = ("-DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=OFF -DGGML_AVX2=ON "
           "-DGGML_FMA=ON -DGGML_F16C=ON -DGGML_OPENMP=OFF -DLLAMA_CURL=OFF "
           "-DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF "
           "-DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_TESTS=OFF").split()
DEVICE = "KPACK0"
CASE = re.compile(r"([A-Z0-9_]+)\((.*)\): (?:.*\s)?(OK|FAIL|not supported)\b")
COLOUR = re.compile("\x1b\\[[0-9;]*m")


def tree(folder):
    return os.path.join(folder, SDIST, "vendor", "llama.cpp")


def fetch(folder):
    judge = os.path.join(folder, "test-backend-ops")
    if os.path.exists(judge):
        return
    os.makedirs(folder, exist_ok=True)
    archive = os.path.join(folder, SDIST + ".tar.gz")
    if not os.path.exists(archive):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q",
                        "--no-binary", "llama-cpp-python", "--no-deps",
                        "--disable-pip-version-check", "-d", folder,
                        "llama-cpp-python==" + VERSION], check=True)
    if not os.path.exists(tree(folder)):
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
    source, build = tree(folder), os.path.join(folder, "build")
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["cmake", "-S", source, "-B", build, *OPTIONS], **quiet)
    subprocess.run(["cmake", "--build", build, f"-j{os.cpu_count()}",
                    "--target", "ggml", "ggml-cpu", "ggml-base"], **quiet)
    libraries = os.path.join(os.path.abspath(build), "bin")
    subprocess.run(
        ["c++", "-O2", "-std=c++17", f"-I{source}/ggml/include",
         f"-I{source}/ggml/src", "-o", judge + ".new",
         f"{source}/tests/test-backend-ops.cpp", f"-L{libraries}", "-lggml",
         "-lggml-base", f"-Wl,-rpath,{libraries}", "-pthread"], check=True)
    os.replace(judge + ".new", judge)


class Judge:
    """test-backend-ops of a folder, with libraries of a build"""

    def __init__(self, folder, build, device):
        self.program = os.path.abspath(os.path.join(folder, "test-backend-ops"))
        self.backend = os.path.abspath(os.path.join(build, "libggml-kpack.so"))
        self.env = dict(os.environ)
        self.env.pop("GGML_BACKEND_PATH", None)
        self.folder, self.build = folder, build
        if device != "card":
            self.env["LD_LIBRARY_PATH"] = os.path.abspath(
                os.path.join(build, "sim"))
            self.env["KPK_SIM_DEVICES"] = device

    def run(self, *words, cwd=None, **env):
        """its output and status"""
        done = subprocess.run(
            [self.program, *words], env={**self.env, **env}, text=True,
            cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            errors="replace", check=False)
        return COLOUR.sub("", done.stdout), done.returncode

    def on_backend(self, *words, **env):
        return self.run(*words, "-b", DEVICE, GGML_BACKEND_PATH=self.backend,
                        **env)


def count(output):
    """{operation: {verdict: cases}}"""
    counts = {}
    for op, _, verdict in CASE.findall(output):
        of = counts.setdefault(op, {})
        of[verdict] = of.get(verdict, 0) + 1
    return counts


def is_there(output):
    # A device that is not there passes as well.
    return f"Backend {DEVICE}: OK" in output


def other_versions(judge):
    """the faults of the guard: a ggml of another version must be refused"""
    faults = []
    for name, words in (("ggml_version", "0.1.0"), ("ggml_op_name", "NO_OP")):
        source = os.path.join(judge.folder, "other.c")
        library = os.path.abspath(os.path.join(judge.folder, name + ".so"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(f'const char *{name}(void) {{ return "{words}"; }}\n')
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source],
                       check=True)
        output, _ = judge.on_backend("test", "-o", "SQR", LD_PRELOAD=library)
        if is_there(output) or "ggml-kpack: made for" not in output:
            faults.append(f"a ggml with another {name}() is not refused")
    return faults


def under_another_name(judge):
    """the faults of loading by name, from the folder where a program runs"""
    folder = os.path.join(judge.folder, "by-name")
    os.makedirs(folder, exist_ok=True)
    shutil.copyfile(judge.backend, os.path.join(folder, "libggml-hip.so"))
    output, status = judge.run("test", "-o", "SQR", "-b", DEVICE, cwd=folder)
    shutil.rmtree(folder)
    if status or not is_there(output):
        return ["libggml-hip.so is not loaded by its name"]
    return []


def counted_hip(judge):
    """a library for KPK_HIP_LIBRARY that counts launches on simulated GPUs"""
    library = os.path.abspath(os.path.join(judge.folder, "counted_hip.so"))
    subprocess.run(
        ["cc", "-std=gnu11", "-O1", "-shared", "-fPIC", "-o", library,
         os.path.join(HERE, "counted_hip.c"), "-Wl,--no-as-needed",
         f"-L{judge.build}/sim", "-l:libamdhip64.so.7", "-ldl"], check=True)
    return library


def recorded_and_fused(judge):
    """the faults of graphs.c, which counts launches on a simulated GPU"""
    if "LD_LIBRARY_PATH" not in judge.env:
        return []
    source = tree(judge.folder)
    program = os.path.abspath(os.path.join(judge.folder, "graphs"))
    libraries = os.path.abspath(os.path.join(judge.folder, "build", "bin"))
    subprocess.run(
        ["cc", "-std=gnu11", "-O1", "-isystem", f"{source}/ggml/include", "-o",
         program, os.path.join(HERE, "graphs.c"), f"-L{libraries}", "-lggml",
         "-lggml-base", f"-Wl,-rpath,{libraries}", "-ldl"], check=True)
    done = subprocess.run(
        [program, judge.backend], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False,
        env={**judge.env, "KPK_HIP_LIBRARY": counted_hip(judge)})
    if done.returncode:
        return [f"graphs are not fused and recorded as wanted:\n{done.stdout}"]
    return []


def fused(judge):
    """the faults of parts of models, fused and recorded"""
    libraries = os.path.join(os.path.abspath(judge.folder), "build", "bin")
    program = os.path.join(libraries, "fused")  # beside the backends
    subprocess.run(
        ["cc", "-std=gnu11", "-O1", f"-I{tree(judge.folder)}/ggml/include",
         "-o", program, os.path.join(HERE, "fused.c"), f"-L{libraries}",
         "-lggml", "-lggml-base", "-lm", "-ldl",
         f"-Wl,-rpath,{libraries}"],
        check=True)
    env = {**judge.env, "GGML_BACKEND_PATH": judge.backend}
    if judge.env.get("KPK_SIM_DEVICES") == "gfx942":  # counts launches, too
        env["KPK_HIP_LIBRARY"] = counted_hip(judge)
    done = subprocess.run(
        [program, DEVICE], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(f"  fused          {done.stdout.count(': OK'):5} of "
          f"{len(re.findall(': (?:OK|FAIL)', done.stdout))}", flush=True)
    return [f"fused.c fails:\n{done.stdout[-2000:]}"] if done.returncode else []


def check_operation(judge, row, column, first):
    """passes, cases and faults of a row of passes.csv"""
    op, only, faults = row["op"], row["only"], []
    output, status = judge.on_backend("test", "-o", op,
                                      *(["-p", only] if only else []))
    counts = count(output).get(op, {})
    passes, cases = counts.get("OK", 0), sum(counts.values())
    wanted = row.get(column) or row[first]
    print(f"  {op:14} {passes:5} of {cases}", flush=True)
    if status or not is_there(output) or counts.get("FAIL", 0):
        faults.append(f"{op} fails:\n{output[-2000:]}")
    elif (str(passes), str(cases)) != (wanted, row["cases"]):
        faults.append(f"{op}: {passes} of {cases} cases pass, and "
                      f"{wanted} of {row['cases']} in passes.csv")
    return passes, cases, faults


def without_row(judge, rows):
    """operations that the backend takes, and passes.csv lacks"""
    output, _ = judge.on_backend("support")
    taken = set(re.findall(r"([A-Z0-9_]+)\(.*\): SUPPORTED", output))
    return [f"{op} has no row in passes.csv"
            for op in sorted(taken - {row["op"] for row in rows})]


def check_device(judge, rows, column, first, ops):
    """passes and faults; the rows get the numbers"""
    faults, passed = [], 0
    if not ops:
        faults += (other_versions(judge) + under_another_name(judge)
                   + recorded_and_fused(judge) + fused(judge)
                   + without_row(judge, rows))
    for row in rows:
        if ops and row["op"] not in ops:
            continue
        passes, cases, wrong = check_operation(judge, row, column, first)
        passed += passes
        faults += wrong
        row[column], row["cases"] = str(passes), str(cases)
    return passed, faults


def main(words):
    if len(words) == 2 and words[0] == "fetch":
        return fetch(words[1])
    if len(words) < 3 or words[0] not in ("run", "write"):
        return __doc__
    failed = False
    for word in words[3:] or ["gfx942"]:
        device, _, ops = word.partition(":")
        table = os.path.join(
            HERE, "passes-card.csv" if device == "card" else "passes.csv")
        with open(table, encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), list(reader.fieldnames)
        first = columns[2]
        print(device, flush=True)
        passed, faults = check_device(Judge(words[1], words[2], device), rows,
                                      device, first,
                                      ops.split(",") if ops else [])
        if device not in columns:
            columns.insert(-1, device)
        for fault in faults:
            print(f"check-ggml: {device}: {fault}", file=sys.stderr)
        failed = failed or bool(faults)
        print(f"{device}: {passed} cases pass, {len(faults)} faults")
        if words[0] == "write":
            with open(table, "w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, columns, restval="",
                                        lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
    return 1 if failed else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
