"""rooms.py - which folder includes which, no circle of includes, a header for
each file, a system's headers in files for that system

usage: rooms.py [TREE]

ROOMS has a row for each room, a folder of sources: the other rooms whose files
it may include. Inside and across rooms no includes go in a circle. A unit is
NAME.c, NAME.cc or NAME.hip with NAME.h, so a.h -> b.h is a circle if b.c
includes a.h. Prints each include against the table and each circle, with file
and line. So that includes tell who uses whom, a header declares functions of
its own NAME.c alone; LISTS has the exceptions. In the rooms PORTABLE only
*_posix.c, *_windows.c and the headers SYSTEM include what POSIX or Windows
alone has, or ask for Windows.

Only #include "..." of files in the tree counts: headers that the build makes
and headers of the system belong to no room.
"""
import os
import re
import sys

# room: the rooms that its files may include, beside itself. A row holds for
# the folder and for subfolders without a row of their own. A file that more
# rooms may use than its folder has a row, too. A row names rooms of rows above
# it alone, so rooms as a whole have no circle.
ROOMS = {
    "include":           "",
    "src/base":          "include",
    "src/codec":         "include",
    "src":               "include src/base src/codec",
    "src/cmd":           "include src src/base",
    "src/model":         "include src src/base",
    "src/ggml":          "include src/base",

    "src/sim/base":      "src/base",
    "src/sim/isa":       "src/sim/base",
    "src/sim/run":       "src/sim/base src/sim/isa",
    "src/sim/hip":       "src/sim/base src/sim/isa src/sim/run",
    "src/sim/thunk":     "src/sim/base src/sim/isa src/sim/run",

    "gen/util":          "src/base",
    "gen/read":          "include src/base gen/util",
    "gen/pack":          "src/base gen/util gen/read",
    "gen/write":         "include src/base gen/util gen/read gen/pack",
    "gen":               "gen/util gen/read gen/pack gen/write",
    "gen/embed":         "include gen/write",
    "gen/compress":      "src/base gen/read gen/write",
    "gen/report":        "include src/base gen/read",

    "kernels/host":      "include",
    "kernels/include":   "src/base kernels/host",
    "kernels":           "include src/base kernels/host kernels/include",

    "tests":             "",
    "tests/unit":        "include src src/codec",
    "tests/import":      "",
    "tests/kernels":     "include src/base kernels/host kernels/include",
    "tests/model":       "src/base src/model tests tests/kernels",
    "tests/build":       "include src/base src/cmd gen/util gen/read gen/pack "
                         "gen/write gen/report tests tests/import",
    "tests/fuzz":        "include src src/base src/cmd src/model gen/read "
                         "gen/pack gen/write tests/unit tests/import "
                         "tests/model",
    "tests/asm":         "tests/unit",
    "tests/attention":   "include",
    "tests/comm":        "include src kernels/host",
    "tests/gpu":         "tests/unit",
    "tests/matrix":      "src/base kernels/include tests/kernels",
    "tests/ways":        "include tests tests/unit",
    "tests/sim":         "src/sim/base src/sim/isa src/sim/run src/sim/hip tests",
    "tests/sim/coverage": "src/base src/sim/base src/sim/isa",
    "tests/sim/programs": "kernels/include",
    "tests/sim/thunk":   "src/sim/base src/sim/thunk",
    "tests/bench/archive": "src/base",
    "tests/bench/gpu":   "src/base kernels/include",
    "tests/bench/launch": "tests tests/unit",
    "tests/bench/model": "src/model tests/model",
    "tests/bench/sim":   "src/base src/sim/base src/sim/isa src/sim/hip "
                         "kernels/host tests/bench/gpu",
    "tests/bench/table": "include tests/unit",
}
# Folders whose files are read.
READ = ("include", "src", "gen", "kernels", "tests")
# -I of the builds
PATHS = ("src", "gen", "include", "kernels/include", "tests", "tests/unit",
         "tests/kernels", "tests/import")

# Rooms whose files compile for every system, but for *_posix.c and *_windows.c,
# and the headers there that know one.
PORTABLE = ("src", "src/base", "src/cmd")
SYSTEM = ("src/os.h", "src/base/utf16.h", "src/base/keyed_hash.h")
OF_A_SYSTEM = re.compile(
    r"^[ \t]*#[ \t]*(?:include[ \t]+<((?:sys/[a-z]+|pthread|unistd|dlfcn|link|"
    r"dirent|fcntl|fnmatch|elf|windows|io|direct)\.h)>|.*\b(_WIN32)\b)", re.M)

