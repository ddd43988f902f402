# SPDX-License-Identifier: BSD-2-Clause
"""What the tests share: two network namespaces that are a host and its clients, a segment, and rl-nft."""
import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
NFT = os.environ.get("RL_NFT", os.path.join(TOP, "build/nft/rl-nft"))
LIBRARY = os.environ.get("RL_LIBRARY", os.path.join(TOP, "build"))
RLCTL = os.path.join(TOP, "build/rlctl")
PATIENCE = 120
HERE = "10.77.0.1", "fd77::1"
PORT = 8077

work = tempfile.mkdtemp(prefix="rl-nft-")
HOST, CLIENTS = (f"{os.path.basename(work)}-{name}" for name in ("host", "clients"))
_segments, _started = [], []


def _clean_up():
    for process in list(_started):
        end(process)
    for name in _segments:
        for path in (f"/dev/shm/rl.{name}", f"/dev/shm/rl/rl.{name}"):
            if os.path.exists(path):
                os.unlink(path)
    for space in (HOST, CLIENTS):
        subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)
    shutil.rmtree(work, ignore_errors=True)


def run(*command, status=(0,), text=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, input=text,
                          env=dict(os.environ, LD_LIBRARY_PATH=LIBRARY))
    assert done.returncode in status, (command, done.stdout, done.stderr)
    return done.stdout


def within(space, *command, **options):
    return run("ip", "netns", "exec", space, *command, **options)


def make_network():
    """A host with 10.77.0.1 and fd77::1, and clients that have any address of 10.77/16, 192.0.2/24 and fd77::/16."""
    if os.geteuid() != 0 or subprocess.run(["ip", "netns", "add", HOST], capture_output=True, check=False).returncode != 0:
        print("network namespaces cannot be made here: not root, or not allowed")
        sys.exit(77)
    atexit.register(_clean_up)
    try:
        within(HOST, "nft", "add table inet probe; delete table inet probe")
    except AssertionError as error:
        print(f"the kernel has no nftables here: {error}")
        sys.exit(77)
    run("ip", "netns", "add", CLIENTS)
    run("ip", "link", "add", "host0", "netns", HOST, "type", "veth", "peer", "name", "clients0", "netns", CLIENTS)
    for space, link, four, six in ((HOST, "host0", "10.77.0.1/16", "fd77::1/16"),
                                   (CLIENTS, "clients0", "10.77.255.254/16", "fd77::ffff/16")):
        within(space, "ip", "link", "set", "lo", "up")
        within(space, "ip", "link", "set", link, "up")
        within(space, "ip", "addr", "add", four, "dev", link)
        within(space, "ip", "-6", "addr", "add", six, "dev", link, "nodad")
    within(HOST, "ip", "route", "add", "192.0.2.0/24", "dev", "host0")


def add_client(address):
    bits = "128" if ":" in address else "32"
    within(CLIENTS, "ip", "addr", "add", f"{address}/{bits}", "dev", "clients0",
           *(["nodad"] if ":" in address else []))


def start(*command, **options):
    with open(os.path.join(work, "log"), "ab") as log_file:
        process = subprocess.Popen(command, stdout=log_file, stderr=log_file, stdin=subprocess.DEVNULL,
                                   env=dict(os.environ, LD_LIBRARY_PATH=LIBRARY), **options)
    _started.append(process)
    return process


def end(process, how=signal.SIGTERM):
    if process in _started:
        _started.remove(process)
    if process.poll() is None:
        process.send_signal(how)
    return process.wait(PATIENCE)


def log():
    with open(os.path.join(work, "log"), encoding="utf-8", errors="replace") as file:
        return file.read()


def eventually(what, text):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        result = what()
        if result:
            return result
        time.sleep(0.02)
    raise AssertionError(f"not within {PATIENCE} s: {text}\n{log()[-3000:]}\n{ruleset()[-3000:]}")


def make_segment(bans=1000):
    name = f"nft-{len(_segments)}-{os.getpid()}"
    _segments.append(name)
    return remake_segment(name, bans)


def remake_segment(name, bans=1000):
    path = os.path.join(work, f"{name}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"segment": {"name": name, "bans": bans, "keys": 1000},
                   "rules": {"login": {"limit": "5/min"}, "api": {"limit": "5/min"},
                             "guess": {"limit": "1/h", "ban": {"after": 3, "within": "10m", "for": "1h"}}}}, file)
    keeper = start(os.path.join(TOP, "build/rld"), "--config", path)
    eventually(lambda: "login" in rlctl(name, "stats", status=(0, 2)), "rld has made the segment and its rules")
    end(keeper)
    return name


def rlctl(segment, *arguments, **options):
    return run(RLCTL, "--segment", segment, *arguments, **options)


def mirror(segment, *arguments, wrap=(), program=NFT):
    return start("ip", "netns", "exec", HOST, *wrap, program, "--segment", segment, *arguments)


def ruleset():
    return within(HOST, "nft", "list", "ruleset")


def elements(number=4):
    """[(first-last, seconds left or None)] of a set."""
    listed = json.loads(within(HOST, "nft", "-j", "list", "set", "inet", "rl", f"v{number}", status=(0, 1)) or '{"nftables": []}')
    found = []
    for item in listed["nftables"]:
        for one in item.get("set", {}).get("elem", []):
            value, left = (one["elem"]["val"], one["elem"]["expires"]) if "elem" in one else (one, None)
            if isinstance(value, dict):
                value = (f"{value['prefix']['addr']}/{value['prefix']['len']}" if "prefix" in value
                         else "-".join(value["range"]))
            found.append((value, left))
    return found


def names(number=4):
    return [name for name, _ in elements(number)]


class Clients:
    """A process in the clients' namespace that connects from an address of its choice, when asked."""

    SOURCE = """
import socket, sys, time
for line in sys.stdin:
    source, to, seconds = line.split()
    with socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET) as one:
        one.settimeout(float(seconds))
        one.bind((source, 0))
        try:
            one.connect((to, %d))
            print("passed", flush=True)
        except TimeoutError:
            print("dropped", flush=True)
        except OSError as error:
            print(error, flush=True)
""" % PORT

    def __init__(self):
        listener = ("import socket, time\n"
                    f"there = [socket.create_server((address, {PORT}), family=family, backlog=4000) for address, family\n"
                    "         in (('0.0.0.0', socket.AF_INET), ('::', socket.AF_INET6))]\n"
                    "time.sleep(1e6)")
        self.listener = start("ip", "netns", "exec", HOST, sys.executable, "-c", listener)
        self.process = subprocess.Popen(["ip", "netns", "exec", CLIENTS, sys.executable, "-c", self.SOURCE],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        _started.append(self.process)
        eventually(lambda: f":{PORT}" in within(HOST, "ss", "-ltn"), "the host listens")

    def connect(self, source, to=None, seconds=0.3):
        to = to or HERE[":" in source]
        self.process.stdin.write(f"{source} {to} {seconds}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()
