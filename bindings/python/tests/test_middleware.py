# SPDX-License-Identifier: BSD-2-Clause
"""rl.wsgi and rl.asgi: keys, several rules, headers, bodies, exemptions, proxies, and what cannot be decided."""

import asyncio
import json
import logging
import re

import pytest
import rl
import rl.asgi
import rl.wsgi
from rl.wsgi import By


def wsgi_call(app, path="/", address="192.0.2.1", method="GET", **environ):
    """(status, headers, body) of a request, and the iterable closed as servers do."""
    told = {}

    def start(status, headers, exc_info=None):
        told.update(status=int(status.split()[0]), headers=dict(headers))

    request = {"REQUEST_METHOD": method, "PATH_INFO": path, "REMOTE_ADDR": address, **environ}
    answer = app(request, start)
    try:
        body = b"".join(answer)
    finally:
        if hasattr(answer, "close"):
            answer.close()
    return told["status"], told["headers"], body


def hello(environ, start_response):
    start_response("200 OK", [("X-RateLimit-Limit", "own")])
    return [b"hello"]


def limit(segment, rules=None, app=hello, **options):
    return rl.wsgi.Limit(app, segment, {"client": "2/h"} if rules is None else rules, **options)


def statuses(app, *requests, **environ):
    return [wsgi_call(app, path, **environ)[0] for path in requests]


async def asgi_hello(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"ratelimit", b"own")]})
    await send({"type": "http.response.body", "body": b"hello"})


def asgi_call(app, path="/", client=("192.0.2.1", 1), headers=(), kind="http"):
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "path": path, "client": client, "headers": list(headers), "method": "GET"}
    asyncio.run(app(scope, None, send))
    return sent


# What is answered


def test_a_refusal_is_problem_json(private):
    app = limit(private)
    status, headers, body = [wsgi_call(app) for _ in range(3)][2]
    assert status == 429 and headers["Content-Type"] == "application/problem+json"
    problem = json.loads(body)
    assert problem["type"].endswith("#quota-exceeded") and problem["violated-policies"] == ["client"]
    assert problem["status"] == 429 and int(headers["Content-Length"]) == len(body)
    assert re.search(r"too many requests\. It may come again in \d+ s\.$", problem["detail"])
    for wrong in (99, 600, -1, 1 << 70):
        with pytest.raises((ValueError, OverflowError)):
            private.rule("client", "2/h").check("x").problem(wrong)
    assert headers["RateLimit-Policy"] == '"client";q=2;w=3600' and int(headers["Retry-After"]) > 3000
    assert "X-RateLimit-Limit" not in headers


def test_fields_that_the_application_sets_stay(private):
    _status, headers, _body = wsgi_call(limit(private, headers=["standard", "older"]))
    assert headers["X-RateLimit-Limit"] == "own" and headers["X-RateLimit-Remaining"] == "1"
    sent = asgi_call(rl.asgi.Limit(asgi_hello, private, {"client": "2/h"}))
    assert [value for name, value in sent[0]["headers"] if name == b"ratelimit"] == [b"own"]
    assert b"ratelimit-policy" in dict(sent[0]["headers"])


def test_fields_by_a_version_of_the_draft(private):
    app = limit(private, headers=["ietf-7"], rules={"client": "2/h", "other": "9/h"})
    headers = wsgi_call(app)[1]
    assert headers["RateLimit-Policy"] == "2;w=3600, 9;w=3600"
    assert re.fullmatch(r"limit=2, remaining=1, reset=\d+", headers["RateLimit"])
    headers = wsgi_call(limit(private, headers=["ietf-11"]))[1]
    assert re.fullmatch(r'"client";r=0;t=\d+', headers["RateLimit"])
    for wrong in ("ietf-7", ["ietf-12"], ["ietf-7", "standard"]):
        with pytest.raises(ValueError, match="headers: expected a list"):
            limit(private, headers=wrong)
    with pytest.raises(ValueError, match="'ietf-12'"):
        private.rule("client", "2/h").check("x").headers(standard="ietf-12")


