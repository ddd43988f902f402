#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Look at the status page in a headless Chromium: browser.py URL [PICTURE], or browser.py --words PICTURE.

Without PICTURE it prints, as JSON, what was seen in a window of 1100 px, in one of 360 px in dark, and by
the keyboard alone. With PICTURE it writes a screenshot there, which remembers the page's own words, and
with --words it prints those. The browser is spoken to through two pipes, so that no port is opened.
"""
import base64
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

WAIT_S = 60
SEEN = """(async () => {
  const until = Date.now() + %d;
  while (document.querySelectorAll('#rules-body tr').length === 0 && Date.now() < until)
    await new Promise((go) => setTimeout(go, 50));
  const style = getComputedStyle(document.body);
  return {
    title: document.title, text: document.body.innerText, width: innerWidth,
    scrolls: document.documentElement.scrollWidth, paper: style.backgroundColor, ink: style.color,
    elements: [...new Set([...document.querySelectorAll('*')].map((one) => one.localName))].sort(),
    captions: [...document.querySelectorAll('table')].map((one) => one.caption ? one.caption.innerText : ''),
    live: document.querySelector('[aria-live=polite]').innerText,
    pictures: [...document.querySelectorAll('svg')].map((one) => one.querySelector('title').textContent),
    bars: document.querySelectorAll('svg rect.denied').length,
    unfolded: document.getElementById('more').open,
    words: [...document.querySelectorAll('h2, caption, thead, button, summary, .legend')].map((one) => one.textContent),
    asked: performance.getEntries().filter((one) => one.name.startsWith('http')).map((one) => one.name),
  };
})()""" % (WAIT_S * 1000)


# The keys as they stand, after a click on the first head, after another, and of the rule "net" alone.
HANDLED = """(() => {
  const keys = () => [...document.querySelectorAll('#keys th')].map((one) => one.innerText);
  const click = () => { document.querySelector('#keys-head button').click(); return keys(); };
  const sorted = click(), turned = click(), filter = document.getElementById('filter');
  const folded = !document.getElementById('more').open;
  filter.value = 'net';
  filter.dispatchEvent(new Event('change'));
  return {sorted, turned, filtered: keys(), folded};
})()"""


class Browser:
    """Chromium, and one page of it."""

    def __init__(self):
        program = shutil.which("chromium") or sys.exit("browser.py: there is no chromium")
        self.profile = tempfile.mkdtemp()
        to_read, self.to = os.pipe()
        self.back, from_write = os.pipe()

        def pipes():
            os.dup2(to_read, 103)
            os.dup2(from_write, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "--lang=en"],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.session, self.count, self.rest, self.events = None, 0, b"", []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    def read(self):
        while b"\0" not in self.rest:
            part = os.read(self.back, 1 << 16)
            if not part:
                sys.exit("browser.py: chromium has ended")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.count:
                if "error" in answer:
                    sys.exit(f"browser.py: {method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def look(self, url, width, scheme):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1,
                 mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.load(url)
        return self.evaluate(SEEN)

    def open(self, url):
        self.events.clear()
        self.load(url)

    def load(self, url):
        before = len(self.events)
        self.ask("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events[before:]):
            self.events.append(self.read())

    def evaluate(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            sys.exit(f"browser.py: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                     windowsVirtualKeyCode={"Tab": 9, "Enter": 13}[key], text="\r" if key == "Enter" else "")

    def picture(self, path, words=()):
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                        clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        with open(path, "wb") as file:
            file.write(remembering(base64.b64decode(shot["data"]), words))

    def complaints(self):
        """What the browser has to say of scripts, of the policy and of the network: but for what a page that is left gives up."""
        return [event["params"] for event in self.events
                if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed")
                and not event["params"].get("canceled")]

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


WORDS = b"Words\0"  # the name of the chunk of a PNG file that has them
END = 12  # bytes of its last chunk


def remembering(png, words):
    """The picture with a text in front of its end: the words of the page that is on it."""
    chunk = b"tEXt" + WORDS + json.dumps(words).encode()
    whole = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return png[:-END] + whole + png[-END:]


def remembered(png):
    """Those words."""
    at = png.index(b"tEXt" + WORDS)
    size = struct.unpack(">I", png[at - 4:at])[0]
    return json.loads(png[at + 4 + len(WORDS):at + 4 + size])


def tabs(browser):
    """What is reached by the keyboard, in order; and whether Enter pauses."""
    reached = []
    for _ in range(5):
        browser.press("Tab")
        reached.append(browser.evaluate("document.activeElement.id || document.activeElement.className"))
        if reached[-1] == "pause":
            browser.press("Enter")
    return {"reached": reached, "paused": browser.evaluate("document.getElementById('pause').ariaPressed")}


def survey(browser, url):
    seen = {"wide": browser.look(url, 1100, "light"), "narrow": browser.look(url, 360, "dark")}
    seen["keyboard"] = tabs(browser)
    seen["handled"] = browser.evaluate(HANDLED)
    seen["complaints"] = browser.complaints()
    return seen


def main():
    if sys.argv[1] == "--words":
        with open(sys.argv[2], "rb") as file:
            print(json.dumps(remembered(file.read())))
        return
    browser = Browser()
    try:
        if len(sys.argv) > 2:
            browser.picture(sys.argv[2], browser.look(sys.argv[1], 1000, "light")["words"])
        else:
            print(json.dumps(survey(browser, sys.argv[1])))
    finally:
        browser.end()


if __name__ == "__main__":
    main()
