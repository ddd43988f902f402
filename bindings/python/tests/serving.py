# SPDX-License-Identifier: BSD-2-Clause
"""Real servers, and clients of theirs."""

import collections
import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

APPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "apps")
PATIENCE = 120  # seconds: for a machine that has other things to do


_ports = []


def free_port():
    """As long as ours does not listen, a server may have its port as well, and nobody else."""
    ours = socket.socket()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ours.bind(("127.0.0.1", 0))
    _ports.append(ours)
    return ours.getsockname()[1]


COMMANDS = {
    "gunicorn sync": ["-m", "gunicorn", "--workers", "4", "--bind", "127.0.0.1:{port}", "{app}"],
    "gunicorn gthread": ["-m", "gunicorn", "--workers", "4", "--threads", "4", "--bind", "127.0.0.1:{port}", "{app}"],
    "gunicorn preload": ["-m", "gunicorn", "--workers", "4", "--preload", "--bind", "127.0.0.1:{port}", "{app}"],
    "uvicorn": ["-m", "uvicorn", "--workers", "4", "--port", "{port}", "--log-level", "warning", "{app}"],
    "uvicorn one": ["-m", "uvicorn", "--port", "{port}", "--log-level", "warning", "{app}"],
    "gunicorn uvicorn": [
        "-m", "gunicorn", "--workers", "4", "--worker-class", "uvicorn.workers.UvicornWorker",
        "--bind", "127.0.0.1:{port}", "{app}",
    ],  # fmt: skip
    "uwsgi": [
        "uwsgi", "--plugin", "python3", "--master", "--processes", "4", "--need-app", "--die-on-term",
        "--http-socket", "127.0.0.1:{port}", "--module", "{app}", "--pythonpath", APPS,
    ],
}  # fmt: skip


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def serving(server, app, directory=APPS, **environment):
    """The port of a server with four workers. Whatever becomes of the test, it and its workers end."""
    port = free_port()
    words = [word.format(port=port, app=app) for word in COMMANDS[server]]
    if words[0] == "-m":
        words = [sys.executable, *words]
    elif shutil.which(words[0]) is None:
        raise FileNotFoundError(words[0])
    path = os.pathsep.join([os.path.abspath(directory), os.environ["PYTHONPATH"]])
    log = open(os.path.join(os.environ["RL_WORK"], f"server.{port}.log"), "w+b")
    with log, subprocess.Popen(
        words, cwd=directory, env=dict(os.environ, PYTHONPATH=path, **environment), stdout=log, stderr=log,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            until = time.monotonic() + PATIENCE
            while not answers(port):
                assert process.poll() is None and time.monotonic() < until, open(log.name).read()
                time.sleep(0.05)
            yield port
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # its workers, if it left some


def ask(port, path="/", headers=None):
    """(status, headers, body) of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def hang_up(port, path):
    """Ask, and be gone when some of the answer is there."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as one:
        one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        while len(one.recv(1 << 16, socket.MSG_PEEK)) < 1 << 12:
            time.sleep(0.01)


def storm(port, path="/", requests=400, threads=8, headers=None):
    """How often each status was answered to so many requests at once."""
    counts, lock = collections.Counter(), threading.Lock()

    def work():
        for _ in range(requests // threads):
            status = ask(port, path, headers)[0]
            with lock:
                counts[status] += 1

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return dict(counts)
