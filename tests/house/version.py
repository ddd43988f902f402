#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The version is that of the Makefile wherever a file of another tool has to say it. Run from the top."""
import re
import sys

PLACES = {
    "debian/changelog": r"^rl \(([^)]*)\)",
    "docs/CHANGELOG.md": r"^## ([0-9.]+) ",
    "README.md": r"\*\*State\*\*: ([0-9.]+)[ ,]",
    "bindings/node/package.json": r'^  "version": "([^"]*)"',
    "bindings/php/ext/php_rl.h": r'^#define PHP_RL_VERSION "([^"]*)"',
    "servers/postgresql/Makefile": r"^DATA = rl--(.*)\.sql$",
    "servers/postgresql/rl.control": r"^default_version = '([^']*)'",
}


def found(path, pattern):
    with open(path, encoding="utf-8") as file:
        match = re.search(pattern, file.read(), re.M)
    return match and match[1]


version = found("Makefile", r"^VERSION *:= *(\S+)")
wrong = [f"{path}: says {there}, and not {version}" for path, there in ((path, found(path, how)) for path, how in PLACES.items())
         if there != version]
# What a release has is in the map under its own number: 0.9 of 0.9.0.
minor = version.rpartition(".")[0]
if found("libshm/api/librl.map", r"^RL_([0-9.]+) \{") != minor:
    wrong.append(f"libshm/api/librl.map: its calls are not RL_{minor}'s")
print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
sys.exit(bool(wrong))
