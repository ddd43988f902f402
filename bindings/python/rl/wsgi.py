# SPDX-License-Identifier: BSD-2-Clause
"""WSGI middleware.

    import rl.wsgi
    app = rl.wsgi.Limit(app, "web", {"client": "100/min"})
"""

from ._http import By, Gate

__all__ = ["By", "Limit"]

_REASONS = {403: "Forbidden", 429: "Too Many Requests", 503: "Service Unavailable"}


def _at_once(coroutine):
    """What a coroutine returns that has nothing to wait for."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise TypeError("key, cost: one waits for something, and WSGI has no event loop")


class _Watched:
    """What an application answers. Its status is told to the Answer once it cannot change any more, and the Answer is
    released at the end, however it ends."""

    def __init__(self, iterable, answer, told):
        self._iterable, self._answer, self._told = iterable, answer, told

    def _answered(self):
        if self._told:
            self._answer.answered(self._told[-1])

    def __iter__(self):
        try:
            for part in self._iterable:
                if part:
                    self._answered()  # servers send the status now
                yield part
        except Exception:
            self._answer.answered(500)
            raise
        self._answered()

    def close(self):
        try:
            if hasattr(self._iterable, "close"):
                self._iterable.close()
        finally:
            self._answered()
            self._answer.release()


class Limit:
    """Limit an application's requests by rules that all of its workers share.

    `segment`: a name, a dict of options of rl.Segment, or an open Segment. `rules`: {name: limits}, where limits are a
    rate such as "100/min", a list of them, a dict of fields, a By, or None for a rule that the administrator has
    configured. A request is charged to all rules or to none.

    `key`: a function of the environ, in place of the client's address; None exempts. `proxies`: networks of proxies
    whose X-Forwarded-For is believed, or an rl.Proxies. `headers`: "standard" for RateLimit and RateLimit-Policy
    of the draft's latest version ("ietf-11"), "ietf-7" for them as clients of version 7 read them, "older" for X-RateLimit-*. `exempt`: paths, or a function of the path. `fail`: "open" serves what cannot be
    decided, "closed" answers 503; both are logged. `status` of a refusal; who is never let in gets 403. `body`: a
    function of environ and result that returns a body and its content type, in place of problem+json. `client_v6`: how
    many leading bits of an IPv6 address are one client, 64; 128 counts single addresses.

    `count_status`: which answers count, a list such as [401, "5xx"], or a function of status and environ. A request is
    charged before it is served, so that no number of them at once passes, and given back as its answer is sent, if that
    does not count. An exception counts as 500. A request that ends without an answer, for the client has hung up or the
    worker was killed, counts. Fields of the answer tell what holds with this request.

    `actual`: what the request has cost, in place of what it was charged (`cost` of By, an estimate): the name of a header
    field of the answer, which is taken out of it, or a function of the environ that is asked at the end. What is not known
    leaves the estimate. A rule with counts="requests" is left alone.
    """

    def __init__(self, app, segment, rules, **options):
        self._app, self._gate = app, Gate(segment, rules, **options)

    def _lines(self, environ):
        lines = [environ[name] for name in ("HTTP_X_FORWARDED_FOR",) if name in environ]
        forwarded = [environ["HTTP_FORWARDED"]] if "HTTP_FORWARDED" in environ else []
        return forwarded if self._gate.proxies.field == "forwarded" else lines

    def __call__(self, environ, start_response):
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        answer = _at_once(self._gate.decide(
            environ, environ.get("REQUEST_METHOD", "GET"), path, environ.get("REMOTE_ADDR", ""), self._lines(environ)
        ))  # fmt: skip
        if answer.status is not None:
            return self._refuse(answer, start_response)

        told = []

        def start(status, headers, exc_info=None):
            told.append(int(status[:3]))
            headers = answer.take(headers)
            there = {name.lower() for name, _value in headers}
            more = [(name, value) for name, value in answer.headers if name.lower() not in there]
            return start_response(status, headers + more, *(() if exc_info is None else (exc_info,)))

        try:
            body = self._app(environ, start)
        except BaseException:
            answer.answered(500)
            answer.release()
            raise
        # What a server makes of the application's own object, sendfile() of a file, is left to it where it can be.
        return _Watched(body, answer, told) if answer.is_open else body

    def _refuse(self, answer, start_response):
        headers = [("Content-Type", answer.content_type), ("Content-Length", str(len(answer.body))), *answer.headers]
        start_response(f"{answer.status} {_REASONS.get(answer.status, 'Limited')}", headers)
        return [answer.body]
