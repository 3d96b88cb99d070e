#!/usr/bin/env python3
# mutants.py - kernels that have lost a wait, on the simulated GPU
#
#   mutants.py TEST CODE-OBJECT DEVICE KERNEL...
#
# TEST is a program of tests/kernels, and CODE-OBJECT the one that it holds for
# DEVICE. The row of each KERNEL, a glob, runs once as it is, to find the waits
# that complete an operation. Then s_nop replaces these waits in a copy of TEST,
# one at a time, and the row runs again under KPK_SIM_WEAK=0 and KPK_SIM_RACES=1,
# then with caches and several seeds. A mutant is
#
#   reported  a missing wait, a data race, another fault, wrong values
#   covered   not reported; another wait that follows without a branch between
#             completes as much
#   stores    not reported; the wait completes stores to memory and invalidations
#             alone, which matter to other workgroups
#   spared    not reported, and neither of these: the wait is for paths that the
#             row does not take, for other lanes than those that go on, or for
#             waves that the group lacks; --verbose shows where
#
# Prints a line for each kernel, and fails if one is wrong unchanged or more than
# a sixth of its mutants are spared.
import fnmatch
import os
import queue
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from subprocess import PIPE

SEEDS = ("0", "2", "3", "4")  # of KPK_SIM_WEAK with caches
NOP = struct.pack("<I", 0xBF800000)  # on every processor
COUNTER = r"(?:vm|vs|lgkm|load|store|sample|bvh|ds|km|async|tensor)cnt"
WAIT = re.compile(rf"s_wait(?:cnt(?:_{COUNTER})?|(?:_{COUNTER})+|_idle)\b")
STORES = re.compile(r"(?!ds_)\w*_(store|inv|wb|wbinv|wbl2)")
ENDS = re.compile(r"s_(branch|cbranch|barrier|endpgm|setpc|swappc)")


def counts_of(text):
    """What a wait leaves under way: {counter: most}."""
    name, _, rest = text.partition(" ")
    if name == "s_waitcnt":
        return {c: int(n) for c, n in re.findall(rf"({COUNTER})\((\d+)\)", rest)}
    counters = re.findall(COUNTER, name.removeprefix("s_waitcnt"))
    if not counters:
        return {}
    n = int(rest.split()[-1], 0)
    return {c: n >> 8 * k & 0x3F for k, c in enumerate(reversed(counters))}


class Code:
    """A code object: where its instructions and those of each kernel lie."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.text = {}  # address: instruction
        self.entry = {}  # kernel: address
        tools = [t for v in ("-22", "-21", "-20", "-19", "") if (t := shutil.which("llvm-objdump" + v))]
        said = subprocess.run([tools[0], "-d", path], check=True, capture_output=True, text=True).stdout
        for line in said.splitlines():
            if m := re.match(r"([0-9a-f]+) <(.*)>:", line):
                self.entry[m[2]] = int(m[1], 16)
            elif m := re.match(r"\t(.*?)\s*// ([0-9A-F]+):", line):
                self.text[int(m[2], 16)] = m[1]
        self.address, self.offset = self.section(b".text")

    def section(self, wanted):
        """Address and offset in the file."""
        at, n, names = struct.unpack_from("<Q12xHH", self.bytes, 0x28)
        rows = [struct.unpack_from("<IIQQQ", self.bytes, at + 64 * k) for k in range(n)]
        for name, _, _, address, offset in rows:
            if self.bytes[rows[names][4] + name :].startswith(wanted + b"\0"):
                return address, offset
        raise ValueError(f"no section {wanted}")

    def is_covered(self, wait):
        """Do waits that follow without a branch complete as much?"""
        left = counts_of(self.text[wait])
        for address in sorted(a for a in self.text if a > wait):
            text = self.text[address]
            if ENDS.match(text):
                return False
            if WAIT.match(text):
                for counter, n in counts_of(text).items():
                    if n <= left.get(counter, -1):
                        del left[counter]
                if not left:
                    return True
        return False


class Copies:
    """Copies of the test, one for each mutant that runs at a time."""

    def __init__(self, test, code, njobs, folder):
        with open(test, "rb") as file:
            self.at = file.read().find(code.bytes)
        if self.at < 0:
            raise ValueError(f"{test} holds another code object")
        self.code, self.free, self.lock = code, queue.Queue(), threading.Lock()
        for k in range(njobs):
            self.free.put(shutil.copy(test, os.path.join(folder, f"mutant{k}")))

    def put(self, path, wait, instruction):
        """Writes an instruction in the place of a wait."""
        with open(path, "r+b") as file:
            file.seek(self.at + self.code.offset + wait - self.code.address)
            file.write(instruction)

    def run(self, kernel, environment, wait=None):
        """Status and output of the kernel's row, without one wait if given."""
        path = self.free.get()
        # exec() refuses a file that is open for writing, and a child process keeps
        # all threads' files open until its own exec(). So no process starts while
        # another thread writes.
        with self.lock:
            if wait:
                self.put(path, wait, NOP)
            row = [path, "-k", kernel]
            run = subprocess.Popen(row, env=environment, stdout=PIPE, stderr=PIPE, text=True, errors="replace")
        out, err = run.communicate()
        with self.lock:
            if wait:
                offset = self.code.offset + wait - self.code.address
                self.put(path, wait, self.code.bytes[offset : offset + 4])
        self.free.put(path)
        return run.returncode, out + err


