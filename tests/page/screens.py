#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""screens.py [DIRECTORY]: what an administrator sees, of sites of 0, 10 and 200 rules: list, get, log, top and bans in a terminal of
80 x 24 that tmux plays, and the status page in Chromium in light and in dark, 1,100 and 500 px wide.

No line of a terminal is wider than it; get of ten rules and top fit one screen. The page never scrolls sideways, each of its
words lies in the window and can be read on its paper, and its sections come in the order of questions. What was seen is kept as
text and pictures in DIRECTORY, for people to look at.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from browser import Browser

BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
COLUMNS, ROWS = 80, 24
WAIT_S = 60
SIZES = (0, 10, 200)
LIMITS = ("3/h", "5/15m", "10/min", "30/min", "100/h")
VIEWS = (("light", 1100), ("dark", 1100), ("light", 500), ("dark", 500))
KEY = "user:maria@example.com"
ORDER = ["Who is denied", "Rules", "Bans"]

# Waits for what the page has to tell. A word is what a text node says; what is off the window on purpose is left out.
LOOK = """(async () => {
  const until = Date.now() + %d;
  const rows = () => document.querySelectorAll('#rules-body tr').length;
  const is_there = () => !document.getElementById('state').innerText.startsWith('Loading') && rows() >= %d;
  while (!is_there() && Date.now() < until) await new Promise((go) => setTimeout(go, 50));
  const light = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const faults = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let words = 0;
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const owner = node.parentElement, range = document.createRange();
    if (!node.data.trim() || !owner.checkVisibility() || owner.closest('svg, .skip, option')) continue;
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.right < -500) continue; // heads of columns that are told beside each cell
      words++;
      if (box.left < -0.5 || box.right > innerWidth + 0.5) faults.push(node.data.trim().slice(0, 40) + ' is off the window');
    }
    const ink = light(getComputedStyle(owner).color);
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (contrast < 4.5) faults.push(node.data.trim().slice(0, 40) + ' is ' + contrast.toFixed(1) + ' from its paper');
  }
  return {
    faults, words, paper, rules: rows(), overflow: document.documentElement.scrollWidth - innerWidth,
    state: document.getElementById('state').innerText, folded: !document.getElementById('more').open,
    full: [...document.querySelectorAll('#areas td:last-child')].some((one) => parseInt(one.textContent) >= 80),
    heads: [...document.querySelectorAll('h2')].filter((one) => one.checkVisibility()).map((one) => one.innerText),
    choice: document.getElementById('filter').selectedOptions[0]?.text || '',
    lone: [...document.querySelectorAll('td[colspan]')].map((one) => parseFloat(getComputedStyle(one, '::before').width) || 0),
    keys: [...document.querySelectorAll('#keys th')].map((one) => one.innerText),
  };
})()"""


class Site:
    """rld on a segment of so many rules, some of which are asked."""

    def __init__(self, rules, work):
        self.name = f"screens-{os.getpid()}-{rules}"
        self.work, self.rules = work, [f"rule-{i:03}" for i in range(rules)]
        config = work / f"{rules}.json"
        config.write_text(json.dumps({
            "segment": {"name": self.name, "keys": 2000},
            "rules": {rule: {"limit": LIMITS[i % len(LIMITS)]} for i, rule in enumerate(self.rules)}}))
        os.environ["RL_CONFIG"] = str(config)
        log = work / f"{rules}.log"
        with open(log, "wb") as file:
            self.rld = subprocess.Popen(
                [BUILD / "rld", "-c", config, "--metrics-listen", "127.0.0.1:0", "--status-page"], stderr=file)
        self.url = said(log, r"metrics at (http://[0-9.:]+)/metrics")
        said(log, "sweeping segment()")
        self.ask()

    def rlctl(self, *words):
        return subprocess.run([BUILD / "rlctl", "-s", self.name, *words], capture_output=True, text=True, check=False).stdout

    def ask(self):
        for rule in self.rules[:3]:
            for key, times in ((KEY, 6), ("198.51.100.7", 1), ("2001:db8:1234:5678:9abc:def0:1234:5678", 4), ("k" * 60, 1)):
                for _ in range(times):
                    self.rlctl("check", rule, key)
        for rule in self.rules[3:10]:
            self.rlctl("check", rule, KEY)
        self.rlctl("ban", "203.0.113.0/24", "--for", "1h", "--reason", "scrapes the catalogue, see ticket 4711")
        if self.rules:
            self.rlctl("override", self.rules[0], "198.51.100.7", "20/h", "--for", "1h", "--reason", "a trial")

    def end(self):
        self.rld.kill()
        self.rld.wait()
        for path in (f"/dev/shm/rl.{self.name}", f"/dev/shm/rl/rl.{self.name}"):
            if os.path.exists(path):
                os.unlink(path)


def said(log, pattern):
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        found = re.search(pattern, log.read_text())
        if found:
            return found.group(1)
        time.sleep(0.05)
    sys.exit(f"screens.py: rld has never said {pattern}: {log.read_text()}")


