#!/usr/bin/env python3
"""unicode_ranges.py - prints unicode_ranges.h: which code points are letters,
marks, numbers, punctuation and symbols, by the Unicode data of this Python."""
import sys
import unicodedata


def ranges(category):
    found, first = [], None
    for code in range(0x110001):
        inside = code < 0x110000 and unicodedata.category(chr(code))[0] == category
        if inside and first is None:
            first = code
        elif not inside and first is not None:
            found.append((first, code - 1))
            first = None
    return found


def table(name, category):
    rows = ["{0x%x, 0x%x}" % r for r in ranges(category)]
    lines, line = [], "   "
    for row in rows:
        if len(line) + len(row) + 2 > 80:
            lines.append(line)
            line = "   "
        line += " " + row + ","
    return "static const struct code_range %s[] = {\n%s\n};\n" % (
        name, "\n".join(lines + [line]))


print("""/* unicode_ranges.h - categories of Unicode %s: do not edit, unicode_ranges.py
 * prints it */
#ifndef MODEL_UNICODE_RANGES_H
#define MODEL_UNICODE_RANGES_H

#include <stdint.h>

struct code_range {
    uint32_t first, last;
};

/* clang-format off */""" % unicodedata.unidata_version)
for name in ("letters", "marks", "numbers", "punctuation"):
    print(table(name, name[0].upper()))
sys.stdout.write(table("symbols", "S"))
print("""/* clang-format on */

#endif""")
