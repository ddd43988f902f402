#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each core of an adapter is short, uses public headers alone, and keeps nothing of its own.

An adapter of an application is a program like any other: what it needs is in these headers, and keys,
counts and bans are in the segment. Run from the top.
"""
import glob
import os
import re
import sys

LINES = 150  # fewer, of each file
PUBLIC = {"rl.h", "rl_admin.h", "rl_counter.h", "rl_http.h"}
STANDARD = {"errno.h", "inttypes.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "string.h"}


def cores():
    for path in sorted(glob.glob("tests/adapters/*.[ch]")):
        if not os.path.basename(path).startswith("test_"):
            yield path


def complaints(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    lines = text.count("\n")
    if lines >= LINES:
        yield f"{lines} lines; fewer than {LINES} are allowed"
    for name in re.findall(r'^\s*#\s*include\s*[<"]([^">]+)[">]', text, re.M):
        own = os.path.join("tests/adapters", os.path.basename(name))
        if name not in PUBLIC | STANDARD and not os.path.isfile(own):
            yield f"includes {name}"
    for name in re.findall(r"\b(malloc|calloc|realloc|mmap)\(", text):
        yield f"keeps memory of its own: {name}()"
    for line in re.findall(r"^(?:static|struct|u?int\w*)\b[^(\n]*[;=].*$", text, re.M):
        if not re.match(r"static const\b", line):
            yield f"keeps a variable: {line}"


def main():
    paths = list(cores())
    found = [f"{path}: {text}" for path in paths for text in complaints(path)]
    print("\n".join(found) if found else f"{len(paths)} files, each on public headers alone")
    return 1 if found or not paths else 0


sys.exit(main())