def test_without_headers(private):
    app = limit(private, headers=[])
    assert [sorted(wsgi_call(app)[1]) for _ in range(3)][1:] == [
        ["X-RateLimit-Limit"], ["Content-Length", "Content-Type", "Retry-After"],
    ]  # fmt: skip


def test_a_body_and_a_status_of_ones_own(private):
    app = limit(private, status=503, body=lambda environ, result: (f"wait {result.retry_after:.0f}", "text/plain"))
    status, headers, body = [wsgi_call(app) for _ in range(3)][2]
    assert (status, headers["Content-Type"]) == (503, "text/plain") and body.startswith(b"wait 3")


def test_who_is_never_let_in_is_not_invited_again(private):
    app = limit(private)
    private.ban("192.0.2.1")
    status, headers, body = wsgi_call(app)
    assert status == 403 and "Retry-After" not in headers
    assert json.loads(body)["type"].endswith("#abnormal-usage-detected")
    private.ban("192.0.2.1", seconds=60)
    status, headers, _body = wsgi_call(app)
    assert status == 429 and headers["Retry-After"] in ("60", "61")


# Whom and what


def test_keys_and_several_rules(private):
    rules = {
        "client": "9/h",
        "user": By("1/h", key=lambda environ: environ.get("HTTP_X_USER")),
        "posts": By("1/h", "5/d", methods=["POST"], paths=["/mail", "/post/*"]),
    }
    app = limit(private, rules)
    assert statuses(app, "/", "/", "/", HTTP_X_USER="alice") == [200, 429, 429]
    assert private.find("client").peek("192.0.2.1").used == 1  # all or nothing
    assert statuses(app, "/post/1", "/mail", "/post", method="POST") == [200, 429, 200]
    fields = wsgi_call(app, HTTP_X_USER="bob")[1]
    assert fields["RateLimit-Policy"] == '"client";q=9;w=3600, "user";q=1;w=3600'
    assert fields["RateLimit"].count(";r=") == 2


def test_costs(private):
    app = limit(private, {"client": By("10/h", cost=lambda environ: 5 if environ["PATH_INFO"] == "/dear" else 1)})
    assert statuses(app, "/dear", "/", "/dear", "/") == [200, 200, 429, 200]


def test_exempt_paths(private):
    app = limit(private, exempt=["/health", "/static/*"])
    assert statuses(app, *["/health", "/static/a"] * 5, "/", "/", "/") == [200] * 12 + [429]
    assert private.find("client").stats()["allowed"] == 2


def test_an_empty_key_is_counted_and_told(private, caplog):
    app = limit(private, key=lambda environ: "")
    with caplog.at_level(logging.ERROR, "rl"):
        assert statuses(app, "/", "/", "/") == [200, 200, 429]
    assert "a request has an empty key; all such requests share one limit" in caplog.text
    assert private.find("client").peek("-").used == 2


def test_none_exempts(private):
    app = limit(private, key=lambda environ: None)
    assert statuses(app, *["/"] * 5) == [200] * 5


def test_unix_sockets_and_proxies(private, caplog):
    app = limit(private)
    with caplog.at_level(logging.ERROR, "rl"):
        assert statuses(app, "/", "/", "/", address="", HTTP_X_FORWARDED_FOR="203.0.113.7") == [200, 200, 429]
    assert "all clients come by a unix socket and share one limit; name its proxy" in caplog.text
    app = limit(private, {"behind": "2/h"}, proxies=["unix:", "10.0.0.0/8"])
    for forwarded in ("203.0.113.7", "6.6.6.6, 203.0.113.7, 10.0.0.2", "203.0.113.7:99"):
        last = wsgi_call(app, address="", HTTP_X_FORWARDED_FOR=forwarded)[0]
    assert last == 429 and private.find("behind").peek("203.0.113.7").used == 2
    assert wsgi_call(app, address="203.0.113.7", HTTP_X_FORWARDED_FOR="1.1.1.1")[0] == 429  # not a proxy's word
    with caplog.at_level(logging.ERROR, "rl"):
        wsgi_call(app, address="10.0.0.1", HTTP_X_FORWARDED_FOR="unknown")
    assert "the client behind the proxies is not known (no_address); it is counted as 10.0.0.1" in caplog.text


