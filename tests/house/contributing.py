#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""docs/CONTRIBUTING.md is true: its tree has all folders, and no other; its names have one meaning each; what it and its
recipes name is there, and a recipe has as many files as its title says.

The recipes for an algorithm and a counter are followed by tests/house/recipes/run.py. Run from the top.
"""
import glob
import os
import re
import sys

PAGE = "docs/CONTRIBUTING.md"
# What is made, or belongs to other programs: not of the tree.
MADE = {"build", ".git", "__pycache__", "node_modules"}
NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()
RECIPES = ("An algorithm", "An option of a limit", "A counter", "A verb of rlctl", "A binding's call")
PATH = re.compile(r"`([\w.<>*-]+(?:/[\w.<>*-]+)+/?|Makefile)(?:`|:)")


def folders():
    """Those of one or two levels that have files in them, or below."""
    found = set()
    for at, inner, names in os.walk("."):
        inner[:] = [f for f in inner if f not in MADE]
        parts = os.path.relpath(at).split("/")
        if names and parts != ["."]:
            found.add("/".join(parts[:2]))
    return found | {f.split("/")[0] for f in found if not f.startswith(".")}


def folders_of_tree(text):
    """A name at four columns is a folder; those at six are in the last one; commas part several."""
    block = re.search(r"^The source tree\..*?\n\n(.*?)\n\n", text, re.M | re.S)
    top = ""
    for line in block[1].split("\n") if block else []:
        m = re.match(r"( {4}| {6})([\w./-]+(?:, [\w./-]+)*)(?:$|  )", line)
        for name in m[2].split(", ") if m else []:
            top = name if len(m[1]) == 4 else top
            yield name if len(m[1]) == 4 else f"{top}/{name}"


def tree_faults(text):
    told, there = list(folders_of_tree(text)), folders()
    for name in sorted({n for n in told if told.count(n) > 1}):
        yield f"the tree has {name} twice"
    for name in sorted(set(told) - there):
        yield f"the tree has {name}, and there is no such folder"
    for name in sorted(there - set(told)):
        yield f"the tree lacks the folder {name}"


def names_of_glossary(text):
    section = re.search(r"^## Names\n(.*?)^## ", text, re.M | re.S)
    for row in re.findall(r"^\| (?!name \||--)([^|]+?) \|", section[1] if section else "", re.M):
        for name in re.split(r", | \(|\)", row.replace("`", "")):
            if name:
                yield name


def glossary_faults(text):
    names = list(names_of_glossary(text))
    for name in sorted({n for n in names if names.count(n) > 1}):
        yield f"the glossary has {name} twice"
    if len(names) < 40:
        yield f"the glossary has {len(names)} names"


def is_there(path):
    """A word such as <verb> is any: some file is like cmd_<verb>.c."""
    return bool(glob.glob(re.sub(r"<\w+>", "*", path)))


def path_faults(text):
    for path in sorted(set(PATH.findall(text))):
        if not is_there(path):
            yield f"there is no {path}"


def recipe_faults(text):
    recipes = dict(re.findall(r"^### ([^\n]+)\n(.*?)(?=^##)", text, re.M | re.S))
    for wanted in RECIPES:
        if not any(title.split(":")[0] == wanted for title in recipes):
            yield f"there is no recipe for {wanted[0].lower()}{wanted[1:]}"
    for title, recipe in recipes.items():
        steps = re.findall(r"^(\d+)\. ", recipe, re.M)
        if steps != [str(n + 1) for n in range(len(steps))]:
            yield f"{title}: the steps are {' '.join(steps)}"
        promised = re.search(r": (\w+) files$", title)
        if promised and NUMBERS[len(steps):len(steps) + 1] != [promised[1]]:
            yield f"{title}: there are {len(steps)} steps"


def main():
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    faults = [f"{PAGE}: {fault}" for look in (tree_faults, glossary_faults, path_faults, recipe_faults) for fault in look(text)]
    print("\n".join(faults) if faults else "the page is true")
    return 1 if faults else 0


sys.exit(main())
