#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""php-fpm with a static and a dynamic pool, and mod_php: four workers admit exactly 50 of 400, though one is killed.

Each opens the segment once, whatever the number of requests; what a killed worker held comes back. Run from the top.
"""
import collections
import glob
import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
SOON = 60  # seconds until something that comes at once is given up


def wait_for(what, condition):
    deadline = time.monotonic() + SOON
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not in {SOON} s")
        time.sleep(0.05)


def parse(head):
    """(status, worker, maps) of the head of an answer."""
    fields = dict(line.split(": ", 1) for line in head.replace("\r", "").split("\n") if ": " in line)
    lower = {name.lower(): value for name, value in fields.items()}
    return int(lower.get("status", "200").split()[0]), int(lower.get("x-worker", 0)), int(lower.get("x-maps", 0))


def record(kind, body):
    return struct.pack("!BBHHBx", 1, kind, 1, len(body), 0) + body


def pair(name, value):
    return struct.pack("!II", len(name) | 1 << 31, len(value) | 1 << 31) + name.encode() + value.encode()


def fastcgi_ask(s, path, script, query, client):
    parameters = {"SCRIPT_FILENAME": script, "QUERY_STRING": query, "REQUEST_METHOD": "GET", "SERVER_PROTOCOL": "HTTP/1.1",
                  "REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": client}
    s.connect(path)
    s.sendall(record(1, struct.pack("!HB5x", 1, 0)) +
              record(4, b"".join(pair(*item) for item in parameters.items())) + record(4, b"") + record(5, b""))


def fastcgi(path, script, query, client):
    """One request to php-fpm: the head of its answer."""
    with socket.socket(socket.AF_UNIX) as s:
        fastcgi_ask(s, path, script, query, client)
        data = b"".join(iter(lambda: s.recv(65536), b""))
    out, at = b"", 0
    while at + 8 <= len(data):
        kind, length, padding = data[at + 1], *struct.unpack("!HB", data[at + 4:at + 7])
        if kind == 6:
            out += data[at + 8:at + 8 + length]
        elif kind == 7 and "purpose" not in query:
            sys.exit("php: " + data[at + 8:at + 8 + length].decode())
        at += 8 + length + padding
    if not out:
        raise ConnectionError("no answer")
    return out.decode().split("\r\n\r\n")[0]


class Server:
    """A directory with all that the server needs, readable by everybody, and the server in it."""

    def __init__(self, name):
        self.segment = f"php-{name}-{os.getpid()}"
        self.dir = tempfile.mkdtemp(prefix="rl-php-")
        os.chmod(self.dir, 0o777)
        self.copy(f"{HERE}/app.php", os.environ["RL_EXTENSION"], "build/librl.so.1")
        shutil.copytree(f"{HERE}/../src", f"{self.dir}/src")
        os.chmod(f"{self.dir}/src", 0o755)
        self.environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": self.dir, "RL_SRC": f"{self.dir}/src",
                            "RL_SEGMENT": self.segment, "RL_DIR": self.dir}
        self.write("php.ini", f"extension={self.dir}/rl.so\nextension=mbstring.so\nerror_reporting=24575\ndisplay_errors=1\n")

    def copy(self, *files):
        for file in files:
            shutil.copy(file, self.dir)
            os.chmod(os.path.join(self.dir, os.path.basename(file)), 0o755)

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w", encoding="utf-8") as file:
            file.write(text)

    def __enter__(self):
        log = open(f"{self.dir}/log", "w", encoding="utf-8")
        # In a session of its own: Apache ends by a signal to all of its process group.
        self.process = subprocess.Popen(self.command, env=self.environment, cwd=self.dir, stdout=log, stderr=log,
                                        start_new_session=True)
        wait_for(f"{self.command[0]} answers", self.answers)
        return self

    def __exit__(self, *error):
        if error[0]:
            for log in glob.glob(f"{self.dir}/*log"):
                print(open(log, encoding="utf-8", errors="replace").read()[-2000:])
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        subprocess.run([os.environ["RLCTL"], "--segment", self.segment, "unlink", "--yes"], capture_output=True, check=False)
        shutil.rmtree(self.dir)

    def answers(self):
        if self.process.poll() is not None:
            sys.exit(f"{self.command}: " + open(f"{self.dir}/log", encoding="utf-8").read())
        try:
            return self.ask("")[0] == 200
        except OSError:
            return False

    def ask(self, query, client=""):
        return parse(self.head(f"do={query}", client))


class Fpm(Server):
    def __init__(self, pool):
        super().__init__("fpm")
        self.write("fpm.conf", f"[global]\nerror_log={self.dir}/error.log\ndaemonize=no\n[www]\nlisten={self.dir}/socket\n"
                   f"listen.backlog=1024\nuser=root\ngroup=root\nclear_env=no\npm.max_children=4\n{pool}\n")
        binary = shutil.which("php-fpm") or sorted(glob.glob("/usr/sbin/php-fpm*"))[-1]
        self.command = [binary, "-R", "-c", f"{self.dir}/php.ini", "-n", "-y", f"{self.dir}/fpm.conf"]
        # -n leaves out every ini file: what is needed is said here.
        self.command += ["-d", f"extension={self.dir}/rl.so", "-d", "extension=mbstring.so", "-d", "error_reporting=24575"]

    def head(self, query, client):
        return fastcgi(f"{self.dir}/socket", f"{self.dir}/app.php", query, client)

    def hang_up(self, query):
        with socket.socket(socket.AF_UNIX) as s:
            fastcgi_ask(s, f"{self.dir}/socket", f"{self.dir}/app.php", query, "")
            s.recv(4096)


class ModPhp(Server):
    def __init__(self):
        super().__init__("apache")
        self.ours = socket.socket()  # as long as it does not listen, Apache may have the port as well, and nobody else
        self.ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.ours.bind(("127.0.0.1", 0))
        self.port = self.ours.getsockname()[1]
        modules = "/usr/lib/apache2/modules"
        php = sorted(glob.glob(f"{modules}/libphp*.so"))[-1]
        load = "".join(f"LoadModule {name}_module {file}\n" for name, file in (
            ("mpm_prefork", f"{modules}/mod_mpm_prefork.so"), ("authz_core", f"{modules}/mod_authz_core.so"), ("php", php)))
        self.write("apache.conf", f"ServerRoot {self.dir}\nServerName localhost\nListen 127.0.0.1:{self.port}\n{load}"
                   f"PidFile {self.dir}/pid\nErrorLog {self.dir}/error.log\nDocumentRoot {self.dir}\nPHPINIDir {self.dir}\n"
                   "User www-data\nGroup www-data\nStartServers 4\nMinSpareServers 4\nMaxSpareServers 4\nMaxRequestWorkers 4\n"
                   f"KeepAlive Off\n<FilesMatch \\.php$>\nSetHandler application/x-httpd-php\n</FilesMatch>\n"
                   f"<Directory {self.dir}>\nRequire all granted\n</Directory>\n")
        self.environment["PHP_INI_SCAN_DIR"] = ""
        self.command = ["/usr/sbin/apache2", "-DFOREGROUND", "-f", f"{self.dir}/apache.conf"]

    def head(self, query, client):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/app.php?{query}", headers={"X-Forwarded-For": client})
        try:
            with urllib.request.urlopen(request, timeout=SOON) as answer:
                answer.read()  # else it is a client that hangs up
                return f"Status: {answer.status}\n{answer.headers}"
        except urllib.error.HTTPError as answer:
            return f"Status: {answer.code}\n{answer.headers}"
        except urllib.error.URLError as error:
            raise OSError(error) from error
        except http.client.HTTPException as error:
            raise OSError(error) from error


    def hang_up(self, query):
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.sendall(f"GET /app.php?{query} HTTP/1.0\r\n\r\n".encode())
            s.recv(4096)


def many(server, query, count, client_of=lambda i: ""):
    answers, lock = [], threading.Lock()
    left = [count]

    def work():
        while True:
            with lock:
                if left[0] == 0:
                    return
                left[0] -= 1
                client = client_of(left[0])
            answer = server.ask(query, client)
            with lock:
                answers.append(answer)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == count, f"{len(answers)} answers of {count}"
    return answers


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return ") Z " in file.read()
    except OSError:
        return True


def kill(pid):
    """Whether it was there to be killed: a pool may have ended it."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    wait_for(f"the end of {pid}", lambda: is_gone(pid))
    return True


