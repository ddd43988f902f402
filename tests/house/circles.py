#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""No circle of files, and none of folders: what a file needs can be read before it.

A module is X.c with X.h. It uses another whose header it includes, and, for a header may declare what
several files define, one that defines a symbol that its object lacks. A folder uses another if a
module in it does. Run by `make check`, from the top, after `make`.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

# Where the includes of each tree are looked for, besides the folder of the file that has them.
ROOTS = {
    "libshm": ["libshm"],
    "config": ["config"],
    "rlctl": ["rlctl", "config", "rld"],
    "rld": ["rld", "config"],
}
OBJECTS = "build/o/"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)


def module(path):
    return os.path.splitext(path)[0]


def resolve(path, name):
    """The file of the trees that `path` includes by that name, or None: it is a header of others."""
    for root in [os.path.dirname(path)] + ROOTS[path.split("/")[0]]:
        found = os.path.normpath(os.path.join(root, name))
        if os.path.isfile(found):
            return found
    return None


def add(graph, mine, other, why):
    graph.setdefault(mine, {})
    if other is not None and other != mine:
        graph[mine].setdefault(other, why)


def add_includes(graph, tree):
    for path in sorted(glob.glob(tree + "/**/*.[ch]", recursive=True)):
        with open(path, encoding="utf-8") as file:
            names = INCLUDE.findall(file.read())
        add(graph, module(path), None, "")
        for name in names:
            found = resolve(path, name)
            add(graph, module(path), found and module(found), f"includes {name}")


def symbols(modules):
    """module -> what its object defines, and what it lacks"""
    out = {m: (set(), set()) for m in modules}
    if not modules:
        return out
    objects = [OBJECTS + m + ".o" for m in modules]
    text = subprocess.run(["nm", "-A"] + objects, check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        path, rest = line.split(":", 1)
        kind, name = rest.split()[-2:]
        if kind.isupper():
            out[path[len(OBJECTS):-len(".o")]][kind == "U"].add(name)
    return out


def add_symbols(graph):
    # One whose source is gone is left from an earlier build.
    objects = symbols([m for m in graph if os.path.isfile(OBJECTS + m + ".o") and os.path.isfile(m + ".c")])
    home = {(m.split("/")[0], name): m for m, (defined, _) in objects.items() for name in defined}
    for mine, (_, lacking) in objects.items():
        for name in sorted(lacking):
            add(graph, mine, home.get((mine.split("/")[0], name)), f"uses {name}()")


def folders(graph):
    out = {}
    for mine, used in graph.items():
        for other, why in list(used.items()) + [(mine, "")]:
            add(out, os.path.dirname(mine), os.path.dirname(other), f"{os.path.basename(mine)} {why}")
    return out


def way(graph, start):
    """The shortest way from a node back to it, or None."""
    before, todo = {}, [start]
    for node in todo:
        for other in graph.get(node, ()):
            if other == start:
                steps = [node]
                while steps[0] != start:
                    steps.insert(0, before[steps[0]])
                return steps + [start]
            if other not in before:
                before[other] = node
                todo.append(other)
    return None


def reach(graph, start):
    seen, todo = set(), [start]
    for node in todo:
        new = graph.get(node, {}).keys() - seen
        seen |= new
        todo.extend(new)
    return seen


def circles(graph):
    """Each set of nodes that reach each other."""
    reached = {node: reach(graph, node) for node in graph}
    return {frozenset(o for o in reached[n] if n in reached.get(o, ())) for n in graph if n in reached[n]}


def tell(graph, circle):
    steps = min((way(graph, node) for node in sorted(circle)), key=len)
    print("a circle of " + ", ".join(sorted(circle)) + ":")
    for mine, other in zip(steps, steps[1:]):
        print(f"    {mine}: {graph[mine][other]}, of {other}")


def search(trees):
    """[(graph, circle)] of the files and folders of the working directory."""
    files = {}
    for tree in trees:
        add_includes(files, tree)
    add_symbols(files)
    return [(graph, circle) for graph in (files, folders(files)) for circle in circles(graph)]


def make(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def can_find():
    """Is a circle found, where there is one of files and one of folders, none of which is the other?"""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as top:
        os.chdir(top)
        make("libshm/a/one.h", '#include "a/two.h"\n')
        make("libshm/a/two.c", '#include "one.h"\n#include "list.def"\n')
        make("libshm/a/list.def", "")
        make("libshm/a/two.h", "")
        make("libshm/b/three.c", '#include "a/two.h"\n')
        make("libshm/b/four.h", "")
        make("libshm/a/five.c", "#include <b/four.h>\n")
        found = {circle for _, circle in search(["libshm"])}
        os.chdir(here)
    return found == {frozenset({"libshm/a/one", "libshm/a/two"}), frozenset({"libshm/a", "libshm/b"})}


def main():
    if not os.path.isfile(OBJECTS + "rlctl/main.o"):
        print("needs the objects of `make`")
        return 1
    if not can_find():
        print("a circle that was made is not found")
        return 1
    found = search(ROOTS)
    for graph, circle in found:
        tell(graph, circle)
    return 1 if found else 0


sys.exit(main())
