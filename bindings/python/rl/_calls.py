# SPDX-License-Identifier: BSD-2-Clause
"""Methods of Segment, Rule and Result that are not called for each request, or that wait."""

import asyncio
import contextlib
import functools
import inspect
import time

from . import _rl
from ._errors import Limited

_KEY, _PREFIX, _NETWORK = range(3)
_BAN, _ALLOW, _UNDO = range(3)
_POLL = 0.05  # seconds until what is in flight is asked again: nobody knows when it comes back


# Segment


def _fields_of(limit):
    if isinstance(limit, str):
        return {"limit": limit}
    if hasattr(limit, "keys"):
        return dict(limit)
    raise TypeError(f'limit: expected a rate such as "5/min" or a dict of fields, got {limit!r}')


def rule_limits(limits, fields):
    """A tuple of dicts for Segment._define(): what a limit leaves out is as in `fields`."""
    return tuple(dict(fields, **_fields_of(limit)) for limit in limits) if limits else (fields,)


def rule(self, name, *limits, keep=False, **fields):
    """Define a rule and return it: a rate such as "5/min", several of them, or the fields of struct rl_limit.

        web.rule("login", "5/min")
        web.rule("api", "20/s", "10000/day")
        web.rule("mail", capacity=3, window="1h", algorithm="sliding_log")
        web.rule("net", {"limit": "600/10m", "prefix_v4": 32, "prefix_v6": 64}, {"limit": "6000/10m", "prefix_v4": 24})

    Fields given by name hold for each limit that does not say otherwise. `window` is in seconds, a timedelta or a
    text. As in rl.json, a sliding window is hard and has about 60 sub-buckets unless `hard` and `granularity` say
    otherwise. With `keep` a rule that is defined with other limits is an Error; without, it is replaced. What the
    administrator has configured under that name stands above it.
    """
    return self._define(name, rule_limits(limits, fields), keep)


def check_all(self, items, *, at_ns=None):
    """Decide one request under several rules, all or nothing: (rule, key), or (rule, key, cost, capacity, burst,
    undelayed). Returns (result, results): that of the item that decided, or of the tightest; and one of each item."""
    items = tuple(items)
    if not items:
        raise ValueError("items: there is none; nothing would be limited")
    return _decided(self._check_all(items, at_ns=at_ns))


def _decided(answer):
    _verdict, decided, results = answer
    if decided < len(results):
        return results[decided], results
    return min(results, key=lambda result: (result.remaining, result.limit)), results


_WAITS = 32  # RL_ITEM_WAITS
_WAITERS_MAX = 1000
_waiters = 0


async def check_all_async(self, items):
    """check_all() for coroutines: what is denied for want of a share of a cluster's limit is asked again for as long as the
    limit says, without the event loop being held up. At most 1,000 wait at a time; one that is cancelled was not charged."""
    global _waiters
    items = tuple(items)
    decided, results = _decided(self._check_all(items, flags=_WAITS if _waiters < _WAITERS_MAX else 0))
    if decided.reason != "share" or not decided.delay_ns:
        return decided, results
    end = time.monotonic() + decided.delay
    _waiters += 1
    try:
        while decided.reason == "share" and decided.delay_ns:
            left = end - time.monotonic()
            is_last = left <= decided.retry_after
            await asyncio.sleep(max(left, 0) if is_last else decided.retry_after)
            decided, results = _decided(self._check_all(items, flags=0 if is_last else _WAITS))
    finally:
        _waiters -= 1
    return decided, results


def check_many(self, items, *, at_ns=None):
    """Decide several requests, each by itself: items as of check_all(). Returns their results."""
    return self._check_many(tuple(items), at_ns=at_ns)


def _pattern(key, prefix, network):
    given = [(match, value) for match, value in enumerate((key, prefix, network)) if value is not None]
    if len(given) != 1:
        raise TypeError("give one of key, prefix and network")
    return given[0]


def _until(self, seconds, until_ns):
    if until_ns is not None:
        return until_ns
    if seconds is None:
        return _rl.NEVER_NS
    return min(self.now_ns() + _rl._duration_ns(seconds, "seconds"), _rl.NEVER_NS)


def ban(self, key=None, *, prefix=None, network=None, rule=None, seconds=None, until_ns=None):
    """Deny a key, all keys that begin with `prefix`, or all addresses of `network`: for `seconds`, or until unban().
    Under one rule, or under all."""
    self._ban(_BAN, rule, *_pattern(key, prefix, network), _until(self, seconds, until_ns))


def allow(self, key=None, *, prefix=None, network=None, rule=None, seconds=None, until_ns=None):
    """Exempt keys, as ban() denies them: allowed and not charged."""
    self._ban(_ALLOW, rule, *_pattern(key, prefix, network), _until(self, seconds, until_ns))


def unban(self, key=None, *, prefix=None, network=None, rule=None):
    """Undo ban() or allow() of the same pattern and rule: True, or False if there was none."""
    return self._ban(_UNDO, rule, *_pattern(key, prefix, network), None) == 1


