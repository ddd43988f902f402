#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What documents and comments mention is there: each file of rl, and each identifier of the library.
Run from the top.
"""
import os
import re
import sys

FILE = re.compile(r"(?<![\w/.<\"-])((?:[\w.-]+/)*[\w-]+\.(?:c|h|def|pml|cpp|bats|sh|py|bash))\b")
IDENTIFIER = re.compile(r"\b(?:rl|RL)_\w*[a-zA-Z0-9]\b")
EXAMPLES = {"web.c", "recipe.py"}  # what documents have their reader write
DOCUMENTS = re.compile(r"^(README\.md|tests/README\.md|docs/(?!CHANGELOG).*\.md)$")
SOURCES = re.compile(r"^(libshm|rlctl|config|rld|include|servers|tests|examples)/.*\.([ch]|cpp|pml)$")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def files_missing(path, text, files):
    names = {os.path.basename(f) for f in files} | EXAMPLES
    for name in sorted({name.removeprefix("../") for name in FILE.findall(text)}):
        whole = [f for f in files if f == name or f.endswith("/" + name)]
        if (name not in names) if "/" not in name else not whole:
            yield f"{path}: there is no file {name}"


def code(path):
    return COMMENT.sub("", read(path)) if SOURCES.match(path) else read(path)


def identifiers_missing(path, text, known):
    for name in sorted(set(IDENTIFIER.findall(text))):
        if name not in known and not any(k.startswith(name + "_") for k in known):
            yield f"{path}: nothing is called {name}"


def main():
    files = sorted(os.path.relpath(os.path.join(at, name)) for at, _, names in os.walk(".") for name in names)
    files = [f for f in files if not f.startswith(("build/", ".git/"))]
    known = set()
    for path in files:
        if SOURCES.match(path) or path.endswith((".def", ".map", ".bats", ".sh", "Makefile")):
            known |= set(IDENTIFIER.findall(code(path)))
    missing, seen = [], 0
    for path in files:
        if DOCUMENTS.match(path):
            text = read(path)
        elif SOURCES.match(path):
            text = "\n".join(COMMENT.findall(read(path)))
        else:
            continue
        seen += len(FILE.findall(text))
        missing += list(files_missing(path, text, files)) + list(identifiers_missing(path, text, known))
    print("\n".join(missing) if missing else f"{seen} files are mentioned, all of them there")
    return 1 if missing or seen < 100 else 0


sys.exit(main())
