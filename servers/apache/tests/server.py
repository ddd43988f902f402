# SPDX-License-Identifier: BSD-2-Clause
"""An Apache with mod_rl in a directory of its own, a backend that answers when it is told, and requests.

RL_APACHE_BUILD names the directory with mod_rl.so, RL_BUILD that with rlctl and librl.so.1.
"""
import collections
import glob
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests", "support"))
from ports import free_port  # noqa: E402

BUILD = os.path.abspath(os.environ.get("RL_BUILD", os.path.join(TOP, "build")))
MODULE = os.path.abspath(os.path.join(os.environ.get("RL_APACHE_BUILD", os.path.join(BUILD, "apache")), "mod_rl.so"))
MODULES = "/usr/lib/apache2/modules"
PATIENCE = 120  # seconds until a test gives up on what must happen

BASIC = ("authz_core", "authz_host", "mime", "dir", "alias", "env", "setenvif", "headers", "rewrite", "include",
         "proxy", "proxy_http", "authn_core", "authn_file", "auth_basic", "authz_user", "remoteip",
         "access_compat", "negotiation", "autoindex", "status", "http2")

MPM = {
    "prefork": "StartServers {n}\nMinSpareServers {n}\nMaxSpareServers {n}\nServerLimit {n}\nMaxRequestWorkers {n}\n",
    "worker": "StartServers {n}\nServerLimit {s}\nThreadsPerChild 4\nThreadLimit 4\nMaxRequestWorkers {t}\n"
              "MinSpareThreads {t}\nMaxSpareThreads {t}\n",
    "event": "StartServers {n}\nServerLimit {s}\nThreadsPerChild 4\nThreadLimit 4\nMaxRequestWorkers {t}\n"
             "MinSpareThreads {t}\nMaxSpareThreads {t}\nAsyncRequestWorkerFactor 4\n",
}

names = iter(range(1, 1 << 30))

Answer = collections.namedtuple("Answer", "status fields body")


def segment_name():
    return f"rlap-{os.getpid()}-{next(names)}"


def eventually(what, about="it"):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{about} did not happen within {PATIENCE} s")


def rlctl(segment, *words, check=True):
    done = subprocess.run([os.path.join(BUILD, "rlctl"), "--segment", segment, *words], capture_output=True, text=True)
    if check and done.returncode == 2:
        raise AssertionError(f"rlctl {' '.join(words)}: {done.stderr}")
    return done


def used(segment, rule, key):
    """What counts of the key, as rlctl tells it; summed over the rule's limits."""
    done = rlctl(segment, "get", rule, key, "--json", check=False)
    if done.returncode != 0:
        return 0
    return sum(limit["used"] for limit in walk_limits(json.loads(done.stdout)))


def walk_limits(value):
    if isinstance(value, dict):
        if "used" in value and "remaining" in value:
            yield value
            return
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from walk_limits(item)


