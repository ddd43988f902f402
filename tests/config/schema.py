#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The schema accepts what rlctl accepts, and refuses what rlctl refuses, as far as a schema can;
and the manual explains each of its fields. What a segment holds at most, and by default, is in rl_bounds.h;
the schema and the manuals say the same. The schema and rl(7) know every algorithm of libshm/algorithm/rl_algorithms.def.

good and warning: both accept. bad: both refuse. meaning: only rlctl can tell. Every file of bad
breaks the schema at more than one place if it is several mistakes: each top-level rule in it is
tried alone, too.
"""

import glob
import json
import os
import re
import sys

import jsonschema

here = os.path.dirname(os.path.abspath(__file__))
top = os.path.join(here, "..", "..")
failures = 0


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def see(path, is_valid, wanted, errors=""):
    global failures
    if is_valid != wanted:
        failures += 1
        print(f"{path}: the schema {'accepts' if is_valid else 'refuses'} it {errors}")


def fields(node):
    """Names of all fields that a schema has."""
    names = set()
    if isinstance(node, dict):
        names |= set(node.get("properties") or {})
        for child in node.values():
            names |= fields(child)
    elif isinstance(node, list):
        for child in node:
            names |= fields(child)
    return names


def see_manual(schema):
    """Each of them is explained by the manual page."""
    global failures
    with open(os.path.join(top, "man", "rl.json.5"), encoding="utf-8") as file:
        page = file.read()
    for name in sorted(fields(schema)):
        if not re.search(rf"^\.(It )?Cm (.* )?{re.escape(name)}( |$)", page, re.MULTILINE):
            failures += 1
            print(f"rl.json.5 does not explain {name}")


def see_algorithms(schema):
    """The schema and rl(7) know the algorithms that libshm/algorithm/rl_algorithms.def has."""
    global failures
    texts = {path: open(os.path.join(top, path), encoding="utf-8").read() for path in (
        "libshm/algorithm/rl_algorithms.def", "man/rl.7")}
    names = re.findall(r'ALGORITHM\(\w+, \w+, "(\w+)"', texts.pop("libshm/algorithm/rl_algorithms.def"))
    texts["config/rl.schema.json"] = json.dumps(schema)
    for name in names:
        for path, text in texts.items():
            if not re.search(rf"\b{name}\b", text):
                failures += 1
                print(f"{path} does not have {name}")
    if len(names) < 5:
        failures += 1
        print("there are not all algorithms in rl_algorithms.def")


def numbers():
    """(most, default) of each size of a segment, as rl_bounds.h has them."""
    with open(os.path.join(top, "include", "rl_bounds.h"), encoding="utf-8") as file:
        found = dict(re.findall(r"^#define RL_(\w+_(?:MAX|DEFAULT)) (?:UINT32_C\()?(\d+)\b", file.read(), re.MULTILINE))
    names = {"key_bytes": "KEY_BYTES_DEFAULT KEY_MAX"}
    for name in ("keys", "ring", "rules", "overrides", "bans"):
        names[name] = f"{name.upper()}_DEFAULT {name.upper()}_MAX"
    return {name: [int(found[word]) for word in words.split()] for name, words in names.items()}


def paragraph(page, name):
    """What a manual says below the field's name, its numbers without commas."""
    with open(os.path.join(top, "man", page), encoding="utf-8") as file:
        text = re.sub(r"(?<=\d),(?=\d)", "", file.read())
    text = text.split("\n.Ss segment\n")[-1]
    return re.split(r"^\.(?:It|El)\b", re.split(rf"^\.It (?:Cm|Fa) {name}$", text, 1, re.MULTILINE)[1], 1, re.MULTILINE)[0]


def see_numbers(schema):
    global failures
    fields_of = schema["$defs"]["segment"]["properties"]
    for name, wanted in numbers().items():
        said = {"schema": [fields_of[name].get("default"), fields_of[name].get("maximum")]}
        for page in ("rl.json.5", "rl_open.3"):
            words = re.findall(r"\d+", paragraph(page, name))
            said[page] = [n if str(n) in words else None for n in wanted]
        for where, found in said.items():
            if found != wanted:
                failures += 1
                print(f"{where} has other numbers than rl_bounds.h's {wanted} for {name}")


def main():
    schema = load(os.path.join(top, "config", "rl.schema.json"))
    kind = jsonschema.Draft202012Validator
    kind.check_schema(schema)
    validator = kind(schema)
    count = 0
    good = [os.path.join(top, "config", "rl.json")]
    for name, wanted in (("good", True), ("warning", True), ("meaning", True), ("bad", False)):
        files = sorted(glob.glob(os.path.join(here, name, "*.json")))
        for path in files + (good if name == "good" else []):
            text = load(path)
            errors = "" if not wanted else [e.message for e in validator.iter_errors(text)][:3]
            see(path, validator.is_valid(text), wanted, errors)
            count += 1
            if name != "bad" or not isinstance(text, dict):
                continue
            for section in ("rules", "keys"):
                for member, value in (text.get(section) or {}).items():
                    part = {section: {member: value}}
                    see(f"{path} {section}/{member}", validator.is_valid(part), False)
                    count += 1
    see_manual(schema)
    see_numbers(schema)
    see_algorithms(schema)
    print(f"{count} files and parts, {failures} failures")
    return 1 if failures or count < 40 else 0


sys.exit(main())
