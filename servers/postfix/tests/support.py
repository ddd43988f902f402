# SPDX-License-Identifier: BSD-2-Clause
"""What the tests share: a directory and a segment of their own, rl-policyd, and clients of it."""
import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
POLICYD = os.environ.get("RL_POLICYD", os.path.join(TOP, "build/postfix/rl-policyd"))
LIBRARY = os.environ.get("RL_LIBRARY", os.path.join(TOP, "build"))
RLCTL = os.path.join(TOP, "build/rlctl")
PATIENCE = 60

work = tempfile.mkdtemp(prefix="rl-postfix-")
os.chmod(work, 0o755)
_segments, _started = [], []


def environment():
    return dict(os.environ, LD_LIBRARY_PATH=LIBRARY)


def _clean_up():
    for process in list(_started):
        end(process)
    for name in _segments:
        remove(name)
    shutil.rmtree(work, ignore_errors=True)


atexit.register(_clean_up)


def remove(name):
    for path in (f"/dev/shm/rl.{name}", f"/dev/shm/rl/rl.{name}"):
        if os.path.exists(path):
            os.unlink(path)


def write(name, value):
    path = os.path.join(work, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))
    os.chmod(path, 0o644)
    return path


def rlctl(*arguments, status=(0,)):
    done = subprocess.run([RLCTL, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode in status, done.stderr
    return done.stdout


def start(command, **options):
    with open(os.path.join(work, "log"), "ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment(),
                                   **{"stdin": subprocess.DEVNULL, **options})
    _started.append(process)
    return process


def end(process, how=signal.SIGTERM):
    if process in _started:
        _started.remove(process)
    if process.poll() is None:
        process.send_signal(how)
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def log():
    with open(os.path.join(work, "log"), encoding="utf-8", errors="replace") as file:
        return file.read()


def eventually(what, text):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        result = what()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError(f"not within {PATIENCE} s: {text}\n{log()[-3000:]}")


def make_segment(rules, segment=None):
    """A segment with these rules of rl.json, as rld makes it."""
    name = segment or f"postfix-{len(_segments)}-{os.getpid()}"
    if name not in _segments:
        _segments.append(name)
    path = write(f"{name}.json", {"segment": {"name": name}, "rules": rules})
    keeper = start([os.path.join(TOP, "build/rld"), "--config", path])

    def has_rules():
        told = subprocess.run([RLCTL, "--segment", name, "stats"], capture_output=True, text=True, check=False).stdout
        return all(rule in told for rule in rules)

    eventually(has_rules, "rld has made the segment and its rules")
    end(keeper)
    return name


class Server:
    """rl-policyd at a unix socket."""

    def __init__(self, settings, **options):
        self.path = os.path.join(work, "socket")
        self.config = write("policyd.json", {"listen": [f"unix:{self.path}"], **settings})
        self.process = start([POLICYD, "--config", self.config], **options)
        eventually(self.is_up, "rl-policyd listens")

    def is_up(self):
        assert self.process.poll() is None, log()
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.path) == 0

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE)
        client.connect(self.path)
        return client

    def ask(self, **attributes):
        with self.connect() as client:
            return ask(client, **attributes)

    def end(self):
        return end(self.process)


def request(**attributes):
    lines = {"request": "smtpd_access_policy", "protocol_state": "RCPT", "protocol_name": "ESMTP", **attributes}
    return "".join(f"{name}={value}\n" for name, value in lines.items()).encode() + b"\n"


def read_reply(client):
    reply = b""
    while not reply.endswith(b"\n\n"):
        more = client.recv(4096)
        if not more:
            return reply.decode() or None
        reply += more
    return reply.decode()[:-2]


def ask(client, **attributes):
    client.sendall(request(**attributes))
    return read_reply(client)


def is_cut_off(client):
    try:
        return client.recv(4096) == b""
    except ConnectionResetError:
        return True
