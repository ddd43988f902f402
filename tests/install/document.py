#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""document.py FILE...: what a document shows is so. In each section, a json block is written to rl.json and has to be
valid, a python or php block to a recipe, and each sh block runs, in order, with the programs that were built; where a text
block follows, that is what it prints. A section with a js block is left to the tests of Node, which have its libraries.
Segments are in a /dev/shm of the test's own, empty for each section; where none can be had it exits 77.
Its network is a loopback of its own.
"""
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, "build")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
WRITTEN = {"json": "rl.json", "python": "recipe.py", "php": "recipe.php"}
KNOWN = {*WRITTEN, "sh", "text", "yaml"}


def in_own_shm():
    """Run again where /dev/shm is this test's; as another user by a namespace of users, if such may be made."""
    if os.environ.get("RL_DOCUMENT_SHM"):
        return
    user = os.geteuid()
    how = ["unshare", "--mount", "--net"] + (["--map-root-user"] if user else [])
    as_before = ["unshare", "--user", f"--map-user={user}"] if user else []  # a server that finds itself root would change users
    if subprocess.run([*how, "mount", "-t", "tmpfs", "t", "/dev/shm"], capture_output=True, check=False).returncode:
        print("no /dev/shm of its own may be had here")
        sys.exit(77)
    os.environ["RL_DOCUMENT_SHM"] = "1"
    script = 'mount -t tmpfs -o mode=1777 t /dev/shm && ip link set lo up && exec "$@"'
    os.execvp("unshare", [*how, "sh", "-c", script, "-", *as_before, sys.executable, *sys.argv])


def environment():
    env = dict(os.environ, LC_ALL="C.UTF-8", LD_LIBRARY_PATH=BUILD, PYTHONPATH=os.path.join(BUILD, "python"), PYTHONDONTWRITEBYTECODE="1")
    env["PATH"] = f"{BUILD}:{env['PATH']}"
    env.pop("RL_SEGMENT", None)
    return env


def logs(where):
    """What the programs that were started in the directory had to say."""
    told = ""
    for path in sorted(glob.glob(os.path.join(where, "*.log"))):
        with open(path, encoding="utf-8", errors="replace") as file:
            told += f"{os.path.basename(path)}:\n{file.read()}"
    return told


class Section:
    def __init__(self, title):
        self.title = title
        self.ran = 0
        self.printed = None
        self.groups = []

    def run(self, language, text, where):
        if language == "text":
            return self.compare(text)
        self.printed = None
        if language in WRITTEN:
            self.write(where, WRITTEN[language], text)
        if language == "json":
            return self.shell("rlctl config check --config rl.json", where)
        return self.shell(text, where) if language == "sh" else None

    def write(self, where, name, text):
        with open(os.path.join(where, name), "w", encoding="utf-8") as file:
            file.write(text)

    def shell(self, text, where):
        log = os.path.join(where, "log")
        with open(log, "w", encoding="utf-8") as out:
            process = subprocess.Popen(["bash", "-eu", "-c", text], cwd=where, env=environment(), stdout=out,
                                       stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
            self.groups.append(process.pid)
            try:
                status = process.wait(600)
            except subprocess.TimeoutExpired:
                self.fail(f"it takes more than ten minutes:\n{text}{logs(where)}")
        self.ran += 1
        with open(log, encoding="utf-8") as file:
            self.printed = file.read()
        if status:
            self.fail(f"exit status {status} of\n{text}{self.printed}{logs(where)}")

    def compare(self, text):
        if self.printed is None:
            self.fail("a text follows no command")
        if self.printed != text:
            self.fail(f"it prints\n{self.printed}and not\n{text}")

    def fail(self, what):
        self.end()
        sys.exit(f"FAILED: {self.title}: {what}")

    def end(self):
        """The next section finds a machine without segments."""
        for group in self.groups:
            try:
                os.killpg(group, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for path in glob.glob("/dev/shm/rl*"):
            os.unlink(path)


def sections(text):
    parts = re.split(r"^## (.*)$", text, flags=re.M)
    return zip(["the beginning", *parts[1::2]], parts[0::2])


def check(path):
    ran = 0
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for title, body in sections(text):
        blocks = BLOCK.findall(body)
        if "js" in dict(blocks):
            continue
        section = Section(f"{os.path.basename(path)}, {title}")
        with tempfile.TemporaryDirectory() as where:
            os.symlink(TOP, os.path.join(where, "rl"))
            for language, block in blocks:
                if language not in KNOWN:
                    section.fail(f"a block of {language}, which no test knows")
                section.run(language, block, where)
            section.end()
        ran += section.ran
    if not ran:
        sys.exit(f"FAILED: {path} has no command")
    print(f"{os.path.basename(path)}: {ran} commands")


if __name__ == "__main__":
    in_own_shm()
    for one in sys.argv[1:]:
        check(one)
