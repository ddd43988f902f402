# SPDX-License-Identifier: BSD-2-Clause
"""A real nginx with the modules, on a free port of 127.0.0.1, in a directory and with a segment of its own.

Run from the top, after `make build-nginx`. RL_NGINX_VARIANT names another build of the modules: clang or asan;
or valgrind, which runs the usual one.
"""
import contextlib
import http.client
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "tests", "support"))
from ports import free_port  # noqa: E402

BUILD = os.path.join(TOP, "build")
VARIANT = os.environ.get("RL_NGINX_VARIANT", "")
MODULES = os.path.join(BUILD, "nginx", VARIANT if VARIANT in ("clang", "asan") else "")
LIBRARY = os.path.join(BUILD, "v", "asan") if VARIANT == "asan" else BUILD
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
STREAM_MODULE = "/usr/lib/nginx/modules/ngx_stream_module.so"
PATIENCE = 60  # seconds for what ought to happen at once
numbers = itertools.count(1)


def eventually(condition, what="what is waited for"):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen")
        time.sleep(0.02)


def unique_segment():
    return f"ngx-test-{os.getpid()}-{next(numbers)}"


def rlctl(segment, *arguments, check=True, json_out=False):
    command = [os.path.join(BUILD, "rlctl"), "--segment", segment, *arguments]
    done = subprocess.run(command + (["--json"] if json_out else []), capture_output=True, text=True, check=False)
    if check and done.returncode > 1:
        raise AssertionError(f"{command}: {done.stderr}")
    return json.loads(done.stdout) if json_out else done


def used(segment, rule, key):
    """What rlctl says that each limit of the rule counts for the key, in their order; none where it is idle."""
    entries = [e for e in rlctl(segment, "list", json_out=True)["keys"] if (e["rule"], e["key"]) == (rule, key)]
    return [e["used"] for e in sorted(entries, key=lambda e: e["limit_number"])]


def counter(segment, name):
    return rlctl(segment, "status", json_out=True)["counters"][name]


def unlink_segment(name):
    rlctl(name, "unlink", "--yes", check=False)