def test_the_forwarded_field(private):
    proxies = rl.Proxies(["10.0.0.1"], field="forwarded")
    app = limit(private, proxies=proxies)
    assert [
        wsgi_call(app, address="10.0.0.1", HTTP_FORWARDED='for="[2001:db8::5]:80"', HTTP_X_FORWARDED_FOR=str(i))[0]
        for i in range(3)
    ] == [200, 200, 429]
    assert private.find("client").peek("2001:db8::").used == 2


def test_hostile_keys(private):
    app = limit(private, key=lambda environ: environ["HTTP_X_USER"])
    for user in ("x" * 100_000, "\udcff\udc80", "a\0b", "\r\nX-Evil: 1", "ÿ"):
        answers = [wsgi_call(app, HTTP_X_USER=user) for _ in range(3)]
        assert [answer[0] for answer in answers] == [200, 200, 429]
        assert not any("\n" in value for value in answers[2][1].values())


# What is in flight


def test_what_is_in_flight_is_held_until_the_body_is_sent(private):
    app = limit(private, {"jobs": {"algorithm": "in_flight", "capacity": 1}}, app=lambda e, s: (s("200 OK", []), iter([b"x"]))[1])
    told = []
    first = app({"REMOTE_ADDR": "192.0.2.1", "PATH_INFO": "/"}, lambda *a: told.append(a))
    assert wsgi_call(app)[0] == 429
    first.close()
    assert statuses(app, "/", "/") == [200, 200]


def test_what_is_in_flight_comes_back_after_an_exception(private):
    def broken(*_arguments):
        raise ZeroDivisionError

    app = limit(private, {"jobs": {"algorithm": "in_flight", "capacity": 1}}, app=broken)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            wsgi_call(app)
    app = rl.asgi.Limit(broken, private, {"more": {"algorithm": "in_flight", "capacity": 1}})
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            asgi_call(app)


@pytest.mark.parametrize("limits, is_kept", [("9/d", True), ({"algorithm": "in_flight", "capacity": 1}, False)])
def test_the_application_s_own_answer_is_handed_on_where_nothing_is_to_be_given_back(private, limits, is_kept):
    parts = [b"x"]  # as the wrapper of a file: servers look what it is, and how long
    app = limit(private, {"client": limits}, app=lambda environ, start: (start("200 OK", []), parts)[1])
    answer = app({"REMOTE_ADDR": "192.0.2.1", "PATH_INFO": "/"}, lambda *told: None)
    assert (answer is parts) is is_kept
    if not is_kept:
        answer.close()


# Which answers count


def answering(status, *parts, error=None):
    """An application for WSGI, and for ASGI, with this answer."""

    def wsgi(environ, start_response):
        start_response(f"{status} Told", [])
        yield from parts
        if error:
            raise error

    async def asgi(scope, receive, send):
        if status:
            await send({"type": "http.response.start", "status": status})
        if error:
            raise error

    return wsgi, asgi


def used_after(segment, status, *parts, error=None, count_status=None):
    """What a request counts for in the end that was answered so, under each of the two."""
    wsgi, asgi = answering(status, *parts, error=error)
    calls = [(wsgi_call, limit(segment, {"w": "5/d"}, app=wsgi, count_status=count_status))] if status else []
    calls.append((asgi_call, rl.asgi.Limit(asgi, segment, {"a": "5/d"}, count_status=count_status)))
    used = set()
    for (call, app), name in zip(calls, "wa" if status else "a"):
        try:
            call(app)
        except BaseException as raised:
            assert raised is error
        used.add(segment.find(name).peek("192.0.2.1").used)
        segment.reset()
    return used


