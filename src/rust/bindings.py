#!/usr/bin/env python3
"""bindings.py - kpack.h as Rust: kpack-sys/src/bindings.rs

    bindings.py ../../include/kpack.h >kpack-sys/src/bindings.rs

Run it when kpack.h changes; `make check-rust` compares. Every declaration of the
header must be understood: what is not, is refused with its line.
"""
import re
import sys

TYPES = {
    "void": "c_void", "char": "c_char", "int": "c_int", "unsigned": "c_uint", "size_t": "usize",
    "float": "f32", "double": "f64", "uint8_t": "u8", "uint32_t": "u32", "int32_t": "i32",
    "uint64_t": "u64", "int64_t": "i64",
}
CHECKED = []  # constants, and structs with their members, which layout.rs holds against C's
LAYOUTS = []
KEYWORDS = {"type", "in", "fn", "use", "ref", "move", "match", "where", "loop", "mod"}


class Refused(Exception):
    pass


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def named(name):
    return "r#" + name if name in KEYWORDS else name


def rust_type(c):
    """A C type without the declared name: 'const void *const *'."""
    words = re.findall(r"\*|\w+", c)
    stars = words.index("*") if "*" in words else len(words)
    const = "const" in words[:stars]
    base = " ".join(w for w in words[:stars] if w not in ("const", "struct", "enum"))
    if base in TYPES:
        rust = TYPES[base]
    elif base.startswith("kpk_"):
        rust = base
    else:
        raise Refused("type '%s'" % c)
    for word in words[stars:]:
        if word == "*":
            rust = ("*const " if const else "*mut ") + rust
            const = False
        elif word == "const":
            const = True
        else:
            raise Refused("type '%s'" % c)
    return rust


def declared(c, parameter=False):
    """'uint32_t grid[3]' as (name, Rust type); an array parameter is a pointer."""
    c = " ".join(c.split())
    pointer = re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", c)
    if pointer:
        result = "" if pointer[1].strip() == "void" else " -> " + rust_type(pointer[1])
        return pointer[2], "Option<unsafe extern \"C\" fn(%s)%s>" % (parameters(pointer[3]), result)
    found = re.fullmatch(r"(.*?)(\w+)(?:\[(\d+)\])?", c)
    if not found or not found[1].strip():
        raise Refused("declaration '%s'" % c)
    rust = rust_type(found[1])
    if found[3]:
        rust = "*mut " + rust if parameter else "[%s; %s]" % (rust, found[3])
    return found[2], rust


def parameters(c):
    if c.strip() in ("", "void"):
        return ""
    return ", ".join("%s: %s" % (named(name), rust) for name, rust in
                     (declared(one, True) for one in c.split(",")))


def members(body):
    """Members of a struct with the comments that stand before or behind them."""
    for line in without_comments(body).split(";"):
        if line.strip():
            first, *more = line.split(",") if "(" not in line else [line]
            name, rust = declared(first)
            yield name, rust
            for other in more:  # 'double a, b'
                yield other.strip(), rust


def doc(comment, indent=""):
    if not comment:
        return ""
    lines = [re.sub(r"^ ?\*? ?", "", line.rstrip()) for line in comment.strip()[2:-2].strip().split("\n")]
    lines = [line.rstrip() for line in lines]
    if len(lines) == 1:
        return "%s/// %s\n" % (indent, lines[0].replace("[", "\\[").replace("]", "\\]"))
    return "".join("%s///%s%s\n" % (indent, " " if line else "", line) for line in ["```text"] + lines + ["```"])


def constants(body, rust):
    value = -1
    for entry in without_comments(body).split(","):
        if not entry.strip():
            continue
        name, _, number = (part.strip() for part in entry.partition("="))
        value = int(number, 0) if number else value + 1
        kind = "c_int" if value < 0 else rust
        CHECKED.append(name)
        yield "pub const %s: %s = %d;\n" % (name, kind, value)


def statuses(text):
    table = re.search(r"#define KPK_STATUS_TABLE\(X\)(.*?[^\\])\n", text, re.S)[1]
    rows = re.findall(r"X\((\w+),\s*(\d+),((?:\s*\\?\s*\"[^\"]*\")+)\)", table)
    out = "/// A status: one of `KPK_OK` and `KPK_ERR_...`.\npub type kpk_status = c_uint;\n"
    for name, number, words in rows:
        meaning = "".join(re.findall(r'"([^"]*)"', words))
        out += "/// %s\npub const %s: kpk_status = %s;\n" % (meaning, name, number)
        CHECKED.append(name)
    return out


