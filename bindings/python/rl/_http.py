# SPDX-License-Identifier: BSD-2-Clause
"""What middleware has in common: whom to limit by which rules, which answers count, and what is answered."""

import functools
import inspect
import logging
import math
import re
import time

from . import _rl
from ._calls import check_all, check_all_async, rule_limits
from ._errors import Error
from ._live import LiveSegment

EMPTY_KEY = "-"  # stands for whoever has no key: they share one limit
_LOG_EVERY = 1.0  # seconds between two lines that say the same


def _segment(given):
    if given is None or isinstance(given, str):
        return LiveSegment(given or "default")
    if isinstance(given, dict):
        return LiveSegment(**given)
    if hasattr(given, "get") or isinstance(given, _rl.Segment):
        return given
    raise TypeError(f"segment: expected a name, a dict of options, a Segment or a LiveSegment, got {given!r}")


def _problem(status, headers, body):
    return Answer(status, headers, body.encode(), "application/problem+json")


def _proxies(given, client_v6):
    if not isinstance(given, _rl.Proxies):
        return _rl.Proxies(list(given or ()), prefix_v6=64 if client_v6 is None else client_v6)
    if client_v6 is not None:
        raise TypeError("client_v6: rl.Proxies has its own, prefix_v6")
    return given


class By:
    """A rule of middleware: its limits, as Segment.rule() takes them, and whom it counts. Without limits, the rule is
    one that the administrator has configured. `key` is called with the environ or the scope: text, or None for who is
    not limited by this rule; without it the client's address is the key. `cost` is a number, or called the same.
    `methods` and `paths` (exact, or a prefix that ends in *) say for which requests the rule is; all if not given.
    `count_status` says which answers count, and `actual` what a request has cost, as of rl.wsgi.Limit, whose own they
    take the place of."""

    def __init__(self, *limits, key=None, cost=1, methods=None, paths=None, count_status=None, actual=None, **fields):
        self.limits, self.fields = limits, fields
        self.key, self.cost = key, cost
        self.is_counted = status_matcher(count_status)
        self.actual = _actual(actual)
        self.methods = None if methods is None else frozenset(methods)
        self.is_path = None if paths is None else path_matcher(paths, "paths")
        if limits or fields:
            _rl._check_limits(rule_limits(limits, fields))  # what is wrong is told when it is made

    def define(self, segment, name):
        """The rule, in this segment."""
        if not self.limits and not self.fields:
            return segment.find(name)
        return segment.rule(name, *self.limits, **self.fields)

    def counts(self, method, path):
        """Whether a request is of those that the rule is for."""
        return (self.methods is None or method in self.methods) and (self.is_path is None or self.is_path(path))


def path_matcher(paths, what):
    """A function that says whether a path is among these: exact ones, prefixes with a * at the end, or a callable."""
    if callable(paths):
        return paths
    if isinstance(paths, str):
        raise TypeError(f"{what}: expected a list of paths or a function, got {paths!r}")
    exact = frozenset(path for path in paths if not path.endswith("*"))
    prefixes = tuple(path[:-1] for path in paths if path.endswith("*"))
    return lambda path: path in exact or path.startswith(prefixes)


def status_matcher(given):
    """A function of a status and the request that says whether the answer counts; None: all answers do."""
    if given is None or callable(given):
        return given
    classes, codes = set(), set()
    for one in (given,) if isinstance(given, (int, str)) else given:
        text = str(one).lower()
        if re.fullmatch("[1-5]xx", text):
            classes.add(int(text[0]))
        elif re.fullmatch("[1-5][0-9][0-9]", text):
            codes.add(int(text))
        else:
            raise ValueError(f'count_status: expected statuses such as 401 and "4xx", or a function, got {one!r}')
    if not classes and not codes:
        raise ValueError("count_status: there is none; nothing would be limited")
    return lambda status, _request: status in codes or status // 100 in classes


def _actual(given):
    if given is None or callable(given) or isinstance(given, str):
        return given.lower() if isinstance(given, str) else given
    raise TypeError(f"actual: expected the name of a header field, or a function, got {given!r}")


def _by(limits):
    if isinstance(limits, By):
        return limits
    if limits is None:
        return By()
    if isinstance(limits, str):
        return By(limits)
    if isinstance(limits, dict):
        return By(**limits)
    return By(*limits)


