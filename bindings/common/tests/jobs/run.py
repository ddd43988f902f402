#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""run.py SYSTEM: four real workers of a job queue on a Redis of this test's, under rl. Of jobs that may run two at once
there are never three, by the jobs' own locks, while each second a worker is killed; and two run again, mostly within a
second. Then jobs that may begin 20 times a second, over all workers.

RL_JOBS: how many jobs of the first kind, 200 by default."""
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../../.."))
sys.path.insert(0, os.path.join(TOP, "tests/support"))
from ports import listens  # noqa: E402

SYSTEM = sys.argv[1]
JOBS = int(os.environ.get("RL_JOBS", "200"))
RATED = 60
PATIENCE = 120
SEGMENT = f"jobs-{SYSTEM}-{os.getpid()}"
WORK = tempfile.mkdtemp(prefix="rl-jobs-")
REDIS = os.path.join(WORK, "redis")
ENVIRONMENT = dict(os.environ, RL_WORK=WORK, RL_REDIS=REDIS, RL_SEGMENT=SEGMENT, RL_TOP=TOP,
                   LD_LIBRARY_PATH=os.path.join(TOP, "build"),
                   PYTHONPATH=os.pathsep.join((os.path.join(TOP, "build/python"), HERE)), PYTHONDONTWRITEBYTECODE="1")
PHP = ["php", "-n", *(f"-dextension={name}" for name in ("mbstring", "posix", "igbinary", "redis")),
       f"-dextension={TOP}/build/php/modules/rl.so", "-derror_reporting=24575", os.path.join(HERE, "laravel_jobs.php")]
RUBY = ["ruby", "-W0", "-I", os.path.join(TOP, "build/ruby/lib"), "-I", os.path.join(TOP, "bindings/ruby/lib")]
started = []


def start(*command):
    with open(os.path.join(WORK, "log"), "ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=ENVIRONMENT, cwd=WORK,
                                   start_new_session=True)
    started.append(process)
    return process


class Celery:
    """One worker with four processes: it starts another for one that is killed, and its job runs again."""

    LOSES = False

    def __init__(self):
        self.worker = start("/usr/bin/python3", "-m", "celery", "-A", "celery_jobs", "worker", "--concurrency", "4",
                            "--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING")

    def pids(self):
        with open(f"/proc/{self.worker.pid}/task/{self.worker.pid}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]

    def mend(self):
        pass

    @staticmethod
    def enqueue(kind, count):
        return "/usr/bin/python3", os.path.join(HERE, "celery_jobs.py"), kind, str(count)


class Several:
    """Four workers, each a process, and another for one that is killed; with it goes its job."""

    LOSES = True

    def __init__(self):
        self.workers = [self.one() for _ in range(4)]

    def pids(self):
        return [worker.pid for worker in self.workers]

    def mend(self):
        self.workers = [worker if worker.poll() is None else self.one() for worker in self.workers]


class Sidekiq(Several):
    @staticmethod
    def one():
        return start(*RUBY, "/usr/bin/sidekiq", "-c", "1", "-r", os.path.join(HERE, "sidekiq_jobs.rb"))

    @staticmethod
    def enqueue(kind, count):
        return *RUBY, os.path.join(HERE, "sidekiq_jobs.rb"), kind, str(count)


class Laravel(Several):
    @staticmethod
    def one():
        return start(*PHP, "work")

    @staticmethod
    def enqueue(kind, count):
        return *PHP, kind, str(count)


def told():
    with open(os.path.join(WORK, "told"), encoding="ascii") as file:
        return [(what, int(number), int(pid), float(at)) for what, number, pid, at in map(str.split, file)]


def begin_anew():
    for name in ("told", "lock-0", "lock-1"):
        with open(os.path.join(WORK, name), "w", encoding="ascii"):
            pass


def eventually(what, text):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if what():
            return
        time.sleep(0.02)
    raise AssertionError(f"not within {PATIENCE} s: {text}")


class Watch(threading.Thread):
    """How many jobs run, from moment to moment, by the locks that they have."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen, self.is_over = [], False
        self.files = {str(os.stat(os.path.join(WORK, name)).st_ino) for name in ("lock-0", "lock-1")}

    def run(self):
        while not self.is_over:
            with open("/proc/locks", encoding="ascii") as file:
                count = sum("->" not in line and line.split()[5].split(":")[-1] in self.files for line in file)
            self.seen.append((time.time(), count))
            time.sleep(0.005)


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def check_held(system, rng):
    """Whether enough was seen of it: a machine that stands still may let the jobs end before three are killed, or be late itself."""
    begin_anew()
    watch = Watch()
    watch.start()
    enqueue = subprocess.Popen(system.enqueue("held", JOBS), env=ENVIRONMENT)  # jobs begin meanwhile
    eventually(lambda: told(), "a job has begun")
    kills, next_kill, quiet_since, before = [], time.monotonic() + 1, time.monotonic(), 0
    while True:
        time.sleep(0.02)
        system.mend()
        seen = told()
        third = [line for line in seen if line[0] == "third"]
        assert not third, f"more than two at once: {third}"
        done = {number for what, number, _pid, _at in seen if what == "end"}
        if len(done) == JOBS:
            break
        if len(seen) != before:
            before, quiet_since = len(seen), time.monotonic()
        # A worker that is killed takes its job along, where the queue has no other copy.
        if system.LOSES and time.monotonic() > quiet_since + 5 and len(done) >= JOBS - len(kills):
            break
        assert time.monotonic() < quiet_since + PATIENCE, "no job ends any more"
        if time.monotonic() >= next_kill and len(done) < JOBS - 30:
            pids = system.pids()
            if pids:
                running = {pid for what, _number, pid, _at in seen if what == "begin"} - {
                    pid for what, _number, pid, _at in seen[-2:] if what == "end"}
                victim = rng.choice([pid for pid in pids if pid in running] or pids)
                os.kill(victim, signal.SIGKILL)
                eventually(lambda: is_gone(victim), "who is killed is gone")
                kills.append((time.time(), victim))
            next_kill = time.monotonic() + 1
    watch.is_over = True
    watch.join()
    assert enqueue.wait(PATIENCE) == 0
    assert JOBS - len(done) <= (len(kills) if system.LOSES else 0), "jobs are lost"
    waits = [next((when - at for when, count in watch.seen if when > at and count == 2), PATIENCE) for at, _victim in kills]
    print(f"{SYSTEM}: {len(done)} of {JOBS} jobs, {len(kills)} kills, never more than 2 at once; "
          f"2 again after {max(waits, default=0):.2f} s at most")
    # Units come back within 100 ms; the rest is that a worker has to be given a CPU, of which the machine may have none.
    return len(kills) >= 3 and statistics.median(waits) < 1 and max(waits) < 20


