# SPDX-License-Identifier: BSD-2-Clause
"""The binding and other processes, threads and interpreters: fork, kill -9, closing."""

import gc
import os
import signal
import threading
import time

import pytest
import rl
from test_native import python


def in_child(function):
    """Run it in a child of fork(); the exit status."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# Processes


def test_children_use_the_parents_handle(segment):
    rule = segment.rule("login", "100/h")
    reader, writer = os.pipe()

    def work():
        os.write(writer, bytes([sum(rule.allows("alice") for _ in range(60))]))

    assert [in_child(work) for _ in range(4)] == [0, 0, 0, 0]
    assert sum(os.read(reader, 4)) == 100
    assert rule.stats()["denied"] == 140
    os.close(reader)
    os.close(writer)


def test_a_child_that_ends_and_closes_leaves_the_parent_alone(segment):
    rule = segment.rule("login", "5/h")
    code = (
        "import rl, sys\n"
        "with rl.Segment(sys.argv[1]) as s: assert s.rule('login', '5/h').check('alice')\n"
    )
    child = os.fork()
    if child == 0:
        try:
            segment.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    python(code, segment.name)
    assert rule.check("alice").used == 2


def test_kill_9_gives_units_in_flight_back(segment):
    jobs = segment.rule("jobs", algorithm="in_flight", capacity=1)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        held = jobs.hold("alice")
        os.write(writer, b"1" if held else b"0")
        signal.pause()
    assert os.read(reader, 1) == b"1"
    assert jobs.peek("alice").verdict == "denied"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    until = time.monotonic() + 60
    while not jobs.check("alice"):
        assert time.monotonic() < until
        time.sleep(0.02)
    os.close(reader)
    os.close(writer)


def test_kill_9_of_deciding_processes_admits_no_more(segment):
    rule = segment.rule("login", "200/h")
    reader, writer = os.pipe()
    for _ in range(6):
        child = os.fork()
        if child == 0:
            while True:
                rule.check("alice")
                os.write(writer, b".")
        os.read(reader, 20)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    while rule.check("alice"):
        pass
    assert rule.stats()["allowed"] == 200
    os.close(reader)
    os.close(writer)


def test_a_child_does_not_release_what_the_parent_holds(segment):
    jobs = segment.rule("jobs", algorithm="in_flight", capacity=2)
    held = jobs.hold("alice", 2)

    def child():
        nonlocal held
        held = None
        gc.collect()
        assert jobs.peek("alice").used == 2

    assert in_child(child) == 0
    assert jobs.peek("alice").used == 2
    assert held.release() and not held.release()
    assert jobs.peek("alice").used == 0


def test_a_child_does_not_wait_for_a_thread_that_it_has_not(name):
    live = rl.LiveSegment(name)

    def child():
        signal.alarm(60)
        assert live.get().is_current()

    with live._lock:  # as of a thread that is just opening the segment
        assert in_child(child) == 0


# Threads


def test_threads_share_a_rule(segment):
    rule = segment.rule("login", "1000/h")
    admitted = []

    def work():
        admitted.append(sum(bool(rule.check("alice")) for _ in range(500)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(admitted) == 1000


def test_closing_beside_threads_is_an_exception_and_no_crash(name):
    for _ in range(20):
        segment = rl.Segment(name)
        rule = segment.rule("login", "1000000/h")
        wrong = []

        def work():
            try:
                while True:
                    rule.check("alice")
                    segment.reset()
            except ValueError as error:
                wrong.append(str(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        segment.close()
        for thread in threads:
            thread.join()
        assert wrong == ["the segment is closed"] * 3
        assert segment.is_closed
        with open("/proc/self/maps", encoding="ascii") as maps:
            assert name not in maps.read()  # whoever was last has unmapped it


def test_every_call_on_a_closed_segment_says_so(name):
    segment = rl.Segment(name)
    rule, counters = segment.rule("login", "5/h"), segment.counters("c")
    result = rule.check("alice")
    segment.close()
    segment.close()
    calls = [
        lambda: rule.check("a"), lambda: rule.check("a", cost=2), lambda: rule.allows("a"), lambda: rule.peek("a"),
        lambda: rule.reserve("a"), lambda: rule.reset("a"), lambda: rule.refund_key("a"), lambda: rule.check_limits("a"),
        rule.limits, rule.stats, lambda: rule.entries("a"), result.refund, result.headers, result.release,
        lambda: counters.add("a"), lambda: counters.get("a"), lambda: counters.drop("a"),
        segment.info, segment.now_ns, segment.rules, segment.sweep, segment.give_back, segment.reset,
        lambda: segment.find("x"), lambda: segment.rule("x", "1/s"), lambda: segment.counters("x"),
        lambda: segment.forget("x"), lambda: segment.ban("x"), lambda: segment.check_all([(rule, "a")]),
        lambda: segment.check_many([(rule, "a")]), lambda: segment.name, lambda: segment.__enter__(),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(ValueError, match="the segment is closed"):
            call()
    assert repr(result) and repr(rule) and repr(counters)


def test_arguments_may_close_the_segment():
    """A number is asked of an object, whose code may do anything."""

    class Closes:
        def __init__(self, segment):
            self.segment = segment

        def __index__(self):
            self.segment.close()
            return 1

    calls = [
        lambda r, c, n: r.check("a", n), lambda r, c, n: r.check("a", at_ns=n), lambda r, c, n: r.allows("a", n),
        lambda r, c, n: r.peek("a", at_ns=n), lambda r, c, n: r.reserve("a", n), lambda r, c, n: r.refund_key("a", n),
        lambda r, c, n: r.check_limits("a", n), lambda r, c, n: r.entries("a", at_ns=n), lambda r, c, n: c.add("a", n, 5),
        lambda r, c, n: c.get("a", at_ns=n), lambda r, c, n: r.ban("a", until_ns=n), lambda r, c, n: r._admits("a", n, 5, None),
        lambda r, c, n: r._used("L/1/1/s", n, 1, {"s": 1}, None), lambda r, c, n: r.segment.check_all([(r, "a", n)]),
        lambda r, c, n: r.check("b").refund(at_ns=n), lambda r, c, n: r.segment.sweep(at_ns=n),
    ]  # fmt: skip
    for number, call in enumerate(calls):
        segment = rl.Segment(private=True)
        rule, counters = segment.rule("login", "5/h"), segment.counters("c")
        if number < len(calls) - 1:
            with pytest.raises(ValueError, match="the segment is closed"):
                call(rule, counters, Closes(segment))
        else:
            call(rule, counters, Closes(segment))  # one that is under way ends well
        assert segment.is_closed


def test_subinterpreters_have_types_of_their_own(segment):
    interpreters = pytest.importorskip("_xxsubinterpreters")
    segment.rule("login", "5/h")
    code = f"import rl; s = rl.Segment({segment.name!r}); s.find('login').check('alice'); s.close()"
    for _ in range(3):
        made = interpreters.create()
        interpreters.run_string(made, code)
        interpreters.destroy(made)
    assert segment.find("login").peek("alice").used == 3
