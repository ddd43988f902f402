#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""site.py DIRECTORY: the documents and manual pages as static HTML there, for any web server. Run from the top.

A page asks for nothing but pictures beside it: no script, no font, no style from elsewhere. A link to a document leads to
its page, one to another file of the source to a copy of it. It ends with status 1, and names them, if a link leads nowhere.
"""
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys

STYLE = """
:root { color-scheme: light dark; --line: #8884; --code: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 0 1rem 3rem; overflow-wrap: break-word; }
nav { border-bottom: 1px solid var(--line); padding: .6rem 0; }
nav a { display: inline-block; margin-right: .8rem; }
pre, .Bd { background: var(--code); overflow-x: auto; padding: .6rem; font-size: 14px; line-height: 1.4; }
code { font-size: .92em; }
p > code, li > code, td > code { background: var(--code); padding: 0 .2em; }
.Bd pre { background: none; padding: 0; margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
.wide td, .wide th { border: 1px solid var(--line); padding: .25rem .5rem; text-align: left; vertical-align: top; }
.wide table:not(:has(th:not(:empty))) thead { display: none; }
img { max-width: 100%; height: auto; }
table.head, table.foot { width: 100%; }
a.permalink { color: inherit; text-decoration: none; }
h1.Sh { font-size: 1.3rem; }
h2.Ss { font-size: 1.1rem; }
.head-rtitle, .foot-os { text-align: right; }
.head-vol { text-align: center; }
"""
MENU = (("README.md", "rl"), ("docs/ALGORITHMS.md", "Algorithms"), ("docs/CONFIGURATION.md", "Configuration"), ("docs/COOKBOOK.md", "Cookbook"),
        ("docs/FAQ.md", "FAQ"), ("docs/OPERATING.md", "Operating"), ("docs/COMPARE.md", "Compare"), ("docs/MOVING.md", "Moving"),
        ("man/rl.7", "Manual"))
HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.S)
LINK = re.compile(r'\b(href|src)="([^"]*)"')
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:")


def tracked():
    """What belongs to the source: what git knows, and where it tells nothing, as in a tarball, what is there."""
    if os.path.exists(".git") and shutil.which("git"):
        told = subprocess.run(["git", "ls-files"], check=False, stdout=subprocess.PIPE, text=True)
        if told.returncode == 0:
            return told.stdout.split("\n")
    return [str(path) for path in pathlib.Path(".").rglob("*") if path.is_file() and path.parts[0] not in ("build", ".git")]


def target(path):
    """Where the page of a document goes."""
    if path.endswith("README.md"):
        return path[:-len("README.md")] + "index.html"
    return path[:-len(".md")] + ".html" if path.endswith(".md") else path + ".html"


def slug(heading):
    """The name that GitHub gives to a heading."""
    text = html.unescape(re.sub(r"<[^>]*>", "", heading)).lower()
    return re.sub(r"[^\w -]", "", text).replace(" ", "-")


def with_names(body):
    """Headings that links find, and tables that scroll by themselves where a page is narrow."""
    taken = {}

    def name(match):
        own = slug(match[2])
        taken[own] = taken.get(own, -1) + 1
        own += f"-{taken[own]}" if taken[own] else ""
        return f'<h{match[1]} id="{own}">{match[2]}</h{match[1]}>'

    body = HEADING.sub(name, body)
    return body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Site:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        files = [path for path in tracked() if path]
        self.documents = [p for p in files if p.endswith(".md") and not p.startswith("tests/")] + ["tests/README.md"]
        self.manuals = [p for p in files if re.fullmatch(r"man/.*\.[1-8]", p)]
        self.pages = {p: target(p) for p in self.documents + self.manuals}

    def relative(self, path, base):
        return os.path.relpath(path, os.path.dirname(base) or ".")

    def page(self, source, title, body):
        out = self.pages[source]
        menu = "".join(f'<a href="{self.relative(self.pages[one], out)}">{name}</a>' for one, name in MENU)
        path = self.root / out
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
                        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
                        f"<style>{STYLE}</style>\n</head>\n<body>\n<nav>{menu}</nav>\n<main>\n{body}</main>\n</body>\n</html>\n",
                        encoding="utf-8")

    def led(self, source):
        """Its links, to pages where there are such, and else to copies."""
        out = self.pages[source]

        def lead(match):
            where, hash_, anchor = match[2].partition("#")
            if ELSEWHERE.match(match[2]) or not where:
                return match[0]
            path = os.path.normpath(os.path.join(os.path.dirname(source), where))
            if path not in self.pages and os.path.isfile(path):
                (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, self.root / path)
            return f'{match[1]}="{self.relative(self.pages.get(path, path), out)}{hash_}{anchor}"'
        return lead

    def document(self, source):
        body = with_names(run("cmark-gfm", "--extension", "table", source))
        heading = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S)
        title = html.unescape(re.sub(r"<[^>]*>", "", heading[1])) if heading else source
        self.page(source, title, LINK.sub(self.led(source), body))

    def manual(self, source):
        body = run("mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", source)
        there = {os.path.basename(one) for one in self.pages.values()}
        body = re.sub(r'<a class="Xr" href="([^"]*)">(.*?)</a>',
                      lambda match: match[0] if match[1] in there else match[2], body)
        name, _, section = os.path.basename(source).rpartition(".")
        self.page(source, f"{name}({section})", body)

    def dead(self):
        """Links that lead nowhere, of all pages; and what a page would load from elsewhere."""
        names = {}
        for page in self.pages.values():
            names[page] = set(re.findall(r'\bid="([^"]*)"', (self.root / page).read_text(encoding="utf-8")))
        for page in self.pages.values():
            for kind, link in LINK.findall((self.root / page).read_text(encoding="utf-8")):
                where, _, anchor = html.unescape(link).partition("#")
                path = os.path.normpath(os.path.join(os.path.dirname(page), where)) if where else page
                if ELSEWHERE.match(link):
                    if kind == "src":
                        yield f"{page}: loads {link}"
                elif not (self.root / path).is_file():
                    yield f"{page}: {link} leads nowhere"
                elif anchor and path in names and anchor not in names[path]:
                    yield f"{page}: {link} names no heading"

    def build(self):
        for source in self.documents:
            self.document(source)
        for source in self.manuals:
            self.manual(source)
        return sorted(set(self.dead()))


def main():
    site = Site(sys.argv[1])
    dead = site.build()
    print("\n".join(dead), file=sys.stderr, end="\n" if dead else "")
    print(f"{len(site.pages)} pages in {sys.argv[1]}")
    return bool(dead)


sys.exit(main())
