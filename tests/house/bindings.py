#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bindings.py: the table of calls in bindings/README.md has each call of the headers for programs, and each name in it is
there in the sources of its language. A call that a language does not have has its reason in its cell."""
import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADERS = ["rl.h", "rl_flight.h", "rl_counter.h", "rl_ban.h"]
# Where a language says what it has, and what stands before a name there.
SOURCES = {
    "Python": (["bindings/python/rl/*.pyi"], r"(?:(?:def|class) {}\b|^ +{}: bool)"),
    "Node": (["bindings/node/types/index.d.ts"], r"(?:^|function|readonly) *{} *[(<:]"),
    "Ruby": (["bindings/ruby/lib/rl.rb", "bindings/ruby/lib/rl/*.rb", "bindings/ruby/ext/*.c"], r'(?:def (?:self\.)?{}(?![\w?!])|"{}")'),
    "PHP": (["bindings/php/ext/rl.stub.php"], r"(?:function|class) {}\b"),
    "Lua": (["bindings/lua/src/*.c"], r'"{}"'),
    "Perl": (["bindings/perl/lib/RL.pm", "bindings/perl/RL.xs"], r"(?:^sub {}\b|^{}\(|\{{}\}|\b{} => \d)"),
}


def read(*patterns):
    text = ""
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(TOP, pattern))):
            with open(path, encoding="utf-8") as file:
                text += file.read()
    return text


def rows(page):
    """Those of the table below "## The calls": lists of cells."""
    section = re.search(r"^## The calls\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    lines = [line for line in (section.group(1) if section else "").split("\n") if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def calls():
    """The functions that the headers declare, and not those that are written in them."""
    found = set()
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", read(f"include/{header}"), flags=re.S)
        found |= set(re.findall(r"\b(rl_[a-z_]+)\([^;{]*\)\s*[;{]", text))
    return found


def problems():
    table = rows(read("bindings/README.md"))
    if not table:
        yield "bindings/README.md: there is no table below \"## The calls\""
        return
    head, *body = table
    languages = head[1:]
    if languages != list(SOURCES):
        yield f"the table is of {languages}"
    named = set()
    sources = {language: read(*patterns) for language, (patterns, _how) in SOURCES.items()}
    for first, *cells in body:
        named |= set(re.findall(r"rl_[a-z_]+", first))
        if len(cells) != len(languages):
            yield f"{first}: {len(cells)} cells"
        for language, cell in zip(languages, cells):
            names = re.findall(r"`([^`]+)`", cell)
            if not names and len(cell) < 10:
                yield f"{first}: {language} has neither a call nor a reason"
            for name in names:
                if not re.search(SOURCES[language][1].replace("{}", re.escape(name)), sources[language], re.M):
                    yield f"{first}: {language} has no {name}"
    for missing in sorted(calls() - named):
        yield f"{missing}() is in no row"


def main():
    found = list(problems())
    for problem in found:
        print(f"bindings: {problem}")
    if not found:
        print("each call is in the table of bindings, and each name in the sources")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
