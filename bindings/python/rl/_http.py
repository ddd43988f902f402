# SPDX-License-Identifier: BSD-2-Clause
"""What middleware has in common: whom to limit by which rules, and what is answered."""

import json
import logging
import math
import time

from . import _rl
from ._calls import check_all, rule_limits
from ._errors import Error
from ._live import LiveSegment

EMPTY_KEY = "-"  # stands for whoever has no key: they share one limit
_PROBLEM = "https://iana.org/assignments/http-problem-types#quota-exceeded"
_TITLES = {403: "Forbidden", 429: "Too Many Requests", 503: "Service Unavailable"}
_LOG_EVERY = 1.0  # seconds between two lines that say the same


def _segment(given):
    if given is None or isinstance(given, str):
        return LiveSegment(given or "default")
    if isinstance(given, dict):
        return LiveSegment(**given)
    if hasattr(given, "get") or isinstance(given, _rl.Segment):
        return given
    raise TypeError(f"segment: expected a name, a dict of options, a Segment or a LiveSegment, got {given!r}")


class By:
    """A rule of middleware: its limits, as Segment.rule() takes them, and whom it counts. Without limits, the rule is
    one that the administrator has configured. `key` is called with the environ or the scope: text, or None for who is
    not limited by this rule; without it the client's address is the key. `cost` is a number, or called the same.
    `methods` and `paths` (exact, or a prefix that ends in *) say for which requests the rule is; all if not given."""

    def __init__(self, *limits, key=None, cost=1, methods=None, paths=None, **fields):
        self.limits, self.fields = limits, fields
        self.key, self.cost = key, cost
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
    """What to do with a request: serve it (`status` None) or answer it; the header fields of either, and the results,
    which are to be released when the request is done."""

    __slots__ = ("body", "content_type", "headers", "results", "status")

    def __init__(self, status=None, headers=(), results=(), body=b"", content_type=None):
        self.status, self.headers, self.results = status, list(headers), results
        self.body, self.content_type = body, content_type

    def release(self):
        """Give back what is in flight."""
        for result in self.results:
            result.release()


class Gate:
    """See rl.wsgi.Limit and rl.asgi.Limit, which hand over their arguments."""

    def __init__(
        self, segment, rules, *, key=None, proxies=None, headers=("standard",), exempt=(), fail="open", status=429,
        body=None, logger=None,
    ):  # fmt: skip
        if not rules:
            raise ValueError("rules: there is none; nothing would be limited")
        if fail not in ("open", "closed"):
            raise ValueError(f"fail: expected 'open' or 'closed', got {fail!r}")
        unknown = set(headers) - {"standard", "older"}
        if isinstance(headers, str) or unknown:
            raise ValueError(f"headers: expected a list of 'standard' and 'older', got {headers!r}")
        self._live = _segment(segment)
        self._rules = {name: _by(limits) for name, limits in rules.items()}
        self._key, self._fail, self._status, self._body = key, fail, status, body
        self.proxies = proxies if isinstance(proxies, _rl.Proxies) else _rl.Proxies(list(proxies or ()))
        self._headers, self._is_exempt = headers, path_matcher(exempt, "exempt")
        self._logger = logger or logging.getLogger("rl")
        self._of, self._made, self._reported = None, {}, {}

    def _defined(self):
        segment = self._live if isinstance(self._live, _rl.Segment) else self._live.get()
        if self._of is not segment:
            made = {}
            for name, by in self._rules.items():
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

    def _key_of(self, name, by, request, peer, lines):
        if by.key is not None or self._key is not None:
            key = (by.key or self._key)(request)
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

    def _items(self, made, request, method, path, peer, lines):
        for name, by in self._rules.items():
            if not by.counts(method, path):
                continue
            key = self._key_of(name, by, request, peer, lines)
            if key is not None:
                yield made[name], key, by.cost(request) if callable(by.cost) else by.cost

    def decide(self, request, method, path, peer, lines):
        """The Answer for a request. `peer` and `lines` are the connection's address and what proxies have written."""
        if self._is_exempt(path):
            return Answer()
        try:
            segment, made = self._defined()
            items = list(self._items(made, request, method, path, peer, lines))
            if not items:
                return Answer()
            decided, results = check_all(segment, items)
        except Error as error:
            return self._failed(error)
        if decided.verdict == "undecided":
            return self._failed(decided.error)
        for result in results:
            if result.error is not None:
                self._say("rl: %s: a request was not counted: %s", result.rule.name, result.error)
        headers = self._fields(decided, results)
        return Answer(None, headers, results) if decided else self._refuse(request, decided, headers)

    def _failed(self, error):
        self._say("rl: requests are %s: %s", "not limited" if self._fail == "open" else "refused", error)
        if self._fail == "open":
            return Answer()
        return self._problem(503, "The rate limit cannot be decided.", [], None)

    def _fields(self, decided, results):
        """Of all rules in one field each; the older fields and Retry-After of the one that decided."""
        joined = {}
        if "standard" in self._headers:
            for result in results:
                for name, value in result.headers():
                    if name != "Retry-After":
                        joined.setdefault(name, []).append(value)
        fields = [(name, ", ".join(values)) for name, values in joined.items()]
        return fields + decided.headers(standard=False, older="older" in self._headers)

    def _refuse(self, request, result, headers):
        """What is never allowed, whenever the client comes back, does not invite it to."""
        status = 403 if result.retry_after == math.inf else self._status
        if self._body is not None:
            body, content_type = self._body(request, result)
            body = body.encode() if isinstance(body, str) else body
            return Answer(status, headers, (), body, content_type)
        wait = result.retry_after
        text = "The client is not allowed." if status == 403 else "The client has sent too many requests."
        if wait is not None and status != 403:
            text += f" It may come again in {math.ceil(wait)} s."
        return self._problem(status, text, headers, result)

    def _problem(self, status, text, headers, result):
        problem = {"type": "about:blank", "title": _TITLES.get(status, "Limited"), "status": status, "detail": text}
        if result is not None:
            problem.update({"type": _PROBLEM, "violated-policies": [result.rule.name]})
        return Answer(status, headers, (), json.dumps(problem).encode() + b"\n", "application/problem+json")
