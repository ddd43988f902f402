#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One host of a cluster, a store and rld, for tests of who waits for a share of a limit.

As a program: lent.py COMMAND..., which finds the segment's name in RL_LENT_SEGMENT, and in RL_LENT_STORE the store's process,
which it may stop and continue. Without a store to run it exits with 77."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from ports import free_port

TOP = pathlib.Path(__file__).resolve().parents[2]
LIMITS = {  # nothing of a small one is admitted unasked, so its first request is denied for want of a share
    "five": {"limit": "5/min", "blind": "auto", "wait": "1s"},
    "usual": {"limit": "5/min", "blind": "auto"},
    "none": {"limit": "5/min", "blind": "auto", "wait": "none"},
    "unasked": {"limit": "1000/min", "blind": 10},
}


def in_time(holds):
    """holds(key): so much is to happen within the second of a wait that a busy machine may keep it from being so; of ten keys
    with one it is."""
    for attempt in range(10):
        try:
            return holds(f"in-time-{attempt}")
        except AssertionError:
            if attempt == 9:
                raise


def until(what, seconds=120):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise TimeoutError("waited too long")
        time.sleep(0.02)


class Host:
    """Ends all that it has started, and its segment, by close()."""

    def __init__(self, name, limits=None):
        self.name, self._running = name, []
        self._directory = tempfile.TemporaryDirectory()
        try:
            self._start(pathlib.Path(self._directory.name), {**LIMITS, **(limits or {})})
        except BaseException:
            self.close()
            raise

    def _run(self, *command):
        self._running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return self._running[-1]

    def _start(self, path, limits):
        port, secret, file = free_port(), path / "secret", path / "rl.json"
        secret.write_bytes(os.urandom(32))
        secret.chmod(0o600)
        rules = {rule: {"scope": "cluster", "away": "closed", **limit} for rule, limit in limits.items()}
        cluster = {"nodes": [f"127.0.0.1:{port}"], "secret_file": str(secret), "lease": "30s"}
        file.write_text(json.dumps({"segment": {"name": self.name, "keys": 1000}, "cluster": cluster, "rules": rules}))
        self.store = self._run("redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(path))
        self._run(str(TOP / "build/rld"), "-c", str(file))
        until(self._is_lending)

    def _is_lending(self):
        """A key is admitted beside what is admitted unasked, so the daemon is there, and knows the store."""
        check = [str(TOP / "build/rlctl"), "--segment", self.name, "check", "unasked", "lent", "--cost", "11"]
        return subprocess.run(check, capture_output=True, check=False).returncode == 0

    def stop(self):
        """Nothing is lent from now on."""
        self.store.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.store.send_signal(signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()

    def close(self):
        for process in reversed(self._running):
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait()
        subprocess.run([str(TOP / "build/rlctl"), "--segment", self.name, "unlink", "--yes"], capture_output=True, check=False)
        self._directory.cleanup()


def main():
    if not shutil.which("redis-server"):
        print("there is no redis-server")
        return 77
    host = Host(f"lent-{os.getpid()}")
    try:
        of = {"RL_LENT_SEGMENT": host.name, "RL_LENT_STORE": str(host.store.pid)}
        return subprocess.run(sys.argv[1:], env={**os.environ, **of}, check=False).returncode
    finally:
        host.close()


if __name__ == "__main__":
    sys.exit(main())
