#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pictures.py [DIRECTORY]: render each picture of docs/, and see that its text is as wide as it must be.

A site may take styles out of a picture, and a browser may know no xml:space. So each SVG picture is rendered as it is and
without those, in light and in dark. Each text has all its characters, is as wide as its textLength says, or else as its
font makes these characters, lies in the picture and on no other text. A picture of a terminal has each word in its column.
"""
import pathlib
import sys

from browser import Browser

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
OFF = 0.04  # of a width: another font's
LOOK = """(async () => {
  const root = document.documentElement;
  if (root.localName !== 'svg') {
    await document.images[0].decode();
    return {faults: document.images[0].naturalWidth > 100 ? [] : ['is not shown'], texts: -1};
  }
  await document.fonts.ready;
  const faults = [];
  const all = [...document.querySelectorAll('*')];
  if (all.some((one) => ['script', 'foreignObject', 'image', 'use'].includes(one.localName))) faults.push('has more than shapes');
  if (%s) for (const one of all) {
    if (one.localName === 'style') one.remove();
    for (const name of ['style', 'class', 'xml:space']) one.removeAttribute(name);
  }
  const view = root.viewBox.baseVal;
  const paper = document.createElementNS('http://www.w3.org/1999/xhtml', 'canvas').getContext('2d');
  const plain = (text, said) => {
    const {fontStyle, fontWeight, fontSize, fontFamily} = getComputedStyle(text);
    paper.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
    return paper.measureText(said).width;
  };
  const boxes = [];
  for (const text of document.querySelectorAll('text')) {
    const said = text.textContent;
    const about = JSON.stringify(said.slice(0, 40));
    const box = text.getBBox();
    if (text.getNumberOfChars() !== [...said].length || text.getNumberOfChars() !== said.length)
      faults.push(about + ' shows ' + text.getNumberOfChars() + ' characters');
    const length = Number(text.getAttribute('textLength')), must = length || plain(text, said);
    if (length) {
      const from = text.getStartPositionOfChar(0).x;
      for (let i = 0; i < said.length; i++) {
        const there = text.getStartPositionOfChar(i).x - from;
        if (Math.abs(there - must * i / said.length) > 2) { faults.push(about + ': character ' + i + ' is at ' + there); break; }
      }
      text.removeAttribute('textLength');
    }
    const wide = text.getComputedTextLength();
    if (!(Math.abs(wide / must - 1) <= %f)) faults.push(about + ' is ' + wide + ' wide, not ' + must);
    if (!(box.width > 0 && box.x >= 0 && box.y >= 0 && box.x + box.width <= view.width && box.y + box.height <= view.height))
      faults.push(about + ' is not in the picture');
    for (const [other, b] of boxes)
      if (box.x < b.x + b.width && b.x < box.x + box.width && box.y + 3 < b.y + b.height && b.y + 3 < box.y + box.height)
        faults.push(about + ' lies on ' + other);
    boxes.push([about, box]);
    const ink = getComputedStyle(text).fill.match(/\\d+/g).map(Number);
    const light = (0.3 * ink[0] + 0.59 * ink[1] + 0.11 * ink[2]) / 255;
    const back = document.querySelector('rect[width="100%%"]') ? 0 : %s ? 0 : 1;
    if (Math.abs(light - back) < 0.3) faults.push(about + ' cannot be read on this page');
  }
  return {faults, texts: boxes.length};
})()"""


def faults_of(browser, picture):
    """Each way in which a site shows it, with what is wrong there."""
    for bare in (False, True):
        for scheme in ("light", "dark"):
            browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            browser.open(picture.as_uri())
            dark = scheme == "dark" and not bare  # without a style it is for light pages
            seen = browser.evaluate(LOOK % (str(bare).lower(), OFF, str(dark).lower()))
            if seen["texts"] == 0:
                yield f"{picture.name}: has no text"
            yield from (f"{picture.name}, {'bare' if bare else 'as it is'}, {scheme}: {fault}" for fault in seen["faults"])


def main():
    pictures = sorted(one for one in pathlib.Path(*sys.argv[1:2] or [DOCS]).iterdir() if one.suffix in (".svg", ".png"))
    browser = Browser()
    try:
        faults = [fault for picture in pictures for fault in faults_of(browser, picture)]
    finally:
        browser.end()
    for fault in faults:
        print(fault)
    if not pictures or faults:
        sys.exit(f"pictures.py: {len(faults)} faults in {len(pictures)} pictures")
    print(f"pictures: {len(pictures)} rendered, each text as wide as it must be")


main()
