#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""No line of C is wider than 100 columns: clang-format sees to code, this to comments, which it leaves alone.
Run from the top.
"""
import os
import sys

WIDTH = 100
MADE = {"bindings/php/ext/rl_arginfo.h"}  # by PHP


def columns(line):
    return len(line.expandtabs(8))


def wide(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if columns(line.rstrip("\n")) > WIDTH:
                yield f"{path}:{number}: {columns(line.rstrip(chr(10)))} columns, and {WIDTH} are the most"


def main():
    files = sorted(os.path.relpath(os.path.join(at, name)) for at, _, names in os.walk(".") for name in names)
    paths = [f for f in files if f.endswith((".c", ".h")) and not f.startswith(("build/", ".git/")) and f not in MADE]
    problems = [problem for path in paths for problem in wide(path)]
    if columns("\t" * 12 + "12345") != WIDTH + 1:
        problems.append("a tab is not 8 columns")
    for problem in problems:
        print(problem)
    print(f"{len(paths)} files, {len(problems)} problems")
    return 1 if problems or len(paths) < 500 else 0


sys.exit(main())