@pytest.mark.parametrize(
    "status, counted, used",
    [
        (200, [401], 0), (401, [401], 1), (401, 401, 1), (404, ["4xx"], 1), (404, "4xx", 1), (404, ["404"], 1), (500, ["4xx", 503], 0),
        (503, ["4xx", 503], 1), (200, None, 1), (404, lambda status, request: status == 404 and request is not None, 1),
        (405, lambda status, request: status == 404, 0),
    ],
)  # fmt: skip
def test_answers_that_do_not_count_are_given_back(private, status, counted, used):
    assert used_after(private, status, b"told", count_status=counted) == {used}
    assert used_after(private, status, count_status=counted) == {used}  # without a body


def test_an_answer_that_breaks(private):
    broken = ZeroDivisionError()
    assert used_after(private, 0, error=broken, count_status=["5xx"]) == {1}
    assert used_after(private, 0, error=broken, count_status=[401]) == {0}
    assert used_after(private, 401, b"begun", error=broken, count_status=[401]) == {1}
    assert used_after(private, 401, b"begun", error=broken, count_status=["5xx"]) == {0}
    assert wsgi_broke_before_its_first_part(private, broken) == 1


def wsgi_broke_before_its_first_part(segment, broken):
    """The server answers 500 then, whatever the application has begun with."""
    app = limit(segment, {"w": "5/d"}, app=answering(200, error=broken)[0], count_status=["5xx"])
    with pytest.raises(ZeroDivisionError):
        wsgi_call(app)
    return segment.find("w").peek("192.0.2.1").used


def test_a_request_without_an_answer_counts(private):
    """The client has hung up, and the server has cancelled the application or told it."""
    assert used_after(private, 0, count_status=[401]) == {1}
    assert used_after(private, 0, error=asyncio.CancelledError(), count_status=[401]) == {1}

    async def refuses(scope, receive, send):
        await send({"type": "websocket.close"})

    assert asgi_call(rl.asgi.Limit(refuses, private, {"s": "5/d"}, count_status=[403]), kind="websocket")[0] == {"type": "websocket.close"}
    assert private.find("s").peek("192.0.2.1").used == 1


def test_it_is_given_back_before_the_client_has_the_first_byte(private):
    seen = []
    app = limit(private, app=answering(200, b"", b"x", b"y")[0], count_status=[401])
    told = app({"REMOTE_ADDR": "192.0.2.1", "PATH_INFO": "/"}, lambda *a: None)
    for part in told:
        seen.append((part, private.find("client").peek("192.0.2.1").used))
    assert seen == [(b"", 1), (b"x", 0), (b"y", 0)]


def test_each_rule_has_answers_of_its_own(private):
    rules = {
        "failed": By("5/d", count_status=[401]),
        "all": By("5/d", count_status=lambda status, environ: True),
        "served": "5/d",
        "jobs": {"algorithm": "in_flight", "capacity": 1},
    }
    app = limit(private, rules, app=answering(404, b"x")[0], count_status=["2xx"])
    assert [wsgi_call(app)[0] for _ in range(2)] == [404, 404]
    assert [private.find(rule).peek("192.0.2.1").used for rule in rules] == [0, 2, 0, 0]


def test_what_is_in_flight_stays_so_though_the_answer_does_not_count(private):
    rules = {"both": By("5/d", {"algorithm": "in_flight", "capacity": 1}, count_status=[401])}
    app = limit(private, rules, app=answering(200, b"x", b"y")[0])
    first = app({"REMOTE_ADDR": "192.0.2.1", "PATH_INFO": "/"}, lambda *told: None)
    next(iter(first))
    assert wsgi_call(app)[0] == 429
    first.close()
    assert wsgi_call(app)[0] == 200


def test_a_function_that_fails_lets_the_answer_count(private, caplog):
    with caplog.at_level(logging.ERROR, "rl"):
        assert used_after(private, 200, b"x", count_status=lambda status, request: status / 0) == {1}
    assert "rl: w: an answer counts that may not: ZeroDivisionError" in caplog.text


# What cannot be decided