def still_right(kernel, copies, njobs, environment, waits):
    """Waits without which the row's test still passes."""
    with ThreadPoolExecutor(njobs) as pool:
        runs = pool.map(lambda w: copies.run(kernel, environment, w), waits)
        return [w for w, (status, _) in zip(waits, runs) if status == 0]


def try_kernel(kernel, device, copies, njobs, verbose):
    """Prints what became of its mutants; whether enough are reported."""
    code, entry = copies.code, copies.code.entry[kernel]
    weak = dict(os.environ, KPK_SIM_DEVICES=device, KPK_SIM_WEAK="0", KPK_SIM_RACES="1")
    status, said = copies.run(kernel, dict(weak, KPK_SIM_TRACE="waits"))
    if status:
        print(f"{kernel} {device} fails as it is:\n{said[-2000:]}")
        return False
    at_work = {}  # wait: names of what it completes
    for at, name in re.findall(rf"{kernel} \S+ wave \d+ \+0x([0-9a-f]+) waits for \S+ (\w+)", said):
        at_work.setdefault(entry + int(at, 16), set()).add(name)
    waits = sorted(at_work)
    missed = still_right(kernel, copies, njobs, weak, waits)
    bare = [w for w in missed if not code.is_covered(w)]
    ncovered = len(missed) - len(bare)
    for seed in SEEDS if bare else ():
        caches = dict(os.environ, KPK_SIM_DEVICES=device, KPK_SIM_WEAK=seed)
        if copies.run(kernel, caches)[0]:
            print(f"{kernel} {device} fails as it is with seed {seed}")
            return False
        bare = still_right(kernel, copies, njobs, caches, bare)
    spared = [w for w in bare if not all(STORES.match(name) for name in at_work[w])]
    print(
        f"{kernel} {device}: {len(waits)} waits at work, {len(waits) - ncovered - len(bare)} reported, "
        f"{ncovered} covered, {len(bare) - len(spared)} stores, {len(spared)} spared",
        flush=True,
    )
    for wait in spared if verbose else []:
        print(f"  spared: {sorted(at_work[wait])}")
        for address in sorted(a for a in code.text if wait - 24 <= a <= wait + 40):
            mark = ">" if address == wait else " "
            print(f"  {mark} +0x{address - entry:x} {code.text[address]}")
    return len(waits) > 0 and 6 * len(spared) <= len(waits)


def main(arguments):
    verbose = "--verbose" in arguments
    test, path, device, *globs = [a for a in arguments if a != "--verbose"]
    njobs = int(os.environ.get("JOBS") or 2)
    code = Code(path)
    kernels = [k for k in code.entry if any(fnmatch.fnmatchcase(k, g) for g in globs)]
    with tempfile.TemporaryDirectory() as folder:
        copies = Copies(test, code, njobs, folder)
        good = [try_kernel(k, device, copies, njobs, verbose) for k in kernels]
    return 0 if good and all(good) else 1


sys.exit(main(sys.argv[1:]))
