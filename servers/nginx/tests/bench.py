#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""CPU time of the workers for a request: nginx's limit_req and rl's, in one server, in alternating rounds.

    bench.py [ROUNDS [SECONDS]]       ROUNDS 0: the instructions alone

The file that is served has 6 bytes. One key; 200,000 keys, chosen at random; all denied. Printed: medians of the
rounds, in microseconds, and requests a second; and, as a busy machine does not change them, the instructions that limits add to a
request outside of the kernel, as valgrind counts them, each with what it is to be at most.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys

from harness import Nginx

RATE, BURST = "1000000r/s", "burst=100000 nodelay"
ROWS = (("one", "one key, allowed"), ("many", "200,000 keys, allowed"), ("denied", "denied"))
PLACES = f"""
location = /nginx/one {{ limit_req zone=one {BURST}; try_files /a =404; }}
location = /rl/one {{ rl_limit_req zone=one {BURST}; try_files /a =404; }}
location = /nginx/many {{ limit_req zone=many {BURST}; try_files /a =404; }}
location = /rl/many {{ rl_limit_req zone=many {BURST}; try_files /a =404; }}
location = /nginx/denied {{ limit_req zone=denied; try_files /a =404; }}
location = /rl/denied {{ rl_limit_req zone=denied; try_files /a =404; }}
"""


def limits(prefix, *names):
    return "".join(f"{prefix}limit_req zone={zone} {BURST}; " for zone in names)


# What is counted beyond a request without limits: what stands in the one location that there is, and the most that each limit
# is to be, in instructions.
COUNTED = (("limit_req", limits("", "one"), None), ("limit_req, denied", "limit_req zone=denied;", None),
           ("each further limit_req", (limits("", "one"), limits("", "one", "two", "three", "four")), None),
           ("rl_limit_req", limits("rl_", "one"), 1100), ("rl_limit_req, denied", "rl_limit_req zone=denied;", None),
           ("rl_limit_req, 50 keys", limits("rl_", "many"), None),
           ("each further rl_limit_req", (limits("rl_", "one"), limits("rl_", "one", "two", "three", "four")), 700),
           ("rl_limit, with header fields", "rl_limit own;", 1500), ("rl_limit, without", "rl_limit own; rl_headers off;", None),
           ("rl_limit, in flight", "rl_limit held; rl_headers off;", None))


def zones(prefix):
    return f"""
{prefix}limit_req_zone $server_name zone=one:1m rate={RATE};
{prefix}limit_req_zone $arg_k zone=many:64m rate={RATE};
{prefix}limit_req_zone $server_name zone=denied:1m rate=1r/m;
{prefix}limit_req_zone $uri zone=two:1m rate={RATE};
{prefix}limit_req_zone $host zone=three:1m rate={RATE};
{prefix}limit_req_zone $remote_addr zone=four:1m rate={RATE};
{prefix}limit_req_log_level info;
"""


def server(places, workers=2, main=""):
    n = Nginx("access_log off; error_log logs/quiet.log error; keepalive_requests 1000000000;" + zones("") + zones("rl_") +
              "rl_rule own 10000000/h; rl_rule held in_flight=100000; server { listen 127.0.0.1:%PORT%; server_name s; root %ROOT%/html; " + places + "}",
              workers=workers, main=main, declare=False)
    n.declare = f"rl_segment {n.segment} keys=500000;"
    return n


def counted(place, keys, requests):
    """Instructions of a whole life of nginx, in one process, with so many requests, all in one of its seconds."""
    n = server(f"location = /x {{ {place} try_files /a =404; }}", workers=0, main="master_process off; timer_resolution 1h;")
    plain = n.command
    n.command = lambda *arguments: ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *plain(*arguments)]
    n.start()
    try:
        c = n.connect()
        for i in range(requests):
            n.get(f"/x?k={i % keys}", c)
        c.close()
        n.stop()
        return int(re.findall(r"Collected : (\d+)", n.read("stderr"))[-1])
    finally:
        n.stop()
        n.clean()


def instructions(place, keys=50):
    """Of one request, once each key has been seen. The lesser of two: a start is not always the same."""
    few, many = [min(counted(place, keys, requests) for _ in range(2)) for requests in (200, 2200)]
    return (many - few) / 2000


def count_instructions():
    """False: one is above what it is to be."""
    is_good = True
    none = instructions("")
    print(f"\n| beyond {none:,.0f} instructions of a request without limits | instructions | at most |\n|---|--:|--:|")
    for name, place, most in COUNTED:
        if isinstance(place, str):
            beyond = instructions(place) - none
        else:
            beyond = (instructions(place[1]) - instructions(place[0])) / 3
        is_good = is_good and (most is None or beyond <= most)
        print(f"| {name} | {beyond:,.0f} | {'' if most is None else f'{most:,}'} |", flush=True)
    return is_good


def cpu_seconds(n):
    """Of all workers, as the scheduler counts it."""
    total = 0
    for pid in n.worker_pids():
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0]) / 1e9
    return total


def run(n, path, seconds):
    """Microseconds for a request, and requests a second."""
    script = os.path.join(n.root, "keys.lua")
    with open(script, "w", encoding="ascii") as f:
        f.write('function request() return wrk.format(nil, wrk.path .. "?k=" .. math.random(200000)) end\n')
    before = cpu_seconds(n)
    keys = ["-s", script] if path.endswith("/many") else []
    told = subprocess.run(["wrk", "-t1", "-c16", f"-d{seconds}", *keys, f"http://127.0.0.1:{n.port}{path}"],
                          capture_output=True, text=True, check=True).stdout
    used = cpu_seconds(n) - before
    requests = int(re.search(r"(\d+) requests in", told).group(1))
    return used / requests * 1e6, requests / seconds


def measure(n, row, rounds, seconds):
    """Medians of microseconds and of requests a second, of each of the two."""
    got = {"nginx": [], "rl": []}
    for which in got:
        run(n, f"/{which}/{row}", 1)  # warm
    for i in range(rounds):
        for which in ("nginx", "rl") if i % 2 == 0 else ("rl", "nginx"):
            got[which].append(run(n, f"/{which}/{row}", seconds))
    return [[statistics.median(v[j] for v in got[which]) for j in (0, 1)] for which in got]


def measure_all(rounds, seconds):
    n = server(PLACES).start()
    try:
        print("| | limit_req, us | rl_limit_req, us | rl / nginx | requests/s | rl |\n|---|--:|--:|--:|--:|--:|")
        for row, name in ROWS:
            (a, ar), (b, br) = measure(n, row, rounds, seconds)
            print(f"| {name} | {a:.2f} | {b:.2f} | {b / a:.3f} | {ar:,.0f} | {br:,.0f} |", flush=True)
    finally:
        n.stop()
        n.clean()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    for tool in ("wrk", "valgrind"):
        if shutil.which(tool) is None:
            print(f"without {tool}")
            sys.exit(77)
    if rounds > 0:
        measure_all(rounds, seconds)
    if not count_instructions():
        sys.exit("more instructions than there are to be")


main()
