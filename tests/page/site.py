#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""site.py: `make site` has no dead link, asks for nothing from elsewhere, and is read in a window of 500 px without scrolling to the side."""
import pathlib
import subprocess
import sys
import tempfile

from browser import Browser

TOP = pathlib.Path(__file__).resolve().parents[2]
SEEN = """({wide: document.documentElement.scrollWidth, text: document.body.innerText.length,
  asked: performance.getEntriesByType('resource').map((one) => one.name).filter((name) => !name.startsWith('file:')),
  broken: [...document.images].filter((one) => !one.naturalWidth).map((one) => one.src)})"""


def faults(browser, page, where):
    browser.open(page.as_uri())
    seen = browser.evaluate(SEEN)
    if seen["wide"] > 500:
        yield f"{where}: is {seen['wide']} px wide in a window of 500"
    if seen["text"] < 200:
        yield f"{where}: says nothing"
    yield from (f"{where}: asks for {name}" for name in seen["asked"])
    yield from (f"{where}: does not show {name}" for name in seen["broken"])


def main():
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["docs/site.py", directory], cwd=TOP, check=True)
        pages = sorted(pathlib.Path(directory).rglob("*.html"))
        browser = Browser()
        try:
            browser.ask("Emulation.setDeviceMetricsOverride", width=500, height=900, deviceScaleFactor=1, mobile=False)
            found = [fault for page in pages for fault in faults(browser, page, page.relative_to(directory))]
        finally:
            browser.end()
    print("\n".join(found))
    sys.exit(bool(found) or len(pages) < 40)


main()