def exactly_fifty(server, what):
    first = many(server, what, 30)
    assert any(worker > 0 and kill(worker) for _, worker, _ in reversed(first)), f"{what}: no worker was there to be killed"
    answers = first + many(server, what, 370)
    admitted = sum(status == 200 for status, _, _ in answers)
    assert {status for status, _, _ in answers} == {200, 429}, f"{what}: other answers"
    assert admitted == 50, f"{what}: admitted {admitted} of 400"
    maps = {maps for _, _, maps in answers}
    assert len(maps) == 1 and maps != {0}, f"{what}: mapped {maps} times: opened more than once in a process"
    return len({worker for _, worker, _ in answers})


def holder(server):
    found = glob.glob(f"{server.dir}/holding-*")
    return int(found[0].rsplit("-", 1)[1]) if found else None


def what_is_held(server):
    for _ in range(8):
        server.ask("hold")
    assert server.ask("free")[0] == 200, "what exit() left is held"

    def hang():
        try:
            server.ask("hang")
        except OSError:
            pass

    thread = threading.Thread(target=hang)
    thread.start()
    wait_for("a holder", lambda: holder(server))
    assert server.ask("free")[0] == 429, "not held"
    kill(holder(server))
    thread.join()
    wait_for("what a killed worker held", lambda: server.ask("free")[0] == 200)