class Answer:
    """What to do with a request: serve it (`status` None) or answer it; and the header fields of either. Of one that is
    served something may have to be given back: answered() once its own status is known, and release() at its end."""

    __slots__ = ("_costs", "_held", "_judge", "_told", "body", "content_type", "headers", "status")

    def __init__(self, status=None, headers=(), body=b"", content_type=None, held=(), judge=None, costs=()):
        self.status, self.headers, self.body, self.content_type = status, list(headers), body, content_type
        self._held, self._judge, self._costs, self._told = list(held), judge, list(costs), {}

    @property
    def is_open(self):
        """Whether the application's answer matters to what is counted."""
        return bool(self._held) or self._judge is not None or bool(self._costs)

    def take(self, headers):
        """The application's header fields, without those that say what the request has cost."""
        names = {actual for actual, _pay in self._costs if isinstance(actual, str)}
        kept = []
        for name, value in headers if names else ():
            text = (name.decode("latin-1") if isinstance(name, bytes) else name).lower()
            if text in names:
                self._told[text] = value
            else:
                kept.append((name, value))
        return kept if names else headers

    def answered(self, status):
        """The application has answered: what does not count is given back, before the client knows."""
        judge, self._judge = self._judge, None
        if judge is not None:
            judge(status)
        told, self._told = self._told, {}
        for actual, pay in self._costs if told else ():
            if actual in told:
                pay(lambda actual=actual: int(told[actual]))

    def release(self):
        """The request is done: what it has cost is asked, and what is in flight comes back."""
        for actual, pay in self._costs:
            if callable(actual):
                pay(actual)
        for result in self._held:
            result.release()


async def _awaited(value):
    return await value if inspect.isawaitable(value) else value