@pytest.mark.parametrize("fail, status", [("open", 200), ("closed", 503)])
def test_no_segment(name, caplog, fail, status, monkeypatch):
    from rl import _http, _live

    monkeypatch.setattr(_http, "_LOG_EVERY", 3600.0)
    app = limit({"name": name, "existing": True}, fail=fail)
    with caplog.at_level(logging.ERROR, "rl"):
        assert statuses(app, "/", "/", "/") == [status] * 3
    assert len(caplog.records) == 1 and name in caplog.text
    monkeypatch.setattr(_live, "_EVERY", 0.0)
    app = limit({"name": name, "existing": True}, fail=fail)
    assert statuses(app, "/") == [status]
    with rl.Segment(name):
        assert statuses(app, "/", "/", "/") == [200, 200, 429]
    rl.unlink(name)
    assert statuses(app, "/") == [status]
    with rl.Segment(name):
        assert statuses(app, "/", "/", "/") == [200, 200, 429]


@pytest.mark.parametrize("fail, status", [("open", 200), ("closed", 503)])
def test_a_full_table_and_a_reader(name, caplog, fail, status):
    with rl.Segment(name) as segment:
        segment.rule("client", "2/h")
        with rl.Segment(name, readonly=True) as reader, caplog.at_level(logging.ERROR, "rl"):
            assert wsgi_call(limit(reader, {"client": None}, fail=fail))[0] == status
    assert "requests are" in caplog.text


def test_a_rule_that_nobody_has_configured(private, caplog):
    app = limit(private, {"login": None}, fail="closed")
    with caplog.at_level(logging.ERROR, "rl"):
        status, _headers, body = wsgi_call(app)
        assert status == 503 and json.loads(body)["type"].endswith("#temporary-reduced-capacity")
    assert "rule login: it is not configured" in caplog.text
    private.rule("login", "1/h")
    assert statuses(app, "/", "/") == [200, 429]


@pytest.mark.parametrize(
    "rules, options, text",
    [
        ({}, {}, "rules: there is none"),
        ({"x": "5/fortnight"}, {}, "expected a rate"),
        ({"x": {"limit": "5/s", "hart": True}}, {}, "hart"),
        (None, {"fail": "maybe"}, "fail: expected"),
        (None, {"headers": ["modern"]}, "headers: expected"),
        (None, {"exempt": "/static"}, "exempt: expected a list"),
        (None, {"proxies": ["nonsense"]}, "trusted: expected"),
        (None, {"client_v6": 129}, "at most 128"),
        (None, {"client_v6": 56, "proxies": rl.Proxies([])}, "client_v6: rl.Proxies has its own"),
        (None, {"count_status": []}, "count_status: there is none"),
        (None, {"count_status": ["6xx"]}, "count_status: expected statuses"),
        (None, {"count_status": 4.5}, "not iterable"),
    ],
)
def test_what_is_wrong_is_told_when_it_is_made(private, rules, options, text):
    with pytest.raises((TypeError, ValueError), match=text):
        limit(private, rules, **options)


# Clients


@pytest.mark.parametrize("bits, key", [(None, "2001:db8:0:7::"), (56, "2001:db8::"), (128, "2001:db8:0:7::1")])
def test_a_client_is_a_network_of_ipv6_and_an_address_of_ipv4(private, bits, key):
    app = limit(private, client_v6=bits)
    wsgi_call(app, address="2001:db8:0:7::1")
    wsgi_call(app, address="192.0.2.1")
    wsgi_call(app, address="::ffff:192.0.2.1")
    client = private.find("client")
    assert client.peek(key).used == 1 and client.peek("192.0.2.1").used == 2


# ASGI


async def key_of(scope):
    await asyncio.sleep(0)
    return scope["path"]