class Terminal:
    """One that tmux plays. What has left it above is kept, and a line that went on below is joined again.

    Each has a server of its own: one that is ending is in nobody's way.
    """

    def __init__(self, socket):
        self.tmux = ["tmux", "-S", socket, "-f", "/dev/null"]

    def run(self, command, ready):
        """The lines of the screen, from the first that was written, once one of them shows what is `ready`."""
        subprocess.run([*self.tmux, "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), f"{command}; echo END; exec cat"],
                       check=True, env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})
        until = time.monotonic() + WAIT_S
        lines = []
        while not any(re.search(ready, line) for line in lines):
            if time.monotonic() > until:
                sys.exit(f"screens.py: {command}: never seen: {ready}")
            shown = subprocess.run([*self.tmux, "capture-pane", "-p", "-J", "-S", "-"], capture_output=True, text=True, check=True)
            lines = [line.rstrip() for line in shown.stdout.rstrip("\n").split("\n")]
            time.sleep(0.05)
        subprocess.run([*self.tmux, "kill-server"], check=False)
        return lines[:-1] if lines[-1] == "END" else lines


def verbs(site):
    """What is typed, what shows that it has answered, how many lines there may be, and what must be among them."""
    some = site.rules[:1]
    yield "list", "live key", 2000, [KEY] if some else ["0 live keys"]
    yield f"get {KEY}", "^END", ROWS - 2, site.rules[:10] + ["denied"] * bool(some)
    yield "log", "^END", 2000, ["ban set"] + ["denied"] * bool(some)
    yield "log --changes", "^END", 2000, ["203.0.113.0/24"]
    yield "bans", "in force", 2000, ["203.0.113.0/24"]
    yield "overrides", "in force", 2000, ["20/h"] * bool(some)
    yield "stats", "^END", 2000, some
    yield "top", "q quit", ROWS, some


def on_terminal(site, directory):
    for number, (verb, ready, most, words) in enumerate(verbs(site)):
        lines = Terminal(site.work / f"tmux-{len(site.rules)}-{number}").run(f"'{BUILD}/rlctl' -s {site.name} {verb}", ready)
        name = f"{len(site.rules)} rules, {verb}"
        (directory / f"{len(site.rules)}-{verb.split(' ', 1)[0]}{'-changes' * ('--' in verb)}.txt").write_text("\n".join(lines) + "\n")
        wide = [line for line in lines if len(line) > COLUMNS]
        yield from (f"{name}: {len(line)} columns: {line}" for line in wide[:3])
        if len(lines) > most:
            yield f"{name}: {len(lines)} lines, and {most} are a screen"
        yield from (f"{name}: nothing of '{word}'" for word in words if not any(word in line for line in lines))


def on_page(site, browser, directory):
    shown = min(len(site.rules), 64) or 1  # a sentence says that there is none
    for scheme, width in VIEWS:
        name = f"{len(site.rules)} rules, {scheme}, {width} px"
        browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.open(site.url + "/")
        seen = browser.evaluate(LOOK % (WAIT_S * 1000, shown))
        browser.picture(directory / f"{len(site.rules)}-page-{scheme}-{width}.png")
        yield from (f"{name}: {fault}" for fault in sorted(set(seen["faults"]))[:5])
        if seen["overflow"] > 0:
            yield f"{name}: scrolls sideways by {seen['overflow']} px"
        if seen["rules"] != shown or seen["words"] < 20:
            yield f"{name}: {seen['rules']} rules and {seen['words']} words are shown"
        if seen["heads"][:3] != ORDER or seen["folded"] == seen["full"]:
            yield f"{name}: the order is {seen['heads']}, the rest {'folded' if seen['folded'] else 'open'}"
        if seen["choice"] != "all" or any(seen["lone"]):
            yield f"{name}: the rules are chosen from '{seen['choice']}', sentences are indented by {seen['lone']} px"
        if (seen["paper"] < 0.5) != (scheme == "dark"):
            yield f"{name}: the paper is {seen['paper']}"
        if site.rules and KEY not in seen["keys"]:
            yield f"{name}: who is denied is {seen['keys']}, and '{seen['state']}'"
        yield from (f"{name}: {complaint}" for complaint in browser.complaints())
    browser.open("about:blank")  # a page that is left open goes on to ask the site when that has ended


def main():
    work = pathlib.Path(tempfile.mkdtemp())
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else work / "screens")
    directory.mkdir(parents=True, exist_ok=True)
    browser = Browser()
    faults = []
    try:
        for size in SIZES:
            site = Site(size, work)
            try:
                faults += [*on_terminal(site, directory), *on_page(site, browser, directory)]
            finally:
                site.end()
    finally:
        browser.end()
        shutil.rmtree(work)
    if faults:
        sys.exit("\n".join([*faults, f"screens.py: {len(faults)} faults"]))
    print("screens: of 0, 10 and 200 rules all fits, and is read in light, in dark and narrow")


main()
