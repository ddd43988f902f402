# SPDX-License-Identifier: BSD-2-Clause
"""What README.md shows runs, and what it names is there."""

import os
import re
import subprocess
import sys

import pytest
import rl

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "../README.md"), encoding="utf-8") as file:
    TEXT = file.read()
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)
EXPECTED = ["yes\n" * 5 + "no\n" * 2, "1\n", "True\n", "", "", "", ""]


@pytest.mark.parametrize("block, told", zip(BLOCKS, EXPECTED, strict=True))
def test_each_example(name, block, told):
    program = block.replace('"web"', repr(name)).replace("//web?", f"//{name}?")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == (told, "", 0)


def test_calls_that_are_named_are_there():
    for name in re.findall(r"`(?:web|rule|result|with rule|await rule)\.(\w+)\(", TEXT):
        assert any(hasattr(kind, name) for kind in (rl.Segment, rl.Rule, rl.Result)), name
    for path in re.findall(r"`(tests/[\w.]+)`", TEXT):
        assert os.path.exists(os.path.join(HERE, "..", path)), path


def test_the_debian_package_is_named_as_it_is():
    with open(os.path.join(os.environ["RL_TOP"], "debian/control"), encoding="utf-8") as control:
        assert "\nPackage: python3-rl\n" in control.read()
