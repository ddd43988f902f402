# SPDX-License-Identifier: BSD-2-Clause
"""A PostgreSQL of the tests' own: its programs and the extension in one folder, a cluster beside it, a unix socket. Nothing
of the system's is touched, and root is somebody else while it runs.
"""
import glob
import os
import pwd
import shutil
import socket
import struct
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))
RLCTL = os.environ.get("RLCTL", os.path.join(TOP, "build/rlctl"))
CONFIG = os.environ.get("PG_CONFIG", "pg_config")
SOON = 60  # seconds until something that comes at once is given up


def config(what):
    return subprocess.run([CONFIG, "--" + what], check=True, capture_output=True, text=True).stdout.strip()


def nobody():
    """Whom root is: initdb refuses root. Of others, they are themselves."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        except KeyError:
            continue
    raise RuntimeError("there is neither postgres nor nobody")


def wait_for(what, is_so):
    until = time.monotonic() + SOON
    while not is_so():
        if time.monotonic() > until:
            raise AssertionError(f"{what}: not in {SOON} s")
        time.sleep(0.02)


class Postgres:
    """`settings` are lines of postgresql.conf."""

    def __init__(self, segment, settings=()):
        self.root = tempfile.mkdtemp(prefix="rl-postgresql-")
        self.who = nobody()
        self.segment = segment
        self.more = {}  # of the server's environment
        os.chmod(self.root, 0o755)
        self.bin = self._install()
        self.data = os.path.join(self.root, "data")
        self.sockets = os.path.join(self.root, "run")
        for path in (self.data, self.sockets):
            os.mkdir(path, 0o700)
            if self.who:
                os.chown(path, self.who["user"], self.who["group"])
        self.run("initdb", "-D", self.data, "-U", "admin", "--auth=trust", "--no-sync", "--no-instructions", "-E", "UTF8", "--locale=C")
        self.port = 5432
        self.server = None
        self.settings = ["fsync = off", "shared_buffers = 16MB", "max_connections = 40", "log_min_messages = log", "listen_addresses = ''",
                         "unix_socket_directories = '%s'" % self.sockets, "shared_preload_libraries = 'rl'",
                         "rl.segment = '%s'" % segment, *settings]

    def _install(self):
        """PostgreSQL looks for its files beside its program."""
        places = {what: config(what) for what in ("bindir", "pkglibdir", "sharedir")}
        of = {what: self.root + "/usr" + os.path.relpath(path, "/usr").join(("/", "")) for what, path in places.items()}
        for path in of.values():
            os.makedirs(path)
        for program in ("postgres", "initdb"):
            shutil.copy(os.path.join(places["bindir"], program), of["bindir"])
        for what in ("pkglibdir", "sharedir"):
            for path in glob.glob(places[what] + "/*"):
                if os.path.basename(path) not in ("extension", "rl.so"):
                    os.symlink(path, os.path.join(of[what], os.path.basename(path)))
        extension = os.path.join(of["sharedir"], "extension")
        os.mkdir(extension)
        for path in glob.glob(places["sharedir"] + "/extension/plpgsql*") + glob.glob(os.path.join(HERE, "../rl[.-]*")):
            shutil.copy(path, extension)
        shutil.copy(os.path.join(TOP, "build/postgresql/installed.so"), os.path.join(of["pkglibdir"], "rl.so"))
        shutil.copy(os.path.join(TOP, "build/librl.so.1"), self.root)
        return of["bindir"]

    def environment(self, **more):
        return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "LD_LIBRARY_PATH": self.root, **self.more, **more}

    def run(self, program, *arguments):
        subprocess.run([os.path.join(self.bin, program), *arguments], check=True, env=self.environment(), cwd=self.root,
                       stdout=subprocess.DEVNULL, **self.who)

    def start(self, data=None):
        data = data or self.data
        with open(os.path.join(data, "postgresql.auto.conf"), "w", encoding="utf-8") as file:
            file.write("\n".join(self.settings) + "\n")
        self.log = os.path.join(self.root, "log")
        with open(self.log, "ab") as log:
            self.server = subprocess.Popen([os.path.join(self.bin, "postgres"), "-D", data], env=self.environment(), cwd=self.root,
                                           stdout=log, stderr=log, **self.who)
        self.wait_ready()

    def wait_ready(self):
        try:
            wait_for("PostgreSQL answers", lambda: self.server.poll() is not None or self.psql("SELECT 1", check=False).returncode == 0)
            if self.server.poll() is not None:
                raise AssertionError("PostgreSQL has ended")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.logged()}") from error

    def logged(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def stop(self):
        if self.server:
            self.server.send_signal(2)
            self.server.wait(SOON)
            self.server = None

    def remove(self):
        self.stop()
        subprocess.run([RLCTL, "--segment", self.segment, "unlink", "--yes"], capture_output=True, check=False)
        shutil.rmtree(self.root, ignore_errors=True)

    def set(self, *settings):
        """More settings, by a reload: it is over when the server, which tells of it first, lets somebody in."""
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a", encoding="utf-8") as file:
            file.write("\n".join(settings) + "\n")
        before = self.logged().count("reloading configuration files")
        self.server.send_signal(1)
        wait_for("a reload", lambda: self.logged().count("reloading configuration files") > before)
        self.psql("SELECT 1")

    def popen(self, user="admin", database="postgres", **more):
        """A session that reads from its stdin; it prints values alone."""
        return subprocess.Popen(["psql", "-X", "-q", "-A", "-t", "-v", "VERBOSITY=verbose", "-h", self.sockets, "-p", str(self.port),
                                 "-U", user, "-d", database], env={**os.environ, "PGAPPNAME": "rl", **more}, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def psql(self, sql, check=True, **more):
        with self.popen(**more) as session:
            out, err = session.communicate(sql)
        if check and (session.returncode or err):
            raise AssertionError(f"{sql}: {err}")
        return subprocess.CompletedProcess(sql, session.returncode, out, err)

    def value(self, sql, **more):
        return self.psql(sql, **more).stdout.strip()

    def error(self, sql, **more):
        return self.psql(sql, check=False, **more).stderr.strip()


class Session:
    """One that goes on: ask() gives the answer of one line."""

    def __init__(self, postgres, **more):
        self.process = postgres.popen(**more)

    def ask(self, sql):
        self.process.stdin.write(sql + ";\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def tell(self, sql):
        """No transaction comes after it: that would end what this one leaves."""
        self.process.stdin.write(sql + ";\n\\! echo told\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def pid(self):
        return int(self.ask("SELECT pg_backend_pid()"))

    def end(self):
        self.process.communicate("")


def login(port, password, source="127.0.0.1", user="alice", leave=False):
    """By TCP, from an address: 'ok', or the error's message. With `leave`, gone when a password is asked for."""
    with socket.create_connection(("127.0.0.1", port), timeout=SOON, source_address=(source, 0)) as s:
        body = struct.pack("!i", 196608) + f"user\0{user}\0database\0postgres\0\0".encode()
        s.sendall(struct.pack("!i", len(body) + 4) + body)
        stream = s.makefile("rb")
        while True:
            kind = stream.read(1)
            body = stream.read(struct.unpack("!i", stream.read(4))[0] - 4)
            if kind == b"E":
                return next(part[1:].decode() for part in body.split(b"\0") if part[:1] == b"M")
            if kind != b"R":
                continue
            if body[:4] == b"\0\0\0\0":
                return "ok"
            if leave:
                return "gone"
            s.sendall(b"p" + struct.pack("!i", len(password) + 5) + password.encode() + b"\0")


def rlctl(segment, *arguments):
    return subprocess.run([RLCTL, "--segment", segment, *arguments], capture_output=True, text=True, check=False)
