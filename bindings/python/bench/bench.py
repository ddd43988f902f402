# SPDX-License-Identifier: BSD-2-Clause
"""bench.py BARE: what a call costs, in one run and one process, on one hot key: the best of many rounds.

Beside a bare C rl_check(), which the program BARE measures; beside the memory store of limits; and beside Redis and
memcached on unix sockets, for which most of a round trip is that an idle machine wakes up: so once as it is, and once
beside a process that keeps the other CPU awake.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

import limits
import limits.storage
import rl
import rl.limits
from limits.strategies import STRATEGIES

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../tests/support"))
from ports import listens  # noqa: E402

KEY = "203.0.113.241"
ROUNDS, CALLS = 200, 500


def best(function, rounds=ROUNDS, calls=CALLS):
    """Nanoseconds of a call."""
    least = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        least = min(least, (time.perf_counter() - start) / calls * 1e9)
    return least


def native(bare):
    with rl.Segment(private=True) as segment:
        rule = segment.rule("bench", capacity=rl.CAPACITY_MAX, window=3600)
        counters = segment.counters("counted")
        calls = [
            ("rule.allows(key)", lambda: rule.allows(KEY)),
            ("rule.check(key)", lambda: rule.check(KEY)),
            ("rule.check(key, 2, capacity=9000)", lambda: rule.check(KEY, 2, capacity=9000)),
            ("rule.peek(key)", lambda: rule.peek(KEY)),
            ("counters.add(key, 1, 60)", lambda: counters.add(KEY, 1, 60)),
        ]
        print("\n| a call | ns | less the lambda around it | x rl_check() |\n|---|--:|--:|--:|")
        print(f"| rl_check() in C, its own clock | {bare:.0f} | | 1 |")
        around = best(lambda: None)
        for name, call in calls:
            ns = best(call)
            print(f"| {name} | {ns:.0f} | {ns - around:.0f} | {(ns - around) / bare:.1f} |")


@contextlib.contextmanager
def server(words, path):
    """A server on a unix socket, which ends with the context."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while not listens(path):
                if process.poll() is not None:
                    raise RuntimeError(f"{words[0]} ended")
                time.sleep(0.05)
            yield
        finally:
            process.terminate()


@contextlib.contextmanager
def spinner(wanted):
    if not wanted:
        yield
        return
    with subprocess.Popen(["nice", "-n", "19", sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def stores(directory, stack):
    """(name, storage, calls of a round): those whose servers are installed."""
    segment = f"bench-python-{os.getpid()}"
    stack.callback(rl.unlink, segment)
    yield "rl", limits.storage.storage_from_string(f"rl+shm://{segment}"), CALLS
    yield "memory", limits.storage.storage_from_string("memory://"), CALLS
    socket = os.path.join(directory, "redis")
    if shutil.which("redis-server"):
        stack.enter_context(server(["redis-server", "--port", "0", "--unixsocket", socket, "--save", ""], socket))
        yield "Redis", limits.storage.storage_from_string(f"redis+unix://{socket}"), 50
    socket = os.path.join(directory, "memcached")
    if shutil.which("memcached"):
        stack.enter_context(server(["memcached", "-u", "nobody", "-s", socket], socket))
        yield "memcached", limits.storage.storage_from_string(f"memcached://{socket}"), 50


def hits(stores_, strategy, item):
    row = {}
    for name, storage, calls in stores_:
        try:
            limiter = STRATEGIES[strategy](storage)
        except NotImplementedError:
            continue
        row[name] = best(lambda limiter=limiter: limiter.hit(item, KEY), rounds=60, calls=calls)
    return row


def storages():
    fixed, denied = limits.parse("200000000/hour"), limits.parse("20/hour")
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        os.chmod(directory, 0o777)
        all_stores = list(stores(directory, stack))
        names = [name for name, _storage, _calls in all_stores]
        print(f"\n| a hit through limits {limits.__version__}, ns | {' | '.join(names)} | Redis / rl |")
        print("|---|" + "--:|" * (len(names) + 1))
        for is_awake in (False, True):
            with spinner(is_awake):
                for what, strategy, item in (
                    ("fixed window", "fixed-window", fixed),
                    ("moving window, denied", "moving-window", denied),
                ):
                    row = hits(all_stores, strategy, item)
                    cells = [f"{row[name]:.0f}" if name in row else "none" for name in names]
                    ratio = f"{row['Redis'] / row['rl']:.0f}" if "Redis" in row else ""
                    awake = "a CPU kept awake" if is_awake else "as it is"
                    print(f"| {what}, {awake} | {' | '.join(cells)} | {ratio} |")


def main():
    bare = float(subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True).stdout)
    native(bare)
    storages()


main()
