# SPDX-License-Identifier: BSD-2-Clause
"""Limits for tasks of Celery: all workers of a host together keep them, and who has to wait is sent again for later.

    import rl.celery

    @app.task
    @rl.celery.limit("weather", "20/s")
    def fetch(city): ...

    @app.task
    @rl.celery.limit("reports", capacity=2, algorithm="in_flight", key=lambda customer: customer)
    def report(customer): ...

A task that has its turn later is a retry of Celery with a countdown, and none that counts for max_retries. What is in
flight is held while the task runs, and comes back when its worker is killed.
"""

import functools
import math
import random
import time

from celery import current_task
from celery.exceptions import Retry

from . import _calls
from ._errors import Limited
from ._live import LiveSegment

__all__ = ["limit"]

_SHORT = 0.05  # seconds that a worker sleeps: less than it costs to send a task again
_TURNS = "rl_turns"  # a header of the message: {limit: retries of the task for which it had its turn}


def _send_again(task, seconds, turns):
    request = task.request
    again = task.signature_from_request(
        request,
        retries=request.retries,
        countdown=seconds,
        headers={**(request.headers or {}), _TURNS: turns},
    )
    again.apply_async()
    raise Retry(when=seconds, sig=again)


def _ask(rule, key, most):
    """(result, seconds until its turn, or until it is to ask again); raises what no wait can mend."""
    result, wait = _calls._try(rule, key, 1, most)
    if result.verdict == "undecided":
        raise result.error
    if not result:
        wait = result.retry_after or wait or _calls._POLL
    if result.verdict == "never" or wait == math.inf:
        raise Limited(result)
    return result, wait


def limit(name, *limits, key="all", segment="default", max_wait=600.0, poll=0.25, **fields):
    """A decorator for the function of a task, below `app.task`, by the rule `name` of a segment.

    `limits` and `fields` define the rule as Segment.rule() does; without any it is one that is configured, or that
    another program defines. A rate of which no algorithm is said is a token_bucket with a burst of 1: turns that are
    evenly apart. `key` is text, or is called with the arguments of the task. `segment` is a name or an rl.LiveSegment.

    A bucket books a turn, at most `max_wait` seconds ahead, and the task is sent again for then. Under other rules it
    is sent again when they may let it through; for a unit in flight, after some `poll` seconds. A task that is sent
    again by its own retry() is charged anew. One that is called directly, or eagerly, waits in its place.

    Raises rl.Limited for what is never let through, rl.Error where librl cannot decide, and KeyError for no such rule.
    """
    live = LiveSegment(segment) if isinstance(segment, str) else segment
    if limits and "algorithm" not in fields:
        fields = {"algorithm": "token_bucket", "burst": 1, **fields}
    known = []  # the rule, and of which segment

    def rule_now():
        now = live.get()
        if not known or known[0].segment is not now:
            known[:] = [now.rule(name, *limits, **fields) if limits or fields else now.find(name)]
        return known[0]

    def decorate(function):
        @functools.wraps(function)
        def limited(*args, **kwargs):
            task, rule = current_task, rule_now()
            request = task.request if task else None
            if request:
                named, names = request.args or (), request.kwargs or {}
            else:
                named, names = args, kwargs
            whose = key(*named, **names) if callable(key) else key
            if not request or request.called_directly or request.is_eager:
                with rule.wait(whose, timeout=max_wait):
                    return function(*args, **kwargs)
            turns = dict(getattr(request, _TURNS, None) or {})
            if turns.get(name) == request.retries:
                return function(*args, **kwargs)
            result, wait = _ask(rule, whose, max_wait)
            if not result:
                wait = poll if result.retry_after is None else min(wait, max_wait)
                _send_again(task, wait * (1 + random.random() / 2), turns)
            if not result._held:
                turns[name] = request.retries
                setattr(request, _TURNS, turns)
            if wait > _SHORT:
                _send_again(task, wait, turns)
            time.sleep(wait)
            with result:
                return function(*args, **kwargs)

        return limited

    return decorate