def check_rate(system):
    begin_anew()
    system.mend()
    began = time.time()
    subprocess.run(system.enqueue("rated", RATED), env=ENVIRONMENT, check=True, timeout=PATIENCE)
    eventually(lambda: sum(what == "rated" for what, *_rest in told()) >= RATED, f"{RATED} jobs have run")
    times = sorted(at for what, _number, _pid, at in told() if what == "rated")
    took = times[-1] - times[0]
    print(f"{SYSTEM}: {len(times)} jobs of 20 a second in {took:.2f} s")
    assert len(times) == RATED, "each has run once"
    # Turns are 50 ms apart; a worker that is late for one is not early for the next. The first may be late itself.
    assert times[-1] - began > (RATED - 1) / 20, "faster than 20 a second"
    assert took < (RATED - 1) / 20 + 60, "much slower than 20 a second"


def end():
    for process in started:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    for path in (f"/dev/shm/rl.{SEGMENT}", f"/dev/shm/rl/rl.{SEGMENT}"):
        if os.path.exists(path):
            os.unlink(path)
    shutil.rmtree(WORK, ignore_errors=True)


def main():
    seed = int(os.environ.get("RL_SEED", time.time_ns() % 10**6))
    try:
        start("redis-server", "--port", "0", "--unixsocket", REDIS, "--save", "", "--appendonly", "no", "--dir", WORK)
        eventually(lambda: listens(REDIS), "Redis listens")
        begin_anew()
        system = {"celery": Celery, "sidekiq": Sidekiq, "laravel": Laravel}[SYSTEM]()
        rng = random.Random(seed)
        assert any(check_held(system, rng) for _ in range(5)), "too few kills, or full capacity late, each time"
        check_rate(system)
    except BaseException:
        with open(os.path.join(WORK, "log"), encoding="utf-8", errors="replace") as file:
            print(f"seed {seed}\n{file.read()[-6000:]}")
        raise
    finally:
        end()


main()
