#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""No circle of files, and none of folders: what a file needs can be read before it.

A module is X.c with X.h, or a file of another language. It uses another whose header it includes, or that
it asks for in its language's words, and, for a header may declare what several files define, one that
defines a symbol that its object lacks. Of bindings and servers, which their languages build, the text
says what is defined and used. A folder uses another if a module in it does. Run by `make check`, from the
top, after `make`.
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
ADAPTERS = ["bindings", "servers"]  # each folder of theirs is a tree
OBJECTS = "build/o/"
INCLUDE = r'^\s*#\s*include\s*[<"]([^">]+)[">]'
# What a file says that it uses, and the folder of the tree in which that is looked for.
USES = {
    ".c": (INCLUDE, "src"),
    ".h": (INCLUDE, "src"),
    ".js": (r"\brequire\('(\.[^']+)'\)", "lib"),
    ".lua": (r"""\brequire\(?\s*["']([\w.]+)["']""", "lib"),
    ".php": (r"^use Rl\\([\w\\]+);", "src"),
    ".pm": (r"^use ([\w:]+)", "lib"),
    ".py": (r"^\s*from \.(?= import (\w+)|(\w+))", "rl"),
    ".rb": (r'^\s*require "([^"]+)"', "lib"),
}
COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
FUNCTION = re.compile(r"^(?!static)[A-Za-z][\w *]*\n(\w+)\([^;{]*\)\n\{", re.M)
WORD = re.compile(r"(?<![\w.>])[A-Za-z_]\w*")


def module(path):
    return os.path.splitext(path)[0]


def tree_of(path):
    parts = path.split("/")
    return "/".join(parts[:2 if parts[0] in ADAPTERS else 1])


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def resolve(path, name):
    """The file of the trees that `path` uses by that name, or None: it is of others."""
    tree, suffix = tree_of(path), os.path.splitext(path)[1]
    if suffix not in (".c", ".h", ".js"):
        name = re.sub(r"\W+", "/", name) + suffix
    for root in [os.path.dirname(path)] + ROOTS.get(tree, [tree, f"{tree}/{USES[suffix][1]}", "bindings/common"]):
        found = os.path.normpath(os.path.join(root, name))
        if os.path.isfile(found):
            return found
    return None


def add(graph, mine, other, why):
    graph.setdefault(mine, {})
    if other is not None and other != mine:
        graph[mine].setdefault(other, why)


def add_includes(graph, tree):
    for path in sorted(glob.glob(tree + "/**/*", recursive=True)):
        suffix = os.path.splitext(path)[1]
        if suffix not in USES or "/tests/" in path:
            continue
        add(graph, module(path), None, "")
        for found in re.finditer(USES[suffix][0], read(path), re.M):
            name = found[found.lastindex]
            other = resolve(path, name)
            add(graph, module(path), other and module(other), f"includes {name}")


def symbols_of_objects(modules):
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


def symbols_of_text(path):
    """The functions that it defines, and all the words that are no members."""
    text = COMMENT.sub(" ", read(path))
    return set(FUNCTION.findall(text)) - {"main"}, set(WORD.findall(text))


def add_symbols(graph):
    sources = [m for m in graph if os.path.isfile(m + ".c")]  # of one whose source is gone, an object may be left
    objects = symbols_of_objects([m for m in sources if os.path.isfile(OBJECTS + m + ".o")])
    objects |= {m: symbols_of_text(m + ".c") for m in sources if m.split("/")[0] in ADAPTERS}
    home = {(tree_of(m), name): m for m, (defined, _) in objects.items() for name in defined}
    for mine, (_, lacking) in objects.items():
        for name in sorted(lacking):
            add(graph, mine, home.get((tree_of(mine), name)), f"uses {name}()")


def folders(graph):
    out = {}
    for mine, used in graph.items():
        for other, why in list(used.items()) + [(mine, "")]:
            add(out, folder(mine), folder(other), f"{os.path.basename(mine)} {why}")
    return out


def folder(module):
    """A script that has a folder of its name, as rl.rb, is the door of that."""
    is_door = os.path.isdir(module) and not os.path.isfile(module + ".h")
    return module if is_door else os.path.dirname(module)


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


# Files, and the circles among them: none is another.
MADE = {
    "libshm/a/one.h": '#include "a/two.h"\n',
    "libshm/a/two.c": '#include "one.h"\n#include "list.def"\n',
    "libshm/a/list.def": "",
    "libshm/a/two.h": "",
    "libshm/b/three.c": '#include "a/two.h"\n',
    "libshm/b/four.h": "",
    "libshm/a/five.c": "#include <b/four.h>\n",
    "servers/x/one.c": "int\none(void)\n{\n\treturn two();\n}\n",
    "servers/x/two.c": "int\ntwo(void)\n{\n\treturn one(); /* three() */\n}\n",
    "servers/x/three.c": "static int\ntwo(void)\n{\n}\n\nint\nthree(void)\n{\n\treturn a.one + a->two;\n}\n",
    "servers/x/four.c": "int\nfour(void)\n{\n\treturn three();\n}\n",
    "bindings/js/lib/one.js": "const { two } = require('./two.js')\n",
    "bindings/js/lib/two.js": "const { one } = require('./one.js')\n",
    "bindings/lua/lib/rl/one.lua": 'local two = require "rl.two"\n',
    "bindings/lua/lib/rl/two.lua": 'local one = require("rl.one")\n',
    "bindings/php/src/A/One.php": "use Rl\\Two;\n",
    "bindings/php/src/Two.php": "use Rl\\A\\One;\n",
    "bindings/perl/lib/One.pm": "use A::Two;\n",
    "bindings/perl/lib/A/Two.pm": "use One ();\n",
    "bindings/python/rl/_one.py": "from ._two import two\n",
    "bindings/python/rl/_two.py": "def f():\n    from . import _one\n",
    "bindings/ruby/lib/rl/one.rb": 'require "rl/two"\n',
    "bindings/ruby/lib/rl/two.rb": 'require "rl/one"\n',
}
CIRCLES = {("libshm/a/one", "libshm/a/two"), ("libshm/a", "libshm/b"), ("servers/x/one", "servers/x/two"),
           ("bindings/js/lib/one", "bindings/js/lib/two"), ("bindings/lua/lib/rl/one", "bindings/lua/lib/rl/two"),
           ("bindings/php/src/A/One", "bindings/php/src/Two"), ("bindings/php/src/A", "bindings/php/src"),
           ("bindings/perl/lib/One", "bindings/perl/lib/A/Two"), ("bindings/perl/lib", "bindings/perl/lib/A"),
           ("bindings/python/rl/_one", "bindings/python/rl/_two"), ("bindings/ruby/lib/rl/one", "bindings/ruby/lib/rl/two")}


def can_find():
    """Is each circle found that was made, and no other?"""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as top:
        os.chdir(top)
        for path, text in MADE.items():
            make(path, text)
        found = {circle for _, circle in search(trees())}
        os.chdir(here)
    return found == {frozenset(circle) for circle in CIRCLES}


def trees():
    return [t for t in ROOTS if os.path.isdir(t)] + sorted(t for a in ADAPTERS for t in glob.glob(a + "/*") if os.path.isdir(t))


def main():
    if not os.path.isfile(OBJECTS + "rlctl/main.o"):
        print("needs the objects of `make`")
        return 1
    if not can_find():
        print("a circle that was made is not found, or one that was not")
        return 1
    found = search(trees())
    for graph, circle in found:
        tell(graph, circle)
    return 1 if found else 0


sys.exit(main())