# Headers that declare functions of several files: a library's interface, the
# commands of a program, what each system or each program has a file for, the
# parts of a test and of what tests are written with.
LISTS = ("include/kpack.h", "include/kpack/host_code.h",
         "kernels/host/comm_group.h", "src/os.h",
         "src/base/file.h", "src/cmd/cmd.h", "src/cmd/commands.h",
         "src/cmd/os.h", "src/sim/hip/kpk_sim.h",
         "tests/aiter/aiter.h", "tests/bench/gpu/shapes.h",
         "tests/comm/calls.h", "tests/fuzz/fuzz.h", "tests/fuzz/mutate.h",
         "tests/install/moving/before.h", "tests/kernels/harness.h",
         "tests/kernels/fused/fused.h", "tests/kernels/ggml/ggml_test.h",
         "tests/kernels/reduce/reduce.h", "tests/sim/tests/hip_test.h",
         "tests/unit/fake_cuda.h", "tests/unit/fake_hip.h")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"')
UNIT = re.compile(r"\.(c|cc|h|hip)$")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
# A function's declaration (;) or definition ({) at the beginning of a line.
FUNCTION = re.compile(
    r"^(?!static|typedef)[A-Za-z_][^;{}()#]*?\b(\w+)"
    r"\((?:[^(){};]|\([^()]*\))*\)\s*(?:__attribute__\(\(.*?\)\)\s*)?([;{])",
    re.M)


def room_of(path):
    """the row that holds for a file"""
    while path and path not in ROOMS:
        path = os.path.dirname(path)
    return path


def files(tree):
    for root in READ:
        for folder, _, names in sorted(os.walk(os.path.join(tree, root))):
            for name in sorted(names):
                if name.endswith((".c", ".cc", ".h", ".hip")):
                    yield os.path.relpath(os.path.join(folder, name), tree)


def includes(tree):
    """(file, line, included file) of all files"""
    for path in files(tree):
        with open(os.path.join(tree, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                found = INCLUDE.match(line)
                for folder in (os.path.dirname(path),) + PATHS if found else ():
                    target = os.path.normpath(os.path.join(folder, found[1]))
                    if os.path.isfile(os.path.join(tree, target)):
                        yield path, number, target
                        break


def way(edges, start, end):
    """the shortest way from a unit to another, as a list of edges; None: none"""
    came, queue = {start: None}, [start]
    for unit in queue:
        for a, b in edges:
            if a == unit and b not in came:
                came[b] = a
                queue.append(b)
    if end not in came:
        return None
    back = [end]
    while came[back[-1]]:
        back.append(came[back[-1]])
    back.reverse()
    return list(zip(back, back[1:]))


def circles(edges):
    """circles of edges; none shares an edge with another"""
    seen = set()
    for a, b in sorted(edges):
        back = way(edges, b, a) if (a, b) not in seen else None
        if back is not None:
            seen.update(back)
            yield [(a, b)] + back


def functions(tree, path):
    """(name, whether it is the definition) of the functions in a file"""
    with open(os.path.join(tree, path), encoding="utf-8") as file:
        for name, end in FUNCTION.findall(COMMENT.sub("", file.read())):
            yield name, end == "{"


def foreign(tree):
    """headers that declare a function which another file defines"""
    paths, defined = list(files(tree)), {}
    for path in paths:
        for name, whole in functions(tree, path) if path.endswith(".c") else ():
            if whole:
                defined.setdefault(name, set()).add(path)
    for path in paths:
        if path.endswith(".h") and path not in LISTS:
            for name, whole in functions(tree, path):
                have = defined.get(name)
                if have and not whole and UNIT.sub(".c", path) not in have:
                    yield f"{path}: declares {name}() of {min(have)}"


def of_a_system(tree):
    """files that only one system compiles, and should be for all"""
    for path in files(tree):
        if room_of(path) not in PORTABLE or path in SYSTEM or \
                path.endswith(("_posix.c", "_windows.c")):
            continue
        with open(os.path.join(tree, path), encoding="utf-8") as file:
            for header, macro in OF_A_SYSTEM.findall(file.read()):
                if (path, header) != ("src/base/elf_types.h", "elf.h"):
                    yield (f"{path}: {header or macro} is for *_posix.c and "
                           "*_windows.c")


def wrong(tree):
    rows = list(ROOMS)
    for room, may in ROOMS.items():
        for other in may.split():
            if other not in rows[:rows.index(room)]:
                yield f"rooms.py: the row {room} names {other}, no row above it"
    edges = {}
    for path, line, target in includes(tree):
        room, other = room_of(path), room_of(target)
        pair = UNIT.sub("", path), UNIT.sub("", target)
        if pair[0] == pair[1]:
            continue
        edges.setdefault(pair, f"{path}:{line} includes {target}")
        if other not in [room] + ROOMS.get(room, "").split():
            may = ROOMS.get(room, "").replace(" ", ", ") or "no other room"
            yield f"{path}:{line}: includes {target}; {room} may use {may}"
    yield from foreign(tree)
    yield from of_a_system(tree)
    for circle in circles(edges):
        yield "circle:\n" + "\n".join("    " + edges[pair] for pair in circle)


def main(tree="."):
    found = list(wrong(tree))
    if found:
        print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
