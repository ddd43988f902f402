# SPDX-License-Identifier: BSD-2-Clause
"""CPU that a request costs Apache: without a module, with mod_rl, with mod_evasive and with mod_qos.

bench.py [ROUNDS [REQUESTS]]: prefork with 4 children, a page of 6 bytes, ab with keep-alive. Rounds alternate, and
medians are shown. What is counted is the CPU of the children, as the kernel tells it, and not time on a clock. Beside
it, as a busy machine does not change them, the instructions of a request outside of the kernel, as valgrind counts.
"""
import glob
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))

from server import MODULES, Apache  # noqa: E402

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
REQUESTS = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
KEEP = "KeepAlive on\nMaxKeepAliveRequests 0\nCustomLog /dev/null rl\n"
NO_LOG = "RLLogLevel debug\n"  # what a line of the error log costs is Apache's, and the same for all
EVASIVE = f"LoadModule evasive20_module {MODULES}/mod_evasive20.so\n"
QOS = f"LoadModule qos_module {MODULES}/mod_qos.so\n"


def limit(rule, words="", more=""):
    """In the server, outside of sections, as the peers have it: a section costs something by itself."""
    return f"RLRule r {rule}\nRLLimit r {words}\n{more}"


def rows():
    yield "no module", "", ""
    yield "mod_rl, a limit by address", "", limit("100000000/h")
    yield "mod_rl, without header fields", "", limit("100000000/h", more="RLHeaders off\n")
    yield "mod_rl, by address and page", "", limit("100000000/h", '"%{RL_CLIENT} %{REQUEST_URI}"')
    yield "mod_rl, two limits and a block", "", ("RLRule p 100000000/h\n" + limit(
        "100000000/h", more='RLLimit p "%{RL_CLIENT} %{REQUEST_URI}"\nRLBlock 10s\n'))
    yield "mod_rl, in flight", "", limit("in_flight=1000")
    yield "mod_rl, denied", "", limit("1/30d") + NO_LOG
    if os.path.exists(f"{MODULES}/mod_evasive20.so"):
        yield "mod_evasive, page and site", EVASIVE, "DOSPageCount 100000000\nDOSSiteCount 100000000\n"
    if os.path.exists(f"{MODULES}/mod_qos.so"):
        load_first = "".join(f"LoadFile {path}\n" for path in glob.glob("/usr/lib/*/libpcre.so.3"))  # it needs that
        yield "mod_qos, requests at once", load_first + QOS, "QS_LocRequestLimit / 1000\n"


def cpu_ns(apache):
    total = 0
    for pid in apache.children():
        with open(f"/proc/{pid}/schedstat", encoding="utf-8") as file:
            total += int(file.read().split()[0])
    return total


def load(apache, requests, connections=4):
    done = subprocess.run(["ab", "-q", "-k", "-c", str(connections), "-n", str(requests), apache.url("/index.html")],
                          capture_output=True, text=True)
    if f"Complete requests:      {requests}" not in done.stdout:
        raise SystemExit(f"ab: {done.stdout}{done.stderr}")


def measure(apache):
    before = cpu_ns(apache)
    load(apache, REQUESTS)
    return (cpu_ns(apache) - before) / REQUESTS


class Counted(Apache):
    """One process under valgrind, without children."""

    def command(self, *words):
        command, env = super().command("-X")
        return ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=no", *command], env

    def is_up(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
            return True
        except OSError:
            return False


def instructions(head, body, requests):
    server = Counted(KEEP + body, mpm="prefork", children=1, head=head)
    try:
        load(server, requests, connections=1)
        server.stop()
        return int(re.search(r"Collected : (\d+)", server.read("output")).group(1))
    finally:
        server.close()


def instructions_each(head, body):
    """Of a request; what begins and ends with the server is in both counts."""
    return (instructions(head, body, 600) - instructions(head, body, 100)) / 500


def start(head, body):
    try:
        return Apache(KEEP + body, mpm="prefork", children=4, head=head)
    except AssertionError as error:
        return str(error).splitlines()[0]


def main():
    servers = {name: start(head, body) for name, head, body in rows()}
    skipped = {name: why for name, why in servers.items() if isinstance(why, str)}
    servers = {name: server for name, server in servers.items() if name not in skipped}
    took = {name: [] for name in servers}
    try:
        for server in servers.values():
            load(server, 1000)
        for _ in range(ROUNDS):
            for name, server in servers.items():
                took[name].append(measure(server))
    finally:
        for server in servers.values():
            server.close()
    counts = {name: instructions_each(head, body) for name, head, body in rows() if name in took} \
        if shutil.which("valgrind") else {}
    base = statistics.median(took["no module"])
    print(f"{REQUESTS} requests, medians of {ROUNDS} alternating rounds; CPU of the server for a request\n")
    print("| | us | lowest | beside no module | instructions | beside no module |\n|---|--:|--:|--:|--:|--:|")
    for name, each in took.items():
        median = statistics.median(each)
        count, first = counts.get(name, 0), counts.get("no module", 1)
        print(f"| {name} | {median / 1000:.2f} | {min(each) / 1000:.2f} | {median / base:.3f} | {count:.0f} | "
              f"{count / first:.3f} |")
    for name, why in skipped.items():
        print(f"skipped: {name}: {why}")


main()
