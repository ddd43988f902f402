# SPDX-License-Identifier: BSD-2-Clause
"""WSGI middleware.

    import rl.wsgi
    app = rl.wsgi.Limit(app, "web", {"client": "100/min"})
"""

from ._http import By, Gate

__all__ = ["By", "Limit"]

_REASONS = {403: "Forbidden", 429: "Too Many Requests", 503: "Service Unavailable"}


class _Closing:
    """What an application answers, with release() at its end, however it ends."""

    def __init__(self, iterable, answer):
        self._iterable, self._answer = iterable, answer

    def __iter__(self):
        return iter(self._iterable)

    def close(self):
        try:
            if hasattr(self._iterable, "close"):
                self._iterable.close()
        finally:
            self._answer.release()


class Limit:
    """Limit an application's requests by rules that all of its workers share.

    `segment`: a name, a dict of options of rl.Segment, or an open Segment. `rules`: {name: limits}, where limits are a
    rate such as "100/min", a list of them, a dict of fields, a By, or None for a rule that the administrator has
    configured. A request is charged to all rules or to none.

    `key`: a function of the environ, in place of the client's address; None exempts. `proxies`: networks of proxies
    whose X-Forwarded-For is believed, or an rl.Proxies. `headers`: "standard" for RateLimit and RateLimit-Policy,
    "older" for X-RateLimit-*. `exempt`: paths, or a function of the path. `fail`: "open" serves what cannot be
    decided, "closed" answers 503; both are logged. `status` of a refusal; who is never let in gets 403. `body`: a
    function of environ and result that returns a body and its content type, in place of problem+json.
    """

    def __init__(self, app, segment, rules, **options):
        self._app, self._gate = app, Gate(segment, rules, **options)

    def _lines(self, environ):
        lines = [environ[name] for name in ("HTTP_X_FORWARDED_FOR",) if name in environ]
        forwarded = [environ["HTTP_FORWARDED"]] if "HTTP_FORWARDED" in environ else []
        return forwarded if self._gate.proxies.field == "forwarded" else lines

    def __call__(self, environ, start_response):
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        answer = self._gate.decide(
            environ, environ.get("REQUEST_METHOD", "GET"), path, environ.get("REMOTE_ADDR", ""), self._lines(environ)
        )
        if answer.status is not None:
            return self._refuse(answer, start_response)

        def start(status, headers, exc_info=None):
            there = {name.lower() for name, _value in headers}
            more = [(name, value) for name, value in answer.headers if name.lower() not in there]
            return start_response(status, headers + more, *(() if exc_info is None else (exc_info,)))

        try:
            return _Closing(self._app(environ, start), answer)
        except BaseException:
            answer.release()
            raise

    def _refuse(self, answer, start_response):
        headers = [("Content-Type", answer.content_type), ("Content-Length", str(len(answer.body))), *answer.headers]
        start_response(f"{answer.status} {_REASONS.get(answer.status, 'Limited')}", headers)
        return [answer.body]
