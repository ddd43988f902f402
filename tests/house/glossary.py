#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""docs/GLOSSARY.md maps both ways: each pair of its first table stands in its second, and no other; both are in order; and each
word that it says is rl's own is one that the manual or a page uses. Run from the top.
"""
import glob
import re
import sys

PAGE = "docs/GLOSSARY.md"
OTHERS = [path for path in glob.glob("man/*") + glob.glob("docs/*.md") if path not in (PAGE, "docs/CHANGELOG.md", "docs/CONTRIBUTING.md")]


def rows(section):
    table = section.split("|---", 1)[1].split("\n", 1)[1]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.strip().split("\n")]


def bare(text):
    return re.sub(r"[^a-z0-9_-]+", " ", text.lower()).strip()


def words(cell):
    return [word.strip() for word in cell.split(",")]


def main():
    with open(PAGE, encoding="utf-8") as file:
        to_us, from_us = map(rows, file.read().split("\n## ")[1:])
    there = {(other, own) for other, owns, _ in to_us for own in words(owns)}
    back = {(other, own) for own, others in from_us for other in words(others)}
    yield from (f"'{other}' and '{own}' stand in one table alone" for other, own in there ^ back)
    for table in (to_us, from_us):
        firsts = [bare(row[0]) for row in table]
        yield from (f"'{first}' is in the wrong place, or twice" for before, first in zip(firsts, firsts[1:]) if first <= before)
    text = ""
    for path in OTHERS:
        with open(path, encoding="utf-8") as file:
            text += " " + bare(file.read())
    yield from (f"'{own}' is no word of rl" for own in {own for _, own in there} if not re.search(rf"\b{re.escape(bare(own))}", text))


found = list(main())
print("\n".join(f"{PAGE}: {fault}" for fault in found) or "the glossary maps both ways", file=sys.stderr if found else sys.stdout)
sys.exit(bool(found))
