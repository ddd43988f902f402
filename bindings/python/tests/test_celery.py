# SPDX-License-Identifier: BSD-2-Clause
"""rl.celery without a broker: what is sent again, for when, and how often it is charged. With workers:
bindings/common/tests/jobs/run.py."""

import pytest
import rl

celery = pytest.importorskip("celery")
from celery._state import _task_stack  # noqa: E402
from celery.canvas import Signature  # noqa: E402
from celery.exceptions import Retry  # noqa: E402
from rl.celery import limit  # noqa: E402


@pytest.fixture
def app():
    made = celery.Celery("test", broker="memory://", set_as_current=False)
    made.conf.task_ignore_result = True
    return made


def named(function):
    """A lambda as Celery takes one."""
    function.__name__ = "job"
    return function


class Run:
    """Runs a task as a worker does, for a message; what it sends again are further messages."""

    def __init__(self, task, monkeypatch):
        self.task = task
        self.sent = []
        monkeypatch.setattr(Signature, "apply_async", lambda signature: self.sent.append(dict(signature.options)))

    def __call__(self, *args, retries=0, headers=None):
        self.task.push_request(
            id="an-id", args=args, kwargs={}, called_directly=False, is_eager=False, retries=retries,
            delivery_info={}, **(headers or {}),
        )  # fmt: skip
        _task_stack.push(self.task)
        try:
            return self.task.run(*args)
        finally:
            _task_stack.pop()
            self.task.pop_request()


def test_a_turn_is_booked_and_charged_once(name, app, monkeypatch):
    task = app.task(limit("rate", "2/min", segment=name)(named(lambda number: number)))
    run = Run(task, monkeypatch)
    assert run(1) == 1
    for turn in (1, 2):
        with pytest.raises(Retry):
            run(turn)
        sent = run.sent[-1]
        assert sent["countdown"] == pytest.approx(turn * 30, abs=20) and sent["task_id"] == "an-id"
        assert sent["retries"] == 0, "a turn is no retry that counts"
    allowed = rl.Segment(name).find("rate").stats()["allowed"]
    assert run(1, headers=run.sent[0]["headers"]) == 1, "its turn has come"
    assert rl.Segment(name).find("rate").stats()["allowed"] == allowed, "and is not charged again"
    with pytest.raises(Retry):
        run(1, retries=1, headers=run.sent[0]["headers"])
    assert rl.Segment(name).find("rate").stats()["allowed"] == allowed + 1, "its own retry is charged anew"


def test_in_flight_is_held_while_it_runs(name, app, monkeypatch):
    def body(number):
        rule = rl.Segment(name).find("one")
        assert not rule.check(f"user-{number}") and rule.check("another")
        if number == 3:
            raise KeyError(number)

    whose = limit("one", algorithm="in_flight", capacity=1, segment=name, key=lambda number: f"user-{number}", poll=2)
    run = Run(app.task(whose(body)), monkeypatch)
    run(2)
    run(2)
    with pytest.raises(KeyError) as error:
        run(3)
    assert rl.Segment(name).find("one").peek("user-3"), f"given back while {error} still refers to all of it"
    with rl.Segment(name).find("one").hold("user-2"):
        with pytest.raises(Retry):
            run(2)
        assert 2 <= run.sent[-1]["countdown"] <= 3
        assert run.sent[-1]["headers"]["rl_turns"] == {}, "what is in flight is asked for again"
    run(2)


def test_two_limits(name, app, monkeypatch):
    inner = limit("one", algorithm="in_flight", capacity=1, segment=name)(named(lambda: "done"))
    run = Run(app.task(limit("rate", "1/h", segment=name)(inner)), monkeypatch)
    with rl.Segment(name, ring=64).rule("one", algorithm="in_flight", capacity=1).hold("all"):
        with pytest.raises(Retry):
            run()
    assert run(headers=run.sent[-1]["headers"]) == "done", "the rate was charged when it had to wait for the other"


def test_a_window_and_what_never_passes(name, app, monkeypatch):
    run = Run(app.task(limit("window", limit="1/10s", algorithm="fixed_window", segment=name)(named(lambda: "done"))), monkeypatch)
    with pytest.raises(Retry):
        for _ in range(3):  # a window of ten seconds, by the clock, may begin between two of them
            run()
    assert 0 < run.sent[-1]["countdown"] <= 15
    rl.Segment(name).find("window").ban("all")
    with pytest.raises(rl.Limited):
        run()
    with pytest.raises(KeyError, match="no rule nosuch"):
        Run(app.task(name="other")(limit("nosuch", segment=name)(named(lambda: 0))), monkeypatch)()


def test_called_directly_it_waits(name, app):
    task = app.task(limit("direct", "20/s", segment=name)(named(lambda number: number)))
    before = rl.Segment(name).now_ns()
    assert [task(i) for i in range(5)] == list(range(5))
    assert rl.Segment(name).now_ns() - before > 150e6
    app.conf.task_always_eager = True
    assert task.delay(7).get() == 7
