#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""picture.py BUILD: `rlctl top` as an SVG picture, on standard output.

A segment with three rules is made, requests of some keys come as of an hour ago and then for a few seconds,
and what a terminal of 80 columns then shows is drawn. Needs tmux; leaves nothing.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from xml.sax.saxutils import escape

COLUMNS, LINES = 80, 22
WIDTH, HEIGHT, MARGIN = 8.4, 18, 14
NBSP = "\u00a0"
SECONDS = 6
CONFIG = """{
  "segment": {"name": "NAME", "keys": 100000},
  "rules": {
    "login": {"limit": "5/min"},
    "api": {"limits": [{"limit": "50/s", "algorithm": "token_bucket", "burst": 10}, {"limit": "100000/day"}]},
    "address": {"window": "10m", "prefixes": [{"v4": 32, "capacity": 600}, {"v4": 24, "capacity": 6000}]}
  }
}
"""
# Which rule, with the limits that fill asks for, and how often each key comes in a round of 50 ms.
TRAFFIC = [
    ("login", "5", "60000", "60h", ["alice=1", "root=3", "bob=1"]),
    ("api", "50,100000", "1000,86400000", "token,24h", ["user:17=2", "user:241531=9", "crawler=40", "user:7=1"]),
    ("address", "600,6000", "600000,600000", "60h/32,60h/24", ["192.0.2.7=1", "192.0.2.9=4", "198.51.100.2=14"]),
]
COLOURS = {30: "#555", 31: "#f07178", 32: "#a3d977", 33: "#ffcb6b", 34: "#82aaff", 35: "#c792ea", 36: "#89ddff", 37: "#eee"}
FORE, BACK = "#d8dee9", "#16191f"


class Style:
    """What escape sequences have set for the characters that follow."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.colour, self.bold, self.reverse, self.dim = FORE, False, False, False

    def change(self, codes):
        for code in [int(c or 0) for c in codes.split(";")]:
            if code == 0:
                self.reset()
            elif code in (1, 22):
                self.bold = code == 1
            elif code == 2:
                self.dim = True
            elif code in (7, 27):
                self.reverse = code == 7
            elif code in COLOURS:
                self.colour = COLOURS[code]
            elif code == 39:
                self.colour = FORE

    def attributes(self):
        colour = BACK if self.reverse else self.colour
        return f'fill="{colour}"' + (' font-weight="bold"' if self.bold else "") + (' opacity="0.6"' if self.dim else "")


# No-break spaces: others are folded into one, wherever xml:space is ignored.
def draw(lines):
    style = Style()
    width, height = COLUMNS * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
           f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">')
    yield f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>'
    for row, line in enumerate(lines):
        column, y = 0, MARGIN + row * HEIGHT
        for part in re.split(r"(\x1b\[[0-9;]*m|\x1b\(B|\x0f)", line):
            if part.startswith("\x1b["):
                style.change(part[2:-1])
            elif part and part[0] not in "\x1b\x0f":
                x, length = MARGIN + column * WIDTH, len(part) * WIDTH
                if style.reverse:
                    yield f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="{HEIGHT}" fill="{style.colour}"/>'
                if part.strip():
                    yield (f'<text x="{x:.1f}" y="{y + 13}" textLength="{length:.1f}" '
                           f'{style.attributes()}>{escape(part).replace(" ", NBSP)}</text>')
                column += len(part)
    yield "</svg>"


def requests(build, name):
    for rule, capacity, window, kind, keys in TRAFFIC:
        subprocess.run([f"{build}/tests/cli/fill", name, rule, capacity, window, kind, *keys], check=True)


def hour(build, name):
    """What came in the hour before: in its last third much more than at first."""
    for minute in range(59, 0, -1):
        for rule, capacity, window, kind, _ in TRAFFIC:
            often = 40 + minute * 37 % 29 + (400 if minute < 20 else 0)
            keys = [f"guest{key}={often}@-{60 * minute}" for key in range(3)]
            if rule == "address":
                keys = [f"192.0.2.{key}={often}@-{60 * minute}" for key in (7, 9)]
            subprocess.run([f"{build}/tests/cli/fill", name, rule, capacity, window, kind, *keys], check=True)


def main():
    build = sys.argv[1]
    name = f"picture-{os.getpid()}"
    with tempfile.TemporaryDirectory() as work:
        tmux = ["tmux", "-S", os.path.join(work, "tmux"), "-f", "/dev/null"]
        config = os.path.join(work, "rl.json")
        with open(config, "w", encoding="ascii") as file:
            file.write(CONFIG.replace("NAME", name))
        with open(os.path.join(work, "log"), "w", encoding="ascii") as log:
            rld = subprocess.Popen([f"{build}/rld", "--config", config], stderr=log)
        try:
            while subprocess.run([f"{build}/rlctl", "-s", name, "status"], capture_output=True, check=False).returncode:
                time.sleep(0.05)
            subprocess.run([f"{build}/rlctl", "-s", name, "ban", "203.0.113.0/24", "--for", "1h"], check=True,
                           stdout=subprocess.DEVNULL)
            hour(build, name)
            subprocess.run([*tmux, "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES),
                            f"TERM=screen-256color {build}/rlctl -s {name} top"], check=True)
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                requests(build, name)
                time.sleep(0.05)
            shown = subprocess.run([*tmux, "capture-pane", "-e", "-p"], check=True, capture_output=True, text=True).stdout
        finally:
            subprocess.run([*tmux, "kill-server"], check=False)
            rld.send_signal(signal.SIGTERM)
            rld.wait()
            subprocess.run([f"{build}/rlctl", "-s", name, "unlink", "--yes"], check=False, capture_output=True)
    print("\n".join(draw(shown.replace(name, "web").rstrip("\n").split("\n"))))


main()