def reset(self, key=None, *, prefix=None, network=None, rule=None, count=True):
    """Forget what keys have used: of a rule or a space of counters, or of all; a key, a prefix, a network, or all.
    Returns (forgotten, unknown): slots that were forgotten, and those whose key is not known well enough to tell.
    With count=False and without a pattern it takes microseconds, and nothing is counted."""
    if key is None and prefix is None and network is None:
        return self._reset(rule, 0, None, count)
    return self._reset(rule, *_pattern(key, prefix, network), count)


# Rule


def hold(self, key, cost=1, *, capacity=None):
    """Take units in flight for as long as the context lasts, or raise Limited. Also `async with`.

        with jobs.hold("alice"):
            ...

    They come back at its end, by release(), and with this process. Of another rule nothing comes back."""
    result = self.check(key, cost, capacity=capacity)
    if result.verdict == "undecided":
        raise result.error
    if not result:
        raise Limited(result)
    return result


def spend(self, key, estimate=1, *, raises=False, capacity=None):
    """Charge what a request will cost by an estimate, and settle it once that is known. Also `async with`.

        with tokens.spend("alice", estimate=800) as s:
            if not s:
                return refuse()
            answer = ask()
            s.settle(answer.usage.total_tokens)

    What is never settled stays charged; s.refund() is for what was never sent. With `raises`, who is denied is a
    Limited. What is in flight comes back at the end of the context."""
    return self.hold(key, estimate, capacity=capacity) if raises else self.check(key, estimate, capacity=capacity)


def stream(self, chunks, count):
    """Yield from `chunks`, and settle to the sum of count(chunk) of those that were taken, however that ends: also
    if an exception or a client that is gone closes the generator."""
    spent = 0
    try:
        for chunk in chunks:
            spent += count(chunk)
            yield chunk
    finally:
        self.settle(spent)


async def stream_async(self, chunks, count):
    """stream() of an asynchronous iterable."""
    spent = 0
    try:
        async for chunk in chunks:
            spent += count(chunk)
            yield chunk
    finally:
        self.settle(spent)
        if hasattr(chunks, "aclose"):  # who has left it halfway is gone
            await chunks.aclose()


async def __aenter__(self):
    return self


async def __aexit__(self, *exception):
    self.release()


def _try(self, key, cost, left):
    """(result, seconds to wait and then be let through or ask again)."""
    algorithm = _algorithm(self)
    if algorithm in ("token_bucket", "leaky_bucket"):
        result = self.reserve(key, cost, max_wait=left)
        return result, result.delay
    result = self.check(key, cost)
    if result or result.verdict != "denied":
        return result, 0.0
    return result, _POLL if result.retry_after is None else result.retry_after


def _algorithm(self):
    names = {limit["algorithm"] for limit in self.limits()}
    return names.pop() if len(names) == 1 else None


def _waits(self, key, cost, timeout):
    """Yield how long to wait, until the request is let through; raise Limited if that takes too long."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        left = None if end is None else max(0.0, end - time.monotonic())
        result, wait = _try(self, key, cost, left)
        if result.verdict == "undecided":
            raise result.error
        if not result and (result.verdict == "never" or wait == float("inf") or (left is not None and wait > left)):
            raise Limited(result)
        if wait:
            yield result, wait
        if result:
            yield result, 0.0
            return


@contextlib.contextmanager
def _gives_back(result):
    try:
        yield
    except BaseException:
        result.refund()
        raise


def wait(self, key, cost=1, *, timeout=None):
    """Wait until the request is let through, at most `timeout` seconds, and return its result; raise Limited as soon
    as it is clear that it takes longer. Buckets book their place, so that nobody is overtaken; others ask again. One
    that is interrupted while it waits, as by KeyboardInterrupt, gives its place back."""
    for result, seconds in _waits(self, key, cost, timeout):
        with _gives_back(result):
            if seconds:
                time.sleep(seconds)
    return result


async def wait_async(self, key, cost=1, *, timeout=None):
    """wait() for coroutines. One that is cancelled while it waits gives its place back."""
    for result, seconds in _waits(self, key, cost, timeout):
        with _gives_back(result):
            if seconds:
                await asyncio.sleep(seconds)
    return result


async def _awaited(answer, result):
    with result:
        return await answer


def _iterated(answer, result):
    with result:
        return (yield from answer)


async def _iterated_async(answer, result):
    """`yield from` for asynchronous generators."""
    with result:
        step = answer.__anext__()
        while True:
            try:
                item = await step
            except StopAsyncIteration:
                return
            try:
                step = answer.asend((yield item))
            except GeneratorExit:
                await answer.aclose()
                raise
            except BaseException as error:
                step = answer.athrow(error)


def _held(answer, result):
    """What a function has returned; the result's units are held until that has ended, too."""
    if hasattr(answer, "add_done_callback"):  # a future: awaited or not, it goes on
        answer.add_done_callback(lambda _done: result.release())
        return answer
    if inspect.isawaitable(answer):
        return _awaited(answer, result)
    if inspect.isgenerator(answer):
        return _iterated(answer, result)
    if inspect.isasyncgen(answer):
        return _iterated_async(answer, result)
    with result:
        return answer