def test_keys_and_costs_of_coroutines(private):
    app = rl.asgi.Limit(asgi_hello, private, {"user": By("4/h", key=key_of, cost=lambda scope: asyncio.sleep(0, 2))})
    assert [asgi_call(app, path)[0]["status"] for path in ("/a", "/a", "/a", "/b")] == [200, 200, 429, 200]
    with pytest.raises(TypeError, match="WSGI has no event loop"):
        wsgi_call(limit(private, {"user": By("4/h", key=lambda environ: asyncio.sleep(0, "a"))}))


def test_keys_that_are_numbers(private, caplog):
    app = limit(private, key=lambda environ: int(environ["HTTP_X_USER"]))
    assert [wsgi_call(app, HTTP_X_USER=user)[0] for user in ("7", "0", "7", "7")] == [200, 200, 200, 429]
    assert private.find("client").peek("0").used == 1 and not caplog.text


def test_asgi(private):
    app = rl.asgi.Limit(asgi_hello, private, {"client": "2/h"}, proxies=["unix:"])
    for _ in range(2):
        assert asgi_call(app, client=None, headers=[(b"X-Forwarded-For", b"203.0.113.7")])[0]["status"] == 200
    start, body = asgi_call(app, client=None, headers=[(b"x-forwarded-for", b"6.6.6.6"), (b"x-forwarded-for", b"203.0.113.7")])
    assert start["status"] == 429 and json.loads(body["body"])["title"] == "Quota exceeded"
    assert int(dict(start["headers"])[b"retry-after"]) > 3000
    assert asgi_call(app, kind="lifespan")[0]["status"] == 200


def test_websockets(private):
    async def accept(scope, receive, send):
        await send({"type": "websocket.accept"})

    app = rl.asgi.Limit(accept, private, {"client": "1/h"})
    (accepted,) = asgi_call(app, kind="websocket")
    assert b"ratelimit" in dict(accepted["headers"])
    assert asgi_call(app, kind="websocket") == [{"type": "websocket.close", "code": 1013, "reason": "too many requests"}]


# What a request has cost


def spent(segment, name="tokens"):
    return segment.find(name).peek("192.0.2.1").used


TOKENS = {"tokens": rl.wsgi.By("100/h", cost=40, actual="X-Tokens")}


@pytest.mark.parametrize("told, used", [("7", 7), ("90", 90), (None, 40), ("many", 40), ("-3", 40)])
def test_a_header_field_says_what_it_has_cost(private, told, used):
    own = [("X-Tokens", told)] if told else []

    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain"), *own])
        return [b"hello"]

    _status, headers, body = wsgi_call(rl.wsgi.Limit(app, private, TOKENS))
    assert "X-Tokens" not in headers and body == b"hello" and spent(private) == used


def test_a_function_says_what_it_has_cost_also_when_the_client_is_gone(private):
    rules = {"tokens": rl.wsgi.By("100/h", cost=40, actual=lambda environ: environ.get("spent"))}

    def app(environ, start_response):
        start_response("200 OK", [])
        for part in (b"one", b"two", b"three"):
            environ["spent"] = environ.get("spent", 0) + len(part)
            yield part

    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "REMOTE_ADDR": "192.0.2.1"}
    body = rl.wsgi.Limit(app, private, rules)(environ, lambda *told: None)
    assert next(iter(body)) == b"one"
    body.close()
    assert spent(private) == 3


def test_what_does_not_count_is_not_settled(private):
    def app(environ, start_response):
        start_response("500 Oops", [("X-Tokens", "60")])
        return [b"oops"]

    wsgi_call(rl.wsgi.Limit(app, private, TOKENS, count_status=["2xx"]))
    assert spent(private) == 0


def test_requests_are_counted_beside_tokens(private):
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-tokens", b"120")]})
        await send({"type": "http.response.body", "body": b"hello"})

    rules = {**TOKENS, "requests": rl.asgi.By("10/min", counts="requests")}
    limited = rl.asgi.Limit(app, private, rules, actual="X-Tokens")
    sent = asgi_call(limited)
    assert b"x-tokens" not in dict(sent[0]["headers"])
    assert (spent(private), spent(private, "requests")) == (120, 1)
    assert asgi_call(limited)[0]["status"] == 429  # a debt