def mappings(pid):
    """How many segments the process has open."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return file.read().count("/dev/shm/")


def unlink(segment):
    for path in glob.glob(f"/dev/shm/rl.{segment}") + glob.glob(f"/dev/shm/rl/rl.{segment}"):
        os.unlink(path)


class Backend:
    """Answers when it is told to: `arrived` requests wait until go() lets them."""

    def __init__(self):
        backend = self
        self.lock = threading.Condition()
        self.arrived = self.left = 0
        self.is_open = False
        self.seen = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                backend.wait(self.path, dict(self.headers))
                body = b"from the backend\n"
                try:
                    self.send_response(401 if "fail" in self.path else 200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass

            do_POST = do_GET

            def log_message(self, *words):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait(self, path, fields):
        with self.lock:
            self.seen.append((path, fields))
            self.arrived += 1
            self.lock.notify_all()
            self.lock.wait_for(lambda: self.is_open, PATIENCE)
            self.left += 1
            self.lock.notify_all()

    def await_arrived(self, count):
        with self.lock:
            if not self.lock.wait_for(lambda: self.arrived >= count, PATIENCE):
                raise AssertionError(f"{self.arrived} of {count} requests came to the backend")

    def go(self, is_open=True):
        with self.lock:
            self.is_open = is_open
            self.lock.notify_all()

    def stop(self):
        self.go()
        self.server.shutdown()
        self.server.server_close()


class Apache:
    def __init__(self, body, segment=None, mpm="event", children=2, modules=(), options="", start=True, module=MODULE,
                 fails=False, head=""):
        self.segment = segment or segment_name()
        self.is_own = segment is None
        self.root = tempfile.mkdtemp(prefix="rl-apache-")
        os.chmod(self.root, 0o755)
        os.mkdir(os.path.join(self.root, "htdocs"))
        os.mkdir(os.path.join(self.root, "asan"))
        os.chmod(os.path.join(self.root, "asan"), 0o777)
        self.write("htdocs/index.html", "hello\n")
        self.mpm, self.children_wanted, self.modules = mpm, children, BASIC + tuple(modules)
        self.options, self.head, self.body, self.module = options, head, body, module
        self.port = free_port()
        self.process = self.crashes = None
        self.configure(body)
        if start:
            try:
                self.start(fails)
            except BaseException:
                self.close()
                raise

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def path(self, name):
        return os.path.join(self.root, name)

    def read(self, name):
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def log(self):
        return self.read("error.log")

    def configure(self, body, options=None):
        self.body = body
        self.options = self.options if options is None else options
        limits = MPM[self.mpm].format(n=self.children_wanted, t=4 * self.children_wanted,
                                         s=4 * self.children_wanted)  # room for those that still finish
        loads = "".join(f"LoadModule {m}_module {MODULES}/mod_{m}.so\n" for m in (f"mpm_{self.mpm}",) + self.modules)
        segment = f"RLSegment {self.segment} {self.options}\n" if self.options is not None else ""
        self.write("httpd.conf", f"""ServerRoot {self.root}