class Gate:
    """See rl.wsgi.Limit and rl.asgi.Limit, which hand over their arguments."""

    def __init__(
        self, segment, rules, *, key=None, proxies=None, headers=("standard",), exempt=(), fail="open", status=429,
        body=None, logger=None, count_status=None, client_v6=None, actual=None,
    ):  # fmt: skip
        if not rules:
            raise ValueError("rules: there is none; nothing would be limited")
        if fail not in ("open", "closed"):
            raise ValueError(f"fail: expected 'open' or 'closed', got {fail!r}")
        standard = [word for word in headers if word != "older"]
        if isinstance(headers, str) or set(standard) - {"standard", "ietf-11", "ietf-7"} or len(standard) > 1:
            raise ValueError(f"headers: expected a list of 'standard', 'ietf-11' or 'ietf-7', and of 'older', got {headers!r}")
        self._live = _segment(segment)
        self.rules = {name: _by(limits) for name, limits in rules.items()}
        self._key, self._fail, self._status, self._body = key, fail, status, body
        self.proxies = _proxies(proxies, client_v6)
        self._is_counted, self._actual = status_matcher(count_status), _actual(actual)
        self._standard, self._older = "".join(standard).replace("standard", "ietf"), len(headers) > len(standard)
        self._is_exempt = path_matcher(exempt, "exempt")
        self._logger = logger or logging.getLogger("rl")
        self._of, self._made, self._reported = None, {}, {}

    def _defined(self):
        segment = self._live if isinstance(self._live, _rl.Segment) else self._live.get()
        if self._of is not segment:
            made = {}
            for name, by in self.rules.items():
                try:
                    made[name] = by.define(segment, name)
                except KeyError:
                    raise Error(2, f"rule {name}: it is not configured, and has no limits of its own") from None
            self._made, self._of = made, segment
        return segment, self._made

    def _say(self, text, *args):
        """Each line at most once a second."""
        now = time.monotonic()
        if now >= self._reported.get(text, 0.0):
            self._reported[text] = now + _LOG_EVERY
            self._logger.error(text, *args)

    async def _key_of(self, name, by, request, peer, lines):
        if by.key is not None or self._key is not None:
            key = await _awaited((by.key or self._key)(request))
            key = str(key) if isinstance(key, int) else key
        else:
            key, how, _hops = self._client(peer, lines)
            if how in ("no_address", "far"):
                self._say("rl: %s: the client behind the proxies is not known (%s); it is counted as %s", name, how, key)
            elif key == "unix:":
                self._say("rl: %s: all clients come by a unix socket and share one limit; name its proxy", name)
        if key is not None and not key:
            self._say("rl: %s: a request has an empty key; all such requests share one limit", name)
            return EMPTY_KEY
        return key

    def _client(self, peer, lines):
        try:
            return self.proxies.client(peer, lines)
        except ValueError:  # a peer that is a name: counted as it is
            return peer, "found", 0

    async def _items(self, made, request, method, path, peer, lines):
        """(By, item of check_all()) for each rule that counts this request."""
        items = []
        for name, by in self.rules.items():
            if not by.counts(method, path):
                continue
            key = await self._key_of(name, by, request, peer, lines)
            if key is not None:
                cost = await _awaited(by.cost(request)) if callable(by.cost) else by.cost
                items.append((by, (made[name], key, cost)))
        return items

    async def _ask(self, segment, items):
        return check_all(segment, items)

    async def decide(self, request, method, path, peer, lines):
        """The Answer for a request. `peer` and `lines` are the connection's address and what proxies have written."""
        if self._is_exempt(path):
            return Answer()
        try:
            segment, made = self._defined()
            items = await self._items(made, request, method, path, peer, lines)
            if not items:
                return Answer()
            decided, results = await self._ask(segment, [item for _by, item in items])
        except Error as error:
            return self._failed(error)
        if decided.verdict == "undecided":
            return self._failed(decided.error)
        for result in results:
            if result.error is not None:
                self._say("rl: %s: a request was not counted: %s", result.rule.name, result.error)
        headers = self._fields(decided, results)
        if not decided:
            return self._refuse(request, decided, headers)
        held = [result for result in results if result._held]
        bys = [by for by, _item in items]
        return Answer(None, headers, held=held, judge=self._judge(request, bys, results), costs=self._costs(request, bys, results))

    def _costs(self, request, bys, results):
        """For each charge that is settled: where its cost is said, and a function that settles by what that gives."""
        return [
            (by.actual or self._actual, functools.partial(self._pay, request, by.actual or self._actual, result))
            for by, result in zip(bys, results) if by.actual or self._actual
        ]  # fmt: skip

    def _pay(self, request, actual, result, told):
        """Settle, once. What cannot be told leaves the estimate."""
        try:
            cost = told(request) if callable(actual) else told()
            if cost is not None:
                result.settle(cost)
        except Error as error:
            if error.symbol != "RL_ESETTLED":  # given back, since the answer does not count
                self._say("rl: %s: what a request has cost cannot be settled: %s", result.rule.name, error)
        except Exception as error:  # the answer is there, and stays as it is
            self._say("rl: %s: what a request has cost is not known: %r", result.rule.name, error)

    def _judge(self, request, bys, results):
        """A function of the answer's status that gives back what does not count; None where all counts."""
        charged = [(by.is_counted or self._is_counted, result) for by, result in zip(bys, results)]
        charged = [(is_counted, result) for is_counted, result in charged if is_counted is not None]

        def judge(status):
            for is_counted, result in charged:
                try:
                    if not is_counted(status, request):
                        result.refund(holds=False)
                except Exception as error:  # the answer is there, and stays as it is
                    self._say("rl: %s: an answer counts that may not: %r", result.rule.name, error)

        return judge if charged else None

    def _failed(self, error):
        self._say("rl: requests are %s: %s", "not limited" if self._fail == "open" else "refused", error)
        if self._fail == "open":
            return Answer()
        return _problem(503, [], _rl._problem(503))

    def _fields(self, decided, results):
        """Of all rules in one field each; the older fields, RateLimit of ietf-7 and Retry-After of the one that decided."""
        joined = {}
        for result in results if self._standard else ():
            for name, value in result.headers(standard=self._standard):
                if name == "RateLimit-Policy" or (name == "RateLimit" and (self._standard != "ietf-7" or result is decided)):
                    joined.setdefault(name, []).append(value)
        fields = [(name, ", ".join(values)) for name, values in joined.items()]
        return fields + decided.headers(standard=False, older=self._older)

    def _refuse(self, request, result, headers):
        """What is never allowed, whenever the client comes back, does not invite it to."""
        status = 403 if result.retry_after == math.inf else self._status
        if self._body is not None:
            body, content_type = self._body(request, result)
            body = body.encode() if isinstance(body, str) else body
            return Answer(status, headers, body, content_type)
        return _problem(status, headers, result.problem(status))


class AsyncGate(Gate):
    """The same where an event loop runs, which waits for a share of a cluster's limit."""

    async def _ask(self, segment, items):
        return await check_all_async(segment, items)
