#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""figures.py REPORT.json [TOP]: put what `bench --save` has told into README.md and docs/NUMBERS.md, so that nobody types a figure.

figures.md has a block of text for each place "<!-- figures NAME -->" of a document, which goes on to
"<!-- end -->". In a block,

    {section.row}           is the row's value, and {section.row WHAT} its ratio, its medians, its target, or
                            whether that is met; or the value in us, ms, s
    {table section}         is a table of the section's rows; {table section row...} of those; that of costs
                            has lines and instructions beside, of lanes whose lines and instructions are known
    {machine}, {rounds}     are what they say

A block about a section that the report has not is left as it is, and told of: a part of the sections can be run anew.
"""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BLOCK = re.compile(r"^## (\S+) (\S+)\n(.*?)(?=^## |\Z)", re.M | re.S)
SCALES = {"us": 1e3, "ms": 1e6, "s": 1e9}


class Missing(Exception):
    """A section that was not run."""


def number(value):
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def ratio(value):
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def medians(row):
    if "high" not in row:
        return ""
    low, high = ratio(row["low"]), ratio(row["high"])
    return low if low == high else f"{low} to {high}"


def target(row):
    return f"{'at least ' if row['is_at_least'] else ''}{row['target']:g}" if "target" in row else ""


def met(row):
    if "target" not in row:
        return ""
    return "met" if row["is_met"] else "met at best" if row["is_met_at_best"] else "missed"


def read_instructions(path):
    """What profile.sh has printed, if it was asked: a lane and its instructions on each line."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {lane: number(int(count)) for lane, count in (line.split() for line in file)}


class Report:
    def __init__(self, report, instructions):
        self.report = report
        self.sections = {s["id"]: s for s in report["sections"]}
        lines = {r["id"]: number(r["value"]) for r in self.sections.get("lines", {"rows": []})["rows"]}
        self.beside = {"costs": {"lines": lines, "instructions": instructions}}

    def section(self, name):
        if name not in self.sections:
            raise Missing(name)
        return self.sections[name]

    def row(self, section, name):
        for row in self.section(section)["rows"]:
            if row["id"] == name:
                return row
        sys.exit(f"figures: section '{section}' has no row '{name}'")

    def figure(self, section, name, what):
        row = self.row(section, name)
        if what in SCALES:
            return number(round(row["value"] / SCALES[what], 1))
        if what == "medians" and "high" not in row or what == "ratio" and "ratio" not in row:
            sys.exit(f"figures: {section}.{name} has no {what}")
        return {None: lambda r: number(r["value"]), "ratio": lambda r: ratio(r["ratio"]),
                "medians": medians, "target": target, "met": met}[what](row)

    def table(self, section, names):
        rows = [self.row(section, n) for n in names] or self.section(section)["rows"]
        to = {r["to"] for r in rows if "to" in r}
        beside = to.pop() if len(to) == 1 else ""
        heads = [" ", rows[0]["unit"], f"beside {beside}" if beside else "beside", "medians", "target", " "]
        more = self.beside.get(section, {})
        lines = []
        for row in rows:
            unit = "" if row["unit"] == heads[1] else f" {row['unit']}"
            other = f" {row['to']}" if "to" in row and not beside else ""
            lines.append([row["label"], number(row["value"]) + unit,
                          f"{ratio(row['ratio'])}{other}" if "ratio" in row else "",
                          medians(row), target(row), met(row), *(column.get(row["id"], "") for column in more.values())])
        heads += more
        keep = [i for i in range(len(heads)) if i < 2 or any(line[i] for line in lines)]
        table = [[heads[i] for i in keep], ["---" if i in (0, 5) else "--:" for i in keep]]
        table += [[line[i] for i in keep] for line in lines]
        return "\n".join(f"| {' | '.join(line)} |" for line in table)

    def fill(self, text):
        machine = self.report["machine"]
        text = text.replace("{machine}", f"{machine['cpu']}, {machine['cpus']} CPUs, Linux {machine['kernel']}")
        text = text.replace("{rounds}", str(self.report["rounds"]))
        text = re.sub(r"\{table (\w+)((?: \w+)*)\}", lambda m: self.table(m[1], m[2].split()), text)
        return re.sub(r"\{(\w+)\.(\w+)(?: (\w+))?\}", lambda m: self.figure(m[1], m[2], m[3]), text)


def put(path, name, text):
    with open(path, encoding="utf-8") as file:
        document = file.read()
    place = re.compile(rf"(<!-- figures {name} -->\n).*?(<!-- end -->\n)", re.S)
    document, count = place.subn(lambda m: m[1] + text + m[2], document)
    if count != 1:
        sys.exit(f"figures: {path} has {count} places for {name}, not one")
    with open(path, "w", encoding="utf-8") as file:
        file.write(document)


def main():
    top = sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "../..")
    with open(sys.argv[1], encoding="utf-8") as file:
        report = Report(json.load(file), read_instructions(os.path.join(os.path.dirname(sys.argv[1]), "profile.txt")))
    with open(os.path.join(HERE, "figures.md"), encoding="utf-8") as file:
        blocks = BLOCK.findall(file.read())
    for path, name, text in blocks:
        try:
            put(os.path.join(top, path), name, report.fill(text.strip("\n") + "\n"))
        except Missing as section:
            print(f"figures: {path} keeps its {name}: section {section} was not run")


main()
