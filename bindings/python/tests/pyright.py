#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pyright on the programs of test_types.py, which mypy checks in `make check`: those that are right have no error, and
of the others each line that is wrong has one. It comes by npm, of one version, into a temporary directory: so it is a
part of `make seats`. Exits 77 with the reason where npm has none. Run from the top of the repository.
"""

import json
import os
import subprocess
import sys
import tempfile

VERSION = "1.1.414"
# By program, its lines that are wrong. A comparison that is never true is mypy's --strict alone.
WRONG_LINES = {"mistakes.py": {3, 4, 5, 6, 7}, "wrong.py": {3, 4, 5}}


def install(directory):
    words = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", directory, f"pyright@{VERSION}"]
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except FileNotFoundError:
        return "there is no npm"
    return done.stderr.strip()[-300:] if done.returncode != 0 else ""


def write(directory):
    os.environ["RL_WORK"] = directory
    import test_types

    programs = {f"{name}_user.py": text for name, text in test_types.MODULES.items()}
    programs.update({"program.py": test_types.PROGRAM, "mistakes.py": test_types.MISTAKES, "wrong.py": test_types.WRONG})
    for name, text in programs.items():
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(directory, "pyrightconfig.json"), "w", encoding="utf-8") as file:
        json.dump({"extraPaths": [os.path.abspath("bindings/python")]}, file)
    return sorted(programs)


def errors(tool, directory):
    words = [os.path.join(tool, "node_modules/.bin/pyright"), "--outputjson", "--pythonpath", sys.executable, "-p", directory]
    told = json.loads(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    found = {}
    for one in told["generalDiagnostics"]:
        if one["severity"] == "error":
            lines = found.setdefault(os.path.basename(one["file"]), {})
            lines[one["range"]["start"]["line"] + 1] = one["message"].splitlines()[0]
    return told["summary"]["filesAnalyzed"], found


def main():
    with tempfile.TemporaryDirectory() as tool, tempfile.TemporaryDirectory() as directory:
        why = install(tool)
        if why:
            print(f"without pyright: {why}")
            sys.exit(77)
        programs = write(directory)
        count, found = errors(tool, directory)
    is_good = count == len(programs)
    for name in programs:
        lines = found.get(name, {})
        if set(lines) == WRONG_LINES.get(name, set()):
            continue
        is_good = False
        print(f"{name}: errors in lines {sorted(lines.items())}, {sorted(WRONG_LINES.get(name, set()))} expected")
    print(f"pyright {VERSION}: {count} programs")
    sys.exit(not is_good)


main()
