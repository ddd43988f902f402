#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What is added has all its parts: a counter is counted, a verb has its file and is tried.

That something brings a counter about, and that it is shown, tests/unit/decide/test_counted.c asks of each.
What a verb lacks in help, manual and schema, tests/cli names; what an algorithm lacks, the compiler
and tests/config/schema.py. Run from the top.
"""
import glob
import re
import sys


def read(*patterns):
    text = ""
    for pattern in patterns:
        for path in sorted(glob.glob(pattern)):
            with open(path, encoding="utf-8") as file:
                text += file.read()
    return text


def counters():
    library = read("libshm/*/*.[ch]")
    for name in re.findall(r"^RL_COUNTER\((\w+),", read("include/rl_counters.def"), re.M):
        if not re.search(rf"\bRL_COUNT_{name}\b", library):
            yield f"counter {name}: libshm never counts it"


def verbs():
    sources, tests = read("rlctl/*/*.c"), read("tests/cli/*.bats")
    for name in re.findall(r"^VERB\((\w+),", read("rlctl/base/verbs.def"), re.M):
        if not re.search(rf"^run_{name}\(", sources, re.M):
            yield f"verb {name}: no file has run_{name}()"
        if not re.search(rf"\b(on|rlctl|RLCTL\"?|list_on \d+) +(-\S+ +\S+ +)*{name}\b", tests):
            yield f"verb {name}: no test of tests/cli runs it"
    for verb, name in re.findall(r"^SUBVERB\((\w+), (\w+),", read("rlctl/base/verbs.def"), re.M):
        if not re.search(rf"\b{verb} +(-\S+ +\S+ +)*{name}\b", tests):
            yield f"verb {verb} {name}: no test of tests/cli runs it"


def main():
    missing = list(counters()) + list(verbs())
    print("\n".join(missing) if missing else "all parts are there")
    return 1 if missing else 0


sys.exit(main())
