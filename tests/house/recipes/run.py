#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The recipes of docs/CONTRIBUTING.md for an algorithm, a counter and options of a limit and of a segment, in a copy.

Those that nobody needs are added at the places that the recipes name. No other file than those is touched, and of those
there are no more than seven, two, eight and seven. Then the library is built of the copy, without optimisation, and the
tests of all run; without the line that counts the counter, its test names it, and once seats are to have the segment's
option, the seats that do not tell of it are named.

    run.py                                   all that
    run.py algorithm|counter|option|segment  the addition alone, to the tree in which it is run: git diff shows it
"""
import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
COPIED = ["include", "libshm", "config", "rlctl", "rld", "servers", "bindings", "examples", "tests", "man", "docs"]
TESTS = ["build/tests/unit/algorithm/test_rest_window", "build/tests/unit/decide/test_counted",
         "build/tests/unit/decide/test_no_retry", "build/tests/unit/segment/test_stripes"]
# Some that hold for every algorithm or option, and take an added one in by themselves.
GENERAL = [f"build/tests/unit/{name}" for name in ("admin/test_admin", "decide/test_promises", "rule/test_rule_check", "rule/test_fields",
                                                    "bindings/test_dictionaries", "servers/test_directive")]
UNSEATED = 'RL_FIELD_NOT_IN_BINDINGS | RL_FIELD_NOT_IN_DIRECTIVES, "of the machine, not of a program",'
COUNT = "\t\trl_stats_add(&rl->segment, rule, RL_COUNT_reset_alone);\n"


class Failure(Exception):
    pass


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def change(path, pattern, put):
    """Replace the one place that matches; `put` is as of re.sub()."""
    text, count = re.subn(pattern, put, read(path), flags=re.S)
    if count != 1:
        raise Failure(f"{path}: {count} places are like {pattern!r}: the recipe's place has moved, "
                      "mend tests/house/recipes/run.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def add_algorithm():
    shutil.copy(f"{HERE}/rest_window.c", "libshm/algorithm/rest_window.c")
    shutil.copy(f"{HERE}/test_rest_window.c", "tests/unit/algorithm/test_rest_window.c")
    change("include/rl.h", r"(\t(RL_\w+) = (\d+),(?: [^\n]*)?\n\};\n#define RL_ALGORITHM_LAST )\2\n",
           lambda m: m[1].replace("\n};", f"\n\tRL_REST_WINDOW = {int(m[3]) + 1}, "
                                  "/* begins anew with each charge */\n};") + "RL_REST_WINDOW\n")
    change("libshm/algorithm/rl_algorithms.def", r"\Z",
           'ALGORITHM(RL_REST_WINDOW, rl_rest_window_ops, "rest_window",\n'
           '          "Counts until nothing was admitted for a window.", RL_HAS_WINDOW | RL_IS_WINDOW, RL_CAPACITY_MAX, 0)\n')
    change("config/rl.schema.json", r'("algorithm": \{\s*"enum": \[[^\]]*)(\],\s*"default")', r'\1, "rest_window"\2')
    change("man/rl.7", r"(\n\.Ss Algorithms\n.*?)(\n\.El\n)",
           r"\1\n.It Cm rest_window\nCounts until nothing was admitted for a window.\2")
    change("docs/LAYOUT.md", r"(\n\| what counts \|.*?\n)(\n)",
           r"\1| rest window, until nothing is charged | cur:28, newest charge low:36, in ns | newest high:27 | 25 |\n\2")


def add_counter():
    change("include/rl_counters.def", r"\Z",
           'RL_COUNTER(reset_alone, "keys", "Keys that were forgotten on request, one by one.")\n')
    change("libshm/reset/reset.c", r"(\t\trl_stats_add\(&rl->segment, rule, RL_COUNT_reset\);\n)",
           lambda m: m[1] + COUNT)


def add_option():
    shutil.copy(f"{HERE}/test_no_retry.c", "tests/unit/decide/test_no_retry.c")
    change("include/rl.h", r"(\n\tuint32_t blind; .*?)(\n\tuint64_t reserved)",
           r"\1\n\tint no_retry;        /* a denial does not say when to come back */\2")
    change("include/rl_limit_fields.def", r"(\nRL_LIMIT_FIELD\(shadow)",
           '\nRL_LIMIT_FIELD(no_retry, "no_retry", FLAG, 0, 1, "", 0, none, "false", RL_FIELD_HOST, "",\n'
           '               "Does not say when a denied request may come back.")\\1')
    change("libshm/shared/layout_rows.h", r"(FLAG\(count_denied, counts_denied, 60\))", r"\1 FLAG(no_retry, has_no_retry, 61)")
    change("libshm/decide/part.h", r"(\n\tif \(verdict == RL_DENIED)(\)\n\t\tr->retry_after_ns = rl_until)",
           r"\1 && !p->quota.has_no_retry\2")
    change("config/rl.schema.json", r'(\n    "count_denied": \{)', r'\n    "no_retry": {"type": "boolean", "default": false},\1')
    text = read("config/rl.schema.json")
    with open("config/rl.schema.json", "w", encoding="utf-8") as file:
        file.write(text.replace('"count_denied": {"$ref": "#/$defs/count_denied"},',
                                '"count_denied": {"$ref": "#/$defs/count_denied"},\n        "no_retry": {"$ref": "#/$defs/no_retry"},'))
    change("man/rl.json.5", r"(\n\.It Cm count_denied\n)", r"\n.It Cm no_retry\nA denial does not say when to come back.\1")
    change("bindings/node/types/index.d.ts", r"(\n  countDenied\?: boolean)", r"\1\n  noRetry?: boolean")


def add_segment_option():
    shutil.copy(f"{HERE}/test_stripes.c", "tests/unit/segment/test_stripes.c")
    change("include/rl.h", r"(\n\tuint32_t changes; [^\n]*)\n\tuint64_t reserved\[2\];",
           r"\1\n\tuint64_t stripes;  /* of counters; 0: one for each CPU */\n\tuint64_t reserved[1];")
    change("include/rl_option_fields.def", r"(RL_OPTION_FIELD\(on_full)",
           f'RL_OPTION_FIELD(stripes, "stripes", COUNT, 1, 1024, "stripes", 0, 0, none, {UNSEATED}\n'
           '                "Stripes of counters, of which a CPU writes one; 0: one for each CPU.")\n\\1')
    change("libshm/segment/geometry.c", r"= stripes_here\(\),", "= o->stripes > 0 ? (uint32_t)o->stripes : stripes_here(),")
    change("config/rl.schema.json", r'(\n        "on_full": \{)',
           r'\n        "stripes": {"type": "integer", "minimum": 1, "maximum": 1024},\1')
    change("man/rl_open.3", r"(\n\.It Fa on_full\n)", r"\n.It Fa stripes\nStripes of counters; default one for each CPU.\1")
    change("man/rl.json.5", r"(\n\.It Cm changes\n)", r"\n.It Cm stripes\nStripes of counters; default one for each CPU.\1")


def files_of_recipe(title):
    """What its numbered steps name first."""
    found = re.search(rf"^### {title}: \w+ files\n(.*?)^##", read(f"{TOP}/docs/CONTRIBUTING.md"), re.M | re.S)
    if not found:
        raise Failure(f"docs/CONTRIBUTING.md has no recipe '### {title}: <number> files'")
    return re.findall(r"^\d+\. `([^`]+)`", found[1], re.M)


def see_touched(title, before, words, most):
    """`words`: what stands in these files' names for <words> of the recipe."""
    touched = {path for path, text in texts().items() if before.get(path) != text}
    promised = {re.sub(r"<(\w+)>", lambda m: words[m[1]], path) for path in files_of_recipe(title)}
    for path in sorted(touched - promised):
        raise Failure(f"{title}: {path} had to be changed, and its recipe does not name it")
    for path in sorted(promised - touched):
        raise Failure(f"{title}: its recipe names {path}, which need not be changed")
    if len(touched) > most:
        raise Failure(f"{title}: {len(touched)} files, more than {most}: {' '.join(sorted(touched))}")
    print(f"{title}: {len(touched)} files: {' '.join(sorted(touched))}")