DefaultRuntimeDir {self.root}
PidFile {self.root}/pid
ErrorLog {self.root}/error.log
LogLevel info
{loads}{self.head}
LoadModule rl_module {self.module}
{limits}
User www-data
Group www-data
ServerName localhost
Listen 127.0.0.1:{self.port}
Protocols h2c http/1.1
TypesConfig /dev/null
DocumentRoot {self.root}/htdocs
LogFormat "%P %>s %U %{{RL_STATUS}}e %{{RL_RULE}}n %{{RL_REMAINING}}e %{{RL_RETRY_AFTER}}n" rl
CustomLog {self.root}/access.log rl
Timeout 600
{segment}{body.replace("@ROOT@", self.root)}
""")

    def command(self, *words):
        env = dict(os.environ, LD_LIBRARY_PATH=BUILD)
        env.update(self.environment())
        return ["/usr/sbin/apache2", "-d", self.root, "-f", self.path("httpd.conf"), *words], env

    def environment(self):
        if "asan" not in self.module:
            return {}
        found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
        return {"LD_PRELOAD": found.stdout.strip(),
                "ASAN_OPTIONS": f"detect_leaks=0:abort_on_error=0:log_path={self.root}/asan/log",
                "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={self.root}/asan/log"}

    def test_config(self):
        command, env = self.command("-t")
        return subprocess.run(command, env=env, capture_output=True, text=True)

    def has_port(self):
        """Of one before there may be a child that listens still."""
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", self.port))
                probe.listen()
            except OSError:
                return False
        return True

    def start(self, fails=False, user=None):
        eventually(self.has_port, "the port of one before is free")
        command, env = self.command("-DFOREGROUND")
        self.output = open(self.path("output"), "a", encoding="utf-8")
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=self.output,
                                        start_new_session=True, user=user,
                                        stderr=self.output)
        if fails:
            self.process.wait(PATIENCE)
            return
        eventually(self.is_up, "the start of Apache")

    def is_up(self):
        if self.process.poll() is not None:
            raise AssertionError(f"Apache ended: {self.read('output')}{self.log()}")
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
            return len(self.children()) >= self.children_wanted
        except OSError:
            return False

    def children(self):
        found = []
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(path, encoding="utf-8") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == self.process.pid and fields[0] not in "ZX":
                found.append(int(path.split("/")[2]))
        return found

    def generations(self):
        return self.log().count("resuming normal operations")

    def restart(self, is_graceful=True):
        before = self.generations()
        if not is_graceful:
            self.end_hard()
        self.process.send_signal(signal.SIGUSR1 if is_graceful else signal.SIGHUP)
        eventually(lambda: self.generations() > before, "the restart")
        eventually(self.is_up, "the start of the next generation")

    def end_hard(self):
        """From here on a crash tells nothing: where children are told to end at once, worker and event close sockets
        that their own threads are closing, and now and then die of it, with and without other modules."""
        if self.mpm != "prefork" and self.crashes is None:
            self.crashes = self.segfaults()

    def segfaults(self):
        return [line for line in self.log().splitlines() if "exit signal" in line and "Killed" not in line]

    def sanitizer_reports(self):
        """Those in which the module or the library has a part."""
        texts = [self.read(path) for path in glob.glob(self.path("asan/*"))]
        return [text for text in texts if "mod_rl" in text or "libshm" in text or "runtime error" in text]

    def kill_child(self, pid):
        before = set(self.children())
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: pid not in self.children(), "the end of a child")
        return before

    def stop(self):
        if self.process and self.process.poll() is None:
            children = self.children()
            self.end_hard()
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                for pid in [self.process.pid] + children:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                self.process.wait()
        if self.process:
            self.output.close()
            self.process = None

    def close(self):
        self.stop()
        complaints = self.sanitizer_reports()
        crashes = self.segfaults() if self.crashes is None else self.crashes
        shutil.rmtree(self.root, ignore_errors=True)
        if self.is_own:
            unlink(self.segment)
        if complaints or crashes:
            raise AssertionError("\n".join(complaints + crashes))

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        if kind:
            print(self.log()[-3000:])
        self.close()

    # Requests

    def get(self, path="/", fields=None, method="GET", source="127.0.0.1", body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE, source_address=(source, 0))
        try:
            connection.request(method, path, body=body, headers=dict(fields or {}, Connection="close"))
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode("utf-8", "replace"))
        finally:
            connection.close()

    def statuses(self, count, path="/", **words):
        return [self.get(path, **words).status for _ in range(count)]

    def many(self, count, threads=8, path="/", **words):
        """Statuses of so many requests of threads at once; -1: the connection broke."""
        found, lock, left = collections.Counter(), threading.Lock(), iter(range(count))

        def run():
            while True:
                with lock:
                    if next(left, None) is None:
                        return
                try:
                    status = self.get(path, **words).status
                except (OSError, http.client.HTTPException):
                    status = -1
                with lock:
                    found[status] += 1

        running = [threading.Thread(target=run) for _ in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return found

    def background(self, path, **words):
        """A request in a thread; .answer when it is done."""
        thread = Background(self, path, words)
        thread.start()
        return thread

    def open_request(self, path, fields=""):
        """A connection on which a request was sent, and no answer read."""
        s = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
        return s

    def curl(self, *words):
        return subprocess.run(["curl", "-sS", "--max-time", str(PATIENCE), *words], capture_output=True, text=True)

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"


class Background(threading.Thread):
    def __init__(self, server, path, words):
        super().__init__(daemon=True)
        self.server, self.path, self.words, self.answer = server, path, words, None

    def run(self):
        try:
            self.answer = self.server.get(self.path, **self.words)
        except (OSError, http.client.HTTPException) as error:
            self.answer = Answer(-1, {}, str(error))
