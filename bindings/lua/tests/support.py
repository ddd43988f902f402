# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of servers share: a directory, a segment and ports of their own, and processes that end with them."""
import atexit
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
sys.path.insert(0, os.path.join(TOP, "tests", "support"))
from ports import free_port  # noqa: E402, F401

BUILD = os.environ.get("RL_LUA_BUILD", os.path.join(TOP, "build/lua"))
LIBRARY = os.environ.get("RL_LUA_LIBRARY", os.path.join(TOP, "build"))
RLCTL = os.path.join(TOP, "build/rlctl")
SHARE = os.path.join(TOP, "build/lua/share")
PATIENCE = 60  # seconds: for what takes a moment on a machine with nothing else to do

work = tempfile.mkdtemp(prefix="rl-lua-")
os.chmod(work, 0o755)
_segments, _started = [], []


def segment(part=""):
    name = f"lua{part}-{os.getpid()}"
    _segments.append(name)
    return name


def _clean_up():
    for process in _started:
        end(process)
    for name in _segments:
        for path in (f"/dev/shm/rl.{name}", f"/dev/shm/rl/rl.{name}"):
            if os.path.exists(path):
                os.unlink(path)
    shutil.rmtree(work, ignore_errors=True)


atexit.register(_clean_up)


def environment(**more):
    return dict(os.environ, LD_LIBRARY_PATH=LIBRARY, **more)


def need_root():
    if os.geteuid() != 0:
        print("a server that gives up root has to be started by root")
        sys.exit(77)


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            print(f"there is no {program} here")
            sys.exit(77)


def lua_of_haproxy():
    """5.3 or later: it is compiled into it."""
    told = subprocess.run(["haproxy", "-vv"], capture_output=True, text=True, check=True).stdout
    return re.search(r"^Built with Lua version : Lua (5\.\d)", told, re.M).group(1)


def write(name, text):
    path = os.path.join(work, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o644)
    return path


def start(command, **options):
    log = open(os.path.join(work, "server.log"), "ab")
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                               start_new_session=True, env=environment(), **options)
    log.close()
    _started.append(process)
    return process


def log():
    with open(os.path.join(work, "server.log"), encoding="utf-8", errors="replace") as file:
        return file.read()


def end(process, how=signal.SIGTERM):
    """Its whole session, which is ours alone: workers of a master that was killed are in it."""
    if process.poll() is None:
        process.send_signal(how)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    if process in _started:
        _started.remove(process)


def eventually(what, text, seconds=PATIENCE):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        result = what()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {text}\n{log()[-3000:]}")


def is_listening(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def get(port, path="/", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()
    finally:
        connection.close()


def count_status(port, path, requests, threads, wanted=200):
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda _: get(port, path)[0], range(requests))).count(wanted)


def rlctl(*arguments, check=True):
    done = subprocess.run([RLCTL, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)
    if check and done.returncode not in (0, 1):
        raise AssertionError(f"rlctl {arguments}: {done.stderr}")
    return done.stdout


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]