def rlctl(server, *words):
    done = subprocess.run([os.environ["RLCTL"], "--segment", server.segment, "--json", *words], capture_output=True, text=True,
                          check=True, env=server.environment)
    return json.loads(done.stdout)


def used(server, key, rule="login"):
    return rlctl(server, "get", rule, key)["limits"][0]["counted"]["used"]


def in_flight(server, rule):
    return sum(key["used"] for key in rlctl(server, "list", "--rule", rule)["keys"])


def failures_alone_count(server):
    """50 wrong guesses, 1,000 right ones, those that break, one whose worker is killed, and 1,000 of one network."""
    def told(*request):
        return dict(collections.Counter(status for status, _, _ in many(server, *request)))

    assert told("wrong", 50, lambda i: "192.0.2.1") == {401: 5, 429: 45}
    assert told("right", 1000, lambda i: "192.0.2.2") == {200: 1000}
    wait_for("failures alone", lambda: (used(server, "192.0.2.1"), used(server, "192.0.2.2")) == (5, 0))
    for what, count in (("fatal", 0), ("thrown", 0), ("server", 1), ("killed", 2)):
        try:
            server.ask(f"{what}&on purpose".replace(" ", "+"), "192.0.2.2")
        except OSError:
            assert what == "killed", what
        wait_for(f"{count} after {what}", lambda: used(server, "192.0.2.2") == count)
    assert told("wrong", 1000, lambda i: f"2001:db8:0:7::{i + 1:x}") == {401: 5, 429: 995}
    assert used(server, "2001:db8:0:7::") == 5
    for address in ("2001:db8:0:107::1", "192.0.2.3", "::ffff:192.0.2.3"):
        assert server.ask("v56", address)[0] == 200
    assert (used(server, "2001:db8:0:100::"), used(server, "192.0.2.3")) == (1, 2)


def what_is_used_is_what_it_has_cost(server):
    """A block, a closure that tells, none that knows, a fatal error, a killed worker, and clients that hang up; streams."""
    expected = 0
    for what, cost in (("within", 15), ("more", 100), ("unknown", 40), ("fatal&purpose", 40), ("killed", 40)):
        try:
            server.ask(f"pay-{what}")
        except OSError:
            assert what == "killed", what
        expected += cost
        wait_for(f"{expected} after {what}", lambda: used(server, "one", "tokens") == expected)
    sent = 0
    for what in ("endless", "sending"):
        server.hang_up(f"do=pay-{what}")
        wait_for(f"the end of {what}", lambda: in_flight(server, "sending") == 0)
        assert used(server, "all", "parts") > sent
        sent = used(server, "all", "parts")
        wait_for(f"{sent} of {what}", lambda: used(server, "one", "tokens") == expected + sent)
    server.ask("pay-sent")  # whose answer has ended before it is settled
    wait_for("15 more", lambda: used(server, "one", "tokens") == expected + sent + 15)
    while server.ask("pay-more")[0] == 200:
        pass
    wait_for("all of it", lambda: used(server, "one", "tokens") > 2960)


def play(name, server, is_long=False):
    with server:
        workers = max(exactly_fifty(server, what) for what in ("native", "symfony", "laravel"))
        assert workers > 1, "only one worker has answered"
        what_is_held(server)
        what_is_used_is_what_it_has_cost(server)
        if is_long:
            failures_alone_count(server)
    print(f"{name}: 50 of 400, by {workers} workers")


def main():
    if os.geteuid() != 0:
        print("servers.py: php-fpm's pool and Apache's children need root to change their user")
        return 77
    play("php-fpm, static", Fpm("pm=static"), is_long=True)
    play("php-fpm, dynamic", Fpm("pm=dynamic\npm.start_servers=2\npm.min_spare_servers=1\npm.max_spare_servers=3"))
    play("mod_php", ModPhp())
    return 0


if __name__ == "__main__":
    sys.exit(main())
