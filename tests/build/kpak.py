#!/usr/bin/env python3
"""kpak.py - reads AMD's kernel archives, strictly, for tests of what writes them

    kpak.py FOLDER HSACO     every archive of FOLDER holds the code objects of
                             HSACO/TARGET/MODULE.hsaco, to the byte, and its
                             lists name each kernel; prints what there is

Without Python's msgpack: what is read here is the format's own text.
"""
import hashlib
import json
import os
import struct
import sys


class Reader:
    def __init__(self, data, at):
        self.data, self.at = data, at

    def take(self, n):
        assert self.at + n <= len(self.data), "the table is cut short"
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, n):
        return int.from_bytes(self.take(n), "big")

    def value(self):
        b = self.number(1)
        if b < 0x80:
            return b
        if b < 0x90:
            return self.pairs(b & 15)
        if b < 0xa0:
            return [self.value() for _ in range(b & 15)]
        if b < 0xc0:
            return self.take(b & 31).decode()
        if 0xcc <= b <= 0xcf:
            return self.number(1 << (b - 0xcc))
        if 0xd9 <= b <= 0xdb:
            return self.take(self.number(1 << (b - 0xd9))).decode()
        if b in (0xdc, 0xdd):
            return [self.value() for _ in range(self.number(2 << (b - 0xdc)))]
        assert b in (0xde, 0xdf), f"first byte {b:#x}"
        return self.pairs(self.number(2 << (b - 0xde)))

    def pairs(self, n):
        found = {}
        for _ in range(n):
            key = self.value()
            assert key not in found, f"{key} twice"
            found[key] = self.value()
        return found


def read(path):
    """The table, and the code objects by key and target."""
    with open(path, "rb") as file:
        data = file.read()
    magic, version, toc = struct.unpack_from("<4sIQ", data)
    assert (magic, version) == (b"KPAK", 1) and data[16:64] == bytes(48)
    reader = Reader(data, toc)
    table = reader.value()
    assert reader.at == len(data), "bytes behind the table"
    assert table["format_version"] == 1 and table["compression_scheme"] == "none"
    objects, end = {}, 64
    for key, targets in table["toc"].items():
        for target, entry in targets.items():
            blob = table["blobs"][entry["ordinal"]]
            assert entry["type"] == "hsaco" and entry["original_size"] == blob["size"]
            assert blob["offset"] == end, "not on the next 64 bytes"
            end = (end + blob["size"] + 63) // 64 * 64
            assert target in table["gfx_arches"]
            objects[key, target] = data[blob["offset"]:blob["offset"] + blob["size"]]
            assert not any(data[blob["offset"] + blob["size"]:end])
    assert end == toc and len(table["blobs"]) == len(objects)
    return table, objects


def read_folder(folder):
    """Archives by name, and kernels by (library, toc_key); each list is right."""
    archives, kernels = {}, {}
    names = sorted(os.listdir(folder))
    for name in names:
        if name.endswith(".kpack"):
            table, objects = read(os.path.join(folder, name))
            assert name == f'{table["group_name"]}_{table["gfx_arch_family"]}.kpack', name
            archives[name] = objects
    for name in names:
        if not name.endswith(".json"):
            continue
        with open(os.path.join(folder, name)) as file:
            listed = json.load(file)
        assert listed["pack"] + ".json" == name
        for kernel in listed["kernels"]:
            library, key = kernel["library"], kernel["toc_key"]
            (data,) = [d for (k, _), d in archives[library].items() if k == key]
            assert hashlib.sha256(data).hexdigest() == kernel["sha256"]
            kernels.setdefault((library, key), []).append(kernel["symbol"])
    assert set(kernels) <= {(a, k) for a in archives for k, _ in archives[a]}
    return archives, kernels


def main():
    folder, hsaco, suffix = sys.argv[1], sys.argv[2], (sys.argv[3:] or [""])[0]
    archives, kernels = read_folder(folder)
    n = 0
    for objects in archives.values():
        for (key, target), data in objects.items():
            assert key.endswith(suffix)
            module = key[:len(key) - len(suffix)]
            with open(os.path.join(hsaco, target, module + ".hsaco"), "rb") as file:
                assert file.read() == data, f"{key} for {target}"
            n += 1
    # Of each module all kernels that `kpack list --json` names, on one target or another.
    named = {m["name"] + suffix: set(m["kernels"]) for m in json.load(sys.stdin)["modules"]}
    listed = {}
    for (_, key), symbols in kernels.items():
        assert len(set(symbols)) == len(symbols)
        listed.setdefault(key, set()).update(symbols)
    assert listed == named, "other kernels than the pack's"
    print(len(archives), "archives,", n, "code objects")


if __name__ == "__main__":
    main()