def texts():
    """What is in each file of the copy."""
    found = {}
    for at, folders, names in os.walk("."):
        folders[:] = [f for f in folders if f != "build"]
        for name in names:
            path = os.path.relpath(os.path.join(at, name))
            with open(path, "rb") as file:
                found[path] = file.read()
    return found


def copy_sources(to):
    shutil.copy(f"{TOP}/Makefile", to)
    for name in COPIED:
        shutil.copytree(f"{TOP}/{name}", f"{to}/{name}", symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))


def run(why, *command, wanted=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if (done.returncode == 0) != (wanted == 0):
        raise Failure(f"{why}: {' '.join(command)}: exit status {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def build(*tests):
    run("what the recipes add does not build", "make", "CFLAGS=-O0 -pipe", "ATOMIC=c11", *tests)


def follow():
    before = texts()
    add_algorithm()
    see_touched("An algorithm", before, {"name": "rest_window"}, 7)
    before = texts()
    add_counter()
    see_touched("A counter", before, {"folder": "reset", "file": "reset"}, 2)
    before = texts()
    add_option()
    see_touched("An option of a limit", before, {"name": "no_retry", "file": "part", "ext": "h"}, 8)
    before = texts()
    add_segment_option()
    see_touched("An option of a segment", before, {"name": "stripes", "file": "geometry"}, 7)


@contextlib.contextmanager
def segment_of_before():
    """Made by the library as it is, for the one with an option more."""
    library, handle = ctypes.CDLL(f"{TOP}/build/librl.so.1"), ctypes.c_void_p()
    name = f"recipe-{os.getpid()}"
    if library.rl_open(name.encode(), None, ctypes.byref(handle)) < 0:
        raise Failure("the library as it is makes no segment")
    os.environ["RL_RECIPE_SEGMENT"] = name
    try:
        yield
    finally:
        library.rl_close(handle)
        library.rl_unlink(name.encode())


def try_all():
    build(*TESTS, *GENERAL)
    for test in TESTS + GENERAL:
        run("what the recipes add is not as a test wants it", test)
    for test in ("tests/config/schema.py", "tests/house/added.py", "tests/house/lists.py"):
        run("what the recipes add lacks a part", test)
    change("libshm/reset/reset.c", re.escape(COUNT), "")
    build(TESTS[1])
    if "reset_alone" not in run("a counter that is not counted is not missed", TESTS[1], wanted=1):
        raise Failure(f"{TESTS[1]} does not name the counter that nothing counts")
    change("include/rl_option_fields.def", re.escape(UNSEATED), '0, "",')
    lacking = run("seats without an option are not missed", "tests/house/lists.py", wanted=1)
    for seat in ("bindings/lua/README.md", "bindings/ruby/README.md", "servers/apache/directives.c", "servers/nginx/README.md"):
        if f"{seat}: no stripes" not in lacking:
            raise Failure(f"tests/house/lists.py does not name {seat}, which does not tell of an option")


def main():
    if len(sys.argv) > 1:
        {"algorithm": add_algorithm, "counter": add_counter, "option": add_option, "segment": add_segment_option}[sys.argv[1]]()
        return 0
    os.environ["RL_TEST_SCALE"] = "quick"
    with tempfile.TemporaryDirectory() as work:
        try:
            copy_sources(work)
            os.chdir(work)
            follow()
            with segment_of_before():
                try_all()
        except Failure as failure:
            print(f"FAILED: {failure}")
            return 1
        finally:
            os.chdir(TOP)
    print("all recipes are true")
    return 0


sys.exit(main())
