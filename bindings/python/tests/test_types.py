# SPDX-License-Identifier: BSD-2-Clause
"""The stubs say what the extension is, and programs that use it pass a type checker."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("mypy")

PROGRAM = '''
import rl

web = rl.Segment("web", keys=1000)
login: rl.Rule = web.rule("login", "5/min")
result = login.check("alice", cost=2)
if result.verdict == "denied" and result.retry_after is not None:
    wait: float = result.retry_after
with login.hold("alice") as held:
    held.release()

@login.limit(key=lambda user: user)
def view(user: str) -> str:
    return user

text: str = view("alice")
count = web.counters("failed").add("alice", 1, 60)
value: int = 0 if count is None else count.value
names: list[tuple[str, str]] = result.headers(older=True)
'''

WRONG = '''
import rl
web = rl.Segment("web", kys=1000)
web.rule("login", "5/min").check(5)
web.counters("failed").add("alice").value
rl.Segment("web").rule("x").check("a").verdict == 5
'''


def mypy(tmp_path, program):
    path = tmp_path / "program.py"
    path.write_text(program)
    env = dict(os.environ, MYPYPATH=os.environ["PYTHONPATH"].split(":")[0])
    words = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path), str(path)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, cwd=tmp_path)
    return done.stdout + done.stderr


def test_a_program_passes(tmp_path):
    assert mypy(tmp_path, PROGRAM).startswith("Success")


def test_mistakes_are_found(tmp_path):
    told = mypy(tmp_path, WRONG)
    assert told.count("error:") == 4, told


def test_the_stubs_are_true(tmp_path):
    """Each name, argument and default is that of the extension."""
    allow = tmp_path / "allow"
    # Built from C and completed in Python: these exist, and look otherwise to inspection.
    allow.write_text("rl\\.Count.*\nrl\\.\\w+\\.__(new|init|exit|enter|bool|aenter|aexit)__\nrl\\._rl.*\nrl\\.(django|rest|limits)(\\..*)?\n")
    env = dict(os.environ, MYPYPATH=os.environ["PYTHONPATH"].split(":")[0])
    config = tmp_path / "config"
    config.write_text("[mypy]\nignore_missing_imports = True\n")
    words = [sys.executable, "-m", "mypy.stubtest", "rl", "--mypy-config-file", str(config), "--allowlist", str(allow), "--ignore-unused-allowlist"]  # noqa: E501
    done = subprocess.run(words, env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