def configure(segment, rules, where, **of_segment):
    """Put rl.json into force, as an administrator does."""
    path = os.path.join(where, "rl.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"segment": {"name": segment, **of_segment}, "rules": rules}, f)
    done = subprocess.run([os.path.join(BUILD, "rlctl"), "config", "reload", "--config", path],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)


class Response:
    def __init__(self, raw, body):
        self.status = raw.status
        self.fields = raw.getheaders()
        self.body = body

    def __getitem__(self, name):
        return ", ".join(v for k, v in self.fields if k.lower() == name.lower()) or None


class Nginx:
    def __init__(self, http="", stream="", main="", workers=1, segment=None, declare=True, user="www-data",
                 events="", root=None, daemon=False):
        self.root = root or tempfile.mkdtemp(prefix="rl-nginx-")
        os.chmod(self.root, 0o755)
        self.port, self.port2, self.stream_port = free_port(), free_port(), free_port()
        self.segment = segment or unique_segment()
        self.declare = declare
        self.workers, self.user, self.main, self.events = workers, user, main, events
        self.http, self.stream = http, stream
        self.daemon = daemon  # a binary is upgraded under a daemon alone
        self.process = None
        self.may_complain = False  # of alerts: a test that kills workers says so
        for name in ("logs", "html"):
            os.makedirs(os.path.join(self.root, name), exist_ok=True)
        for name in ("index.html", "a", "b", "c"):
            with open(os.path.join(self.root, "html", name), "w", encoding="ascii") as f:
                f.write(f"{name}\n")

    def write(self):
        segment = f"rl_segment {self.segment} keys=1000;" if self.declare is True else self.declare or ""
        values = {"PORT": self.port, "PORT2": self.port2, "STREAM_PORT": self.stream_port, "ROOT": self.root,
                  "SEGMENT": self.segment}
        fill = lambda text: re.sub(r"%(\w+)%", lambda m: str(values[m.group(1)]), text)
        user = f"user {self.user};" if os.geteuid() == 0 else ""
        formats = "\n".join(
            f"client_body_temp_path temp; {m}_temp_path temp;" if m == "proxy" else f"{m}_temp_path temp;"
            for m in ("proxy", "fastcgi", "uwsgi", "scgi"))
        parts = [f"load_module {MODULES}/ngx_http_rl_module.so;"]
        if self.stream:
            parts += [f"load_module {STREAM_MODULE};", f"load_module {MODULES}/ngx_stream_rl_module.so;"]
        parts += [user, "pid nginx.pid;", "" if self.daemon else "daemon off;",
                  "".join(f"env {name}; " for name in ("LD_LIBRARY_PATH", "LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS")), f"worker_processes {self.workers};",
                  "error_log logs/error.log info;", self.main,
                  f"events {{ {'' if 'worker_connections' in self.events else 'worker_connections 1024;'} {self.events} }}"]
        if self.http:
            parts += ["http {", "default_type text/plain;", formats, segment,
                      "log_format rl '$uri $status $rl_status $rl_limit_req_status $rl_limit_conn_status';",
                      "access_log logs/access.log rl;", self.http, "}"]
        if self.stream:
            parts += ["stream {", segment, self.stream, "}"]
        with open(os.path.join(self.root, "nginx.conf"), "w", encoding="utf-8") as f:
            f.write(fill("\n".join(parts)) + "\n")

    def command(self, *arguments):
        command = [NGINX, "-p", self.root, "-c", "nginx.conf", *arguments]
        if VARIANT == "valgrind":
            command = ["valgrind", "-q", "--error-exitcode=99", "--trace-children=yes", "--vgdb=no",
                       f"--log-file={self.root}/logs/valgrind.%p"] + command
        return command

    def environment(self):
        env = dict(os.environ, LD_LIBRARY_PATH=LIBRARY)
        if VARIANT == "asan":
            library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True,
                                     check=True).stdout.strip()
            ubsan = subprocess.run(["gcc", "-print-file-name=libubsan.so"], capture_output=True, text=True,
                                   check=True).stdout.strip()
            env.update(LD_PRELOAD=f"{library} {ubsan}",
                       ASAN_OPTIONS="detect_leaks=0:detect_odr_violation=0:halt_on_error=1:abort_on_error=0:exitcode=98",
                       UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
        return env

    def test(self):
        """nginx -t: its exit status and what it says."""
        self.write()
        done = subprocess.run(self.command("-t"), capture_output=True, text=True, env=self.environment(), check=False)
        return done.returncode, done.stderr

    def start(self):
        self.write()
        self.stderr = open(os.path.join(self.root, "logs", "stderr"), "ab")
        self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=self.stderr,
                                        stderr=self.stderr, env=self.environment())
        eventually(self.is_up, "nginx's start")
        return self

    def is_up(self):
        if self.process.poll() not in (None, 0 if self.daemon else None):
            raise AssertionError("nginx ended: " + self.read("stderr") + self.log())
        if self.workers > 0:
            return len(self.worker_pids()) == self.workers
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
            return True
        except OSError:
            return False

    def pid(self):
        with open(os.path.join(self.root, "nginx.pid"), encoding="ascii") as f:
            return int(f.read())

    def worker_pids(self, master=None):
        try:
            pid = master or self.pid()
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
                return [int(p) for p in f.read().split() if self.is_worker(p)]
        except (OSError, ValueError):
            return []

    def is_worker(self, pid):
        if VARIANT == "valgrind":  # whose processes have its own command line
            log = self.log()
            return f"start worker process {pid}\n" in log and f" {pid}#{pid}: gracefully shutting down" not in log
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                text = f.read()
        except OSError:
            return False
        return b"worker process" in text and b"shutting down" not in text

    def reload(self):
        before = self.log_count("gracefully shutting down") + len(self.worker_pids())
        old = set(self.worker_pids())
        self.write()
        os.kill(self.pid(), signal.SIGHUP)
        eventually(lambda: len(self.worker_pids()) == self.workers and not old & set(self.worker_pids()), "a reload")
        return before

    def stop(self):
        if self.process is None:
            return
        if self.daemon:
            self.end(self.pid())
        try:
            eventually(self.has_ended, "nginx's end")
        except AssertionError:
            self.process.kill()
            raise
        finally:
            self.process = None
            self.stderr.close()

    def has_ended(self):
        """A single process that waits for events just now has not seen the last signal."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
        return self.process.poll() is not None

    @staticmethod
    def end(pid):
        """End a daemon of this test."""
        os.kill(pid, signal.SIGTERM)

        def is_gone():
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                    return f.read().rsplit(")", 1)[1].split()[0] == "Z"
            except OSError:
                return True
        eventually(is_gone, f"the end of {pid}")

    def log_path(self, name="error.log"):
        return os.path.join(self.root, "logs", name)

    def read(self, name):
        try:
            with open(self.log_path(name), encoding="utf-8", errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def log(self):
        return self.read("error.log")

    def log_count(self, text):
        return self.log().count(text)

    def access(self, count=0):
        """The lines of the access log, once there are so many: a request is logged after its answer was sent."""
        eventually(lambda: len(self.read("access.log").splitlines()) >= count, f"{count} lines of the log")
        return self.read("access.log").splitlines()

    def complaints(self):
        # A worker that does not end within a second of SIGTERM, for the machine is busy, is killed by the master.
        lines = [l for l in self.log().splitlines()
                 if re.search(r"\[(alert|emerg|crit)\]", l) and "exited on signal 9" not in l]
        found = [] if self.may_complain else lines
        found += [l for l in self.read("stderr").splitlines() if "ERROR" in l or "runtime error" in l]
        for name in os.listdir(os.path.join(self.root, "logs")):
            if name.startswith("valgrind."):
                # What begins with -- is of valgrind itself: 3.19 does not know pidfd_open(2), and librl does without.
                found += [l for l in self.read(name).splitlines() if not l.startswith("--")]
        return found

    def clean(self):
        shutil.rmtree(self.root, ignore_errors=True)
        unlink_segment(self.segment)

    def connect(self, port=None):
        return http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE)

    def get(self, path, connection=None, method="GET", body=None, port=None, **headers):
        c = connection or self.connect(port)
        c.request(method, path, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
        raw = c.getresponse()
        response = Response(raw, raw.read().decode())
        if connection is None:
            c.close()
        return response

    def statuses(self, path, count, **headers):
        return [self.get(path, **headers).status for _ in range(count)]


class Backend:
    """A server that answers a request when it is told to: `held` requests wait until release()."""

    def __init__(self):
        self.server = socket.socket()
        self.server.bind(("127.0.0.1", 0))
        self.server.listen(256)
        self.port = self.server.getsockname()[1]
        self.lock = threading.Condition()
        self.usage = b""  # a field more
        self.held, self.free, self.ending = 0, 0, False
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(client,), daemon=True).start()

    def answer(self, client):
        with client, contextlib.suppress(OSError):
            data = b""
            while b"\r\n\r\n" not in data:
                more = client.recv(4096)
                if not more:
                    return
                data += more
            if data.split(b" ")[1].startswith(b"/hold"):
                with self.lock:
                    self.held += 1
                    self.lock.notify_all()
                    self.lock.wait_for(lambda: self.free > 0 or self.ending, PATIENCE)
                    self.free -= 1
                    self.held -= 1
            client.sendall(b"HTTP/1.0 200 OK\r\n" + self.usage + b"Content-Length: 3\r\n\r\nok\n")

    def wait_held(self, count):
        with self.lock:
            if not self.lock.wait_for(lambda: self.held >= count, PATIENCE / 2):
                raise AssertionError(f"{self.held} requests are held, {count} were to be")

    def release(self, count=1):
        with self.lock:
            self.free += count
            self.lock.notify_all()

    def stop(self):
        with self.lock:
            self.ending = True
            self.lock.notify_all()
        self.server.shutdown(socket.SHUT_RDWR)  # accept() returns; else it might take what comes to the next backend
        self.thread.join()
        self.server.close()


class Pending:
    """A request that is under way in a thread."""

    def __init__(self, nginx, path, **headers):
        self.response, self.error = None, None
        self.thread = threading.Thread(target=self.run, args=(nginx, path, headers), daemon=True)
        self.thread.start()

    def run(self, nginx, path, headers):
        try:
            self.response = nginx.get(path, **headers)
        except (OSError, http.client.HTTPException) as error:
            self.error = error

    def wait(self):
        self.thread.join(PATIENCE)
        return self.response


def open_request(nginx, path, port=None):
    """Send a request and leave the connection open: to close it before the answer."""
    s = socket.create_connection(("127.0.0.1", port or nginx.port), PATIENCE)
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return s


def hold(n, origin, path, count=1, **headers):
    """`count` requests that are under way, and held by the backend."""
    before = origin.held
    pending = [Pending(n, path, **headers) for _ in range(count)]
    try:
        origin.wait_held(before + count)
    except AssertionError as error:
        raise AssertionError(f"{error}; {[(p.response and p.response.status, p.error) for p in pending]}; "
                             f"{n.access()}; {n.log()[-3000:]}") from error
    return pending


class Case(unittest.TestCase):
    """Starts servers and leaves nothing; a server that complained of what no test expects has failed it."""

    def setUp(self):
        self.servers = []

    def tearDown(self):
        found = []
        for server in self.servers:
            server.stop()
            if isinstance(server, Nginx):
                found += server.complaints()
                server.clean()
        self.assertEqual(found, [])

    def nginx(self, http="", start=True, **others):
        server = Nginx(http, **others)
        self.servers.append(server)
        return server.start() if start else server

    def backend(self):
        server = Backend()
        self.servers.append(server)
        return server

    def refuses(self, http, text, **others):
        """nginx -t says this of such a configuration."""
        server = self.nginx(http, start=False, **others)
        status, said = server.test()
        self.assertNotEqual(status, 0, http)
        self.assertIn(text, said)

    def accepts(self, http, **others):
        server = self.nginx(http, start=False, **others)
        status, said = server.test()
        self.assertEqual(status, 0, said)


def main():
    missing = [p for p in (NGINX, "curl") if shutil.which(p) is None]
    if missing:
        print("without " + ", ".join(missing))
        sys.exit(77)
    unittest.main(verbosity=1)