def tokens(text):
    """(kind, text, line): comments, preprocessor lines and declarations, in order."""
    at = 0
    while at < len(text):
        line = text.count("\n", 0, at) + 1
        if text[at].isspace():
            at += 1
            continue
        if text.startswith("/*", at):
            end = text.index("*/", at) + 2
            yield "comment", text[at:end], line
        elif text[at] == "#":
            end = re.compile(r"[^\\]\n").search(text, at).end()
            yield "macro", text[at:end].rstrip("\n"), line
        else:
            end, depth = at, 0
            while True:
                char = text[end]
                if text.startswith("/*", end):
                    end = text.index("*/", end) + 2
                    continue
                depth += (char == "{") - (char == "}")
                end += 1
                if depth == 0 and (char == ";" or
                                   char == "}" and text.startswith("static inline", at)):
                    break
            yield "declaration", text[at:end], line
        at = end


def declaration(c, comment):
    """(Rust outside of extern, Rust inside)"""
    bare = " ".join(without_comments(c).split()).rstrip(";").strip()
    opaque = re.fullmatch(r"typedef struct (\w+) \1", bare)
    if opaque:
        return doc(comment) + "#[repr(C)]\npub struct %s {\n    _opaque: [u8; 0],\n" \
            "    _not_send_or_sync: PhantomData<(*mut u8, PhantomPinned)>,\n}\n" % opaque[1], ""
    whole = re.fullmatch(r"typedef (struct|union|enum) (\w+) \{(.*)\} \2;", c.strip(), re.S)
    if whole and whole[1] == "enum":
        if whole[2] == "kpk_status":
            return "", ""
        return doc(comment) + "pub type %s = c_uint;\n" % whole[2] + \
            "".join(constants(whole[3], whole[2])), ""
    if whole:
        debug = ", Debug" if whole[1] == "struct" else ""
        out = doc(comment) + "#[repr(C)]\n#[derive(Clone, Copy%s)]\npub %s %s {\n" % (debug, whole[1], whole[2])
        LAYOUTS.append((whole[2], [named(name) for name, _ in members(whole[3])]))
        for name, rust in members(whole[3]):
            out += "    pub %s: %s,\n" % (named(name), rust)
        return out + "}\n", ""
    loose = re.fullmatch(r"enum \{(.*)\};", c.strip(), re.S)
    if loose:
        return doc(comment) + "".join(constants(loose[1], "c_uint")), ""
    if bare.startswith("static inline"):
        return "", ""  # inline.rs
    function = re.fullmatch(r"(.*?)(kpk_\w+) ?\((.*)\)", bare)
    if not function:
        raise Refused("'%s'" % bare[:60])
    result = function[1].strip()
    return "", "%s    pub fn %s(%s)%s;\n" % (
        doc(comment, "    "), function[2], parameters(function[3]),
        "" if result == "void" else " -> " + rust_type(result))


def main():
    path = sys.argv[1]
    text = open(path, encoding="utf-8").read()
    # The inner macros behind the C part are no declarations.
    text_c = text[text.index("/* Version"):text.index("#ifdef __cplusplus\n} /* extern")]
    start = text.count("\n", 0, text.index("/* Version"))
    outside, inside, pending, skipped = statuses(text), "", "", 0
    for kind, part, line in tokens(text_c):
        try:
            if kind == "macro":
                directive = re.match(r"#\s*(\w+)", part)[1]
                skipped += directive in ("if", "ifdef", "ifndef")
                skipped -= directive == "endif"
                number = re.fullmatch(r"#define (KPK_(?!I_)\w+) (\d+)", part)
                words = re.fullmatch(r'#define (KPK_(?!I_)\w+) ("[^"]*")', part)
                if number:
                    CHECKED.append(number[1])
                    rust = "c_int" if "VERSION" in number[1] else "usize"
                    outside += doc(pending) + "pub const %s: %s = %s;\n" % (number[1], rust, number[2])
                elif words:
                    outside += "pub const %s: &str = %s;\n" % (words[1], words[2])
                elif "KPK_STREAM_PER_THREAD" in part:
                    outside += "/// The calling thread's own default stream.\n" \
                        "pub const KPK_STREAM_PER_THREAD: *mut c_void = 2 as *mut c_void;\n"
                pending = ""
            elif kind == "comment":
                if not part.startswith(("/* ----", "/* clang-format", "/* NOLINT")):
                    pending = part
            elif not skipped:
                one, other = declaration(part, pending)
                outside, inside, pending = outside + one, inside + other, ""
        except Refused as why:
            sys.exit("%s:%d: not understood: %s" % (path, start + line, why))
    sys.stdout.write(
        "// Made by bindings.py from kpack.h. Do not edit.\n\n"
        "use core::ffi::c_void;\nuse core::marker::{PhantomData, PhantomPinned};\n"
        "use std::os::raw::{c_char, c_int, c_uint};\n\n"
        + outside + "\nextern \"C\" {\n" + inside + "}\n"
        "\n#[cfg(test)]\nlayouts! {\n    "
        + "\n    ".join("%s { %s }" % (name, " ".join(fields)) for name, fields in LAYOUTS)
        + "\n}\n#[cfg(test)]\nconstants! {\n    " + "\n    ".join(CHECKED) + "\n}\n")


main()