def _tell(result, actual, answer):
    cost = actual(answer)
    if cost is not None:
        result.settle(cost)


async def _told(answer, result, actual):
    value = await answer
    _tell(result, actual, value)
    return value


def _settled(answer, result, actual):
    """What a function has returned; once it is known, what it has cost is settled."""
    if hasattr(answer, "add_done_callback"):
        answer.add_done_callback(
            lambda done: done.cancelled() or done.exception() or _tell(result, actual, done.result())
        )
        return answer
    if inspect.isawaitable(answer):
        return _told(answer, result, actual)
    if inspect.isgenerator(answer):
        return result.stream(answer, actual)
    if inspect.isasyncgen(answer):
        return result.stream_async(answer, actual)
    _tell(result, actual, answer)
    return answer


def _is_coroutine_function(function):
    return any(inspect.iscoroutinefunction(one) for one in (function, type(function).__call__))


def limit(self, key, *, cost=1, actual=None, on_limited=None):
    """A decorator for functions and coroutines, by a rule.

        @login.limit(key=lambda request: request.user)
        def view(request): ...

    `key` is text, or is called with the arguments of the function; so is `cost`. A refused call raises Limited, or
    returns what on_limited(result, ...) returns.

        @tokens.limit(key=lambda user, prompt: user, cost=800, actual=lambda answer: answer.usage.total_tokens)
        def ask(user, prompt): ...

    With `actual` the cost is an estimate: actual(answer) is what it has cost, or None if that is not known. Of a
    generator it is called with each item, and the sum of those that were taken counts, however it ends. An exception
    leaves the estimate.

    What is in flight is held until the function has ended: a coroutine, or what the function returns, if that is an
    awaitable, a future, a generator or an asynchronous generator, by exhaustion, close(), an exception, or as nothing
    refers to it any more. Coroutine functions, and objects whose __call__ is one, decide when they are awaited, all
    others when they are called. Of other iterators nothing is held once they are returned."""

    def decorate(function):
        if not callable(function):
            raise TypeError(f"limit: expected a function, got {function!r}")

        def ask(args, kwargs):
            result = self.check(
                key(*args, **kwargs) if callable(key) else key, cost(*args, **kwargs) if callable(cost) else cost
            )
            if result.verdict == "undecided":
                raise result.error
            if not result and on_limited is None:
                raise Limited(result)
            return result

        if _is_coroutine_function(function):

            @functools.wraps(function)
            async def limited_async(*args, **kwargs):
                with ask(args, kwargs) as result:
                    if result:
                        answer = function(*args, **kwargs)
                        return await (_told(answer, result, actual) if actual else answer)
                answer = on_limited(result, *args, **kwargs)
                return await answer if inspect.isawaitable(answer) else answer

            return limited_async

        @functools.wraps(function)
        def limited(*args, **kwargs):
            result = ask(args, kwargs)
            if not result:
                return on_limited(result, *args, **kwargs)
            try:
                answer = function(*args, **kwargs)
                if actual:
                    answer = _settled(answer, result, actual)
            except BaseException:
                with result:
                    raise
            return _held(answer, result) if result._held else answer

        return limited

    return decorate


def _rule_ban(self, key=None, **how):
    """Segment.ban() under this rule alone."""
    self.segment.ban(key, rule=self, **how)


def _rule_allow(self, key=None, **how):
    """Segment.allow() under this rule alone."""
    self.segment.allow(key, rule=self, **how)


def _rule_unban(self, key=None, **how):
    """Segment.unban() under this rule alone."""
    return self.segment.unban(key, rule=self, **how)


_rule_ban.__name__, _rule_allow.__name__, _rule_unban.__name__ = "ban", "allow", "unban"

@functools.lru_cache(8)
def _no_proxies(v6):
    return _rl.Proxies([], prefix_v6=v6)


def client_key(address, v6=64):
    """The key of a client, the same text in all servers and languages: an IPv4 address, also where it comes mapped into
    IPv6; of IPv6 the first `v6` bits, as "2001:db8:0:7::". A name is itself."""
    if not 1 <= v6 <= 128:
        raise ValueError(f"v6: expected 1 to 128, got {v6}")
    try:
        return _no_proxies(v6).client(address)[0]
    except ValueError:
        return address


METHODS = {
    _rl.Segment: [rule, check_all, check_all_async, check_many, ban, allow, unban, reset],
    _rl.Rule: [hold, spend, wait, wait_async, limit, _rule_ban, _rule_allow, _rule_unban],
    _rl.Result: [stream, stream_async, __aenter__, __aexit__],
}
