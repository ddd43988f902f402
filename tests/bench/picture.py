#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""picture.py FILE: three panels of what `bench --save FILE` has told, as SVG for light pages and dark ones.

    +--------------------------------------------------+
    | beside what people use: bars, logarithmic        |
    +------------------------+-------------------------+
    | a hot key, the floor   | keys in the table       |
    +------------------------+-------------------------+
"""
import html
import json
import math
import sys

WIDTH, HEIGHT, ROW, BAR, LINE = 860, 590, 28, 16, 15
PEERS, PEERS_LEFT = "spread_2_", 250
LOWER, RIGHT = 340, 450
STACKS = [("clock, hash, CAS16", ("clock", "floor"), "floor"), ("admitted", ("admit_clock",), "ours"),
          ("hash, CAS16", ("floor",), "floor"), ("admitted, own clock", ("admit",), "ours"),
          ("denied, own clock", ("deny",), "ours")]
CURVES = [("one at a time", "one", "ours"), ("in batches of 32", "batch", "theirs"), ("CAS16 alone", "floor", "floor")]
SIZES = [("1k", 0), ("100k", 2), ("1M", 3), ("10M", 4)]
# What each look is on a light page, in attributes, for some sites take <style> out of pictures; and on a dark one.
LOOKS = {"ink": ("#1f2328", "#f0f6fc"), "faint": ("#59636e", "#9198a1"), "grid": ("#d1d9e0", "#3d444d"),
         "ours": ("#0969da", "#58a6ff"), "theirs": ("#9aa4af", "#656c76"), "floor": ("#bc6c25", "#e3a35c")}
DARK = "".join(f".{look} {{ color: {dark} }} " for look, (_, dark) in LOOKS.items())
STYLE = f"<style>@media (prefers-color-scheme: dark) {{ {DARK}}}</style>"
TITLE = ' font-size="14" font-weight="600"'


def dressed(look):
    return f'class="{look}" color="{LOOKS[look][0]}"'


class Picture:
    def __init__(self, report):
        self.report = report
        self.rows = {s["id"]: {r["id"]: r for r in s["rows"]} for s in report["sections"]}
        self.lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
                      f'width="{WIDTH}" height="{HEIGHT}" font-family="system-ui, sans-serif" font-size="12" '
                      'fill="currentColor">', STYLE]

    def value(self, section, row):
        """A row that the picture cannot do without."""
        value = self.rows.get(section, {}).get(row, {}).get("value", 0)
        if value <= 0:
            sys.exit(f"picture: section '{section}' has no row '{row}' above 0")
        return value

    def text(self, x, y, text, anchor="start", look="ink", more=""):
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more} {dressed(look)}>{html.escape(text)}</text>')

    def bar(self, x, y, width, look):
        self.lines.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" rx="2" {dressed(look)}/>')

    def ns(self, x, y, ns):
        self.text(x, y, f"{ns:.0f} ns" if ns < 1000 else f"{ns / 1000:.1f} µs")

    def peers(self):
        y = 44
        self.text(10, 22, "A decision, 2 processes, 100,000 keys (wall time, logarithmic scale)", more=TITLE)
        self.value("peers", PEERS + "rl")
        for name, row in self.rows["peers"].items():
            if name.startswith(PEERS):
                width = (math.log10(max(row["value"], 10)) - 1) / 4 * (WIDTH - PEERS_LEFT - 90)
                self.text(PEERS_LEFT - 10, y + BAR - 4, row["label"].split(": ")[1], "end")
                self.bar(PEERS_LEFT, y, width, "ours" if name == PEERS + "rl" else "theirs")
                self.ns(PEERS_LEFT + width + 8, y + BAR - 4, row["value"])
                y += ROW

    def hits(self):
        stacks = [(label, [self.value("costs", i) for i in ids], look) for label, ids, look in STACKS]
        scale = 190 / max(sum(values) for _, values, _ in stacks)
        self.text(10, LOWER, "A hot key, beside the floor of the hardware", more=TITLE)
        for i, (label, values, look) in enumerate(stacks):
            x, y = 150, LOWER + 24 + i * ROW
            self.text(x - 10, y + BAR - 4, label, "end")
            for ns in values:
                self.bar(x, y, ns * scale - 1, look)
                x += ns * scale
            self.ns(x + 6, y + BAR - 4, sum(values))

    def growth(self):
        left, top, width, height = RIGHT + 40, LOWER + 24, 240, 190
        ns = {curve: [self.value("growth", f"{size}_{curve}") for size, _ in SIZES] for _, curve, _ in CURVES}
        most = max(max(values) for values in ns.values())
        step = 10 ** math.floor(math.log10(most))
        most = math.ceil(most / step) * step
        self.text(RIGHT, LOWER, "ns a decision, by keys in the table", more=TITLE)
        for i in range(5):
            y = top + height * (1 - i / 4)
            self.lines.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}" stroke="currentColor" {dressed("grid")}/>')
            self.text(left - 6, y + 4, f"{most * i / 4:.0f}", "end", "faint")
        for size, decade in SIZES:
            self.text(left + decade / 4 * width, top + height + 18, size, "middle", "faint")
        label_y = 0
        for label, curve, look in CURVES:
            points = [(left + d / 4 * width, top + height * (1 - v / most)) for (_, d), v in zip(SIZES, ns[curve])]
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            self.lines.append(f'<polyline {dressed(look)} fill="none" stroke="currentColor" stroke-width="2" points="{line}"/>')
            self.lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" {dressed(look)}/>' for x, y in points]
            label_y = max(label_y + LINE, points[-1][1] + 4)  # never over another
            self.text(points[-1][0] + 10, label_y, label)

    def draw(self):
        self.peers()
        self.hits()
        self.growth()
        machine = self.report["machine"]
        self.text(10, HEIGHT - 12, f"{machine['cpu']}, {machine['cpus']} CPUs; {self.report['rounds']} rounds or more "
                  "that take turns", look="faint")
        return "\n".join([*self.lines, "</svg>"])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        print(Picture(json.load(file)).draw())


main()
