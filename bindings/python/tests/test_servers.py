# SPDX-License-Identifier: BSD-2-Clause
"""Servers with four workers and one limit: exactly 50 of 400 requests at once are admitted."""

import collections
import http.client
import json
import subprocess
import time

import pytest
import rl
from serving import PATIENCE, ask, hang_up, serving, storm

EXACT = {200: 50, 429: 350}
STRATEGIES = ["fixed-window", "fixed-window-elastic-expiry", "moving-window"]
GUNICORN = ["gunicorn sync", "gunicorn gthread", "gunicorn preload"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_flask_limiter(name, strategy):
    with serving("gunicorn sync", "app_flask_limiter:app", RL_SEGMENT=name, RL_STRATEGY=strategy) as port:
        assert storm(port) == EXACT
        status, headers, _body = ask(port)
        assert status == 429 and headers["X-RateLimit-Remaining"] == "0" and int(headers["Retry-After"]) > 3000


@pytest.mark.parametrize("server", GUNICORN[1:] + ["uwsgi"])
def test_flask_limiter_on_other_servers(name, server):
    with serving(server, "app_flask_limiter:app", RL_SEGMENT=name, RL_STRATEGY="moving-window") as port:
        assert storm(port) == EXACT


def test_rlctl_tells_what_the_application_refused(name):
    with serving("gunicorn sync", "app_flask_limiter:app", RL_SEGMENT=name, RL_STRATEGY="fixed-window") as port:
        assert storm(port) == EXACT
        rule = rl.Segment(name, existing=True).find("limits/fixed/3600")
        assert (rule.stats()["allowed"], rule.stats()["denied"]) == (50, 350)
        shown = subprocess.run(
            ["build/rlctl", "--segment", name, "list"], check=True, capture_output=True, text=True
        ).stdout
        assert "limited" in shown and "400/50" in shown, shown


@pytest.mark.parametrize("path", ["/slowapi", "/async"])
def test_uvicorn_with_limits(name, path):
    with serving("uvicorn", "app_async_limits:app", RL_SEGMENT=name, RL_STRATEGY="moving-window") as port:
        assert storm(port, path) == EXACT


@pytest.mark.parametrize("path", ["/ratelimit", "/throttle"])
def test_django(name, path):
    with serving("gunicorn gthread", "app_django:app", RL_SEGMENT=name) as port:
        assert storm(port, path) == EXACT
        assert path == "/ratelimit" or int(ask(port, path)[1]["Retry-After"]) > 3000


@pytest.mark.parametrize("server", [*GUNICORN, "uwsgi"])
def test_wsgi(name, server):
    with serving(server, "app_wsgi:app", RL_SEGMENT=name) as port:
        assert storm(port) == EXACT
        status, headers, body = ask(port)
        assert status == 429 and headers["Content-Type"] == "application/problem+json"
        assert json.loads(body)["violated-policies"] == ["client"]
        assert headers["RateLimit-Policy"] == '"client";q=50;w=3600' and headers["RateLimit"].startswith('"client";r=0')
        assert int(headers["Retry-After"]) > 3000 and headers["X-RateLimit-Limit"] == "50"


def test_asgi(name):
    with serving("uvicorn", "app_asgi:app", RL_SEGMENT=name) as port:
        assert storm(port) == EXACT
        status, headers, body = ask(port)
        assert status == 429 and json.loads(body)["status"] == 429 and int(headers["Retry-After"]) > 3000


LOGINS = [("gunicorn gthread", "app_login:app"), ("uvicorn", "app_login:app_async")]


@pytest.mark.parametrize("server, app", LOGINS)
def test_failures_alone_count(name, server, app):
    """50 wrong guesses at once, 1,000 right ones, and one whose worker is killed before it could answer."""
    with serving(server, app, RL_SEGMENT=name) as port:
        assert storm(port, "/wrong", 50, 50) == {401: 5, 429: 45}
        mallory = {"X-Forwarded-For": "192.0.2.2"}
        assert storm(port, "/right", 1000, 4, mallory) == {200: 1000}
        segment = rl.Segment(name, existing=True)
        rule, reached = segment.find("login"), segment.counters("reached")
        assert (reached.get("/wrong").value, reached.get("/right").value) == (5, 1000)
        assert rule.peek("127.0.0.1").used == 5 and rule.peek("192.0.2.2").used == 0
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            ask(port, "/killed", mallory)
        assert rule.peek("192.0.2.2").used == 1


SPENDS = [("gunicorn gthread", "app_spend:app"), ("uvicorn", "app_spend:app_async")]


@pytest.mark.parametrize("server, app", SPENDS)
def test_what_is_used_is_what_it_has_cost(name, server, app):
    """Four workers, one that is killed, an exception and a client that hangs up."""
    with serving(server, app, RL_SEGMENT=name) as port:
        for _ in range(20):
            assert ask(port, "/header/15")[0] == ask(port, "/parts/100")[0] == ask(port, "/unknown")[0] == 200
        segment = rl.Segment(name, existing=True)
        told, asked = segment.find("told"), segment.find("asked")
        parts = segment.counters("parts")

        def becomes(unknown):
            """What is not known has cost the estimate; each part that was sent is paid."""
            until = time.monotonic() + PATIENCE
            while asked.peek("127.0.0.1").used != parts.get("all").value + 40 * unknown:
                assert time.monotonic() < until, (asked.peek("127.0.0.1"), parts.get("all"))
                time.sleep(0.02)

        assert told.peek("127.0.0.1").used == 20 * 15
        becomes(20)
        assert parts.get("all").value == 20 * 100
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            ask(port, "/killed")
        becomes(21)
        ask(port, "/thrown")
        becomes(22)
        hang_up(port, "/endless")
        becomes(22)
        assert parts.get("all").value > 20 * 100


def test_a_network_of_ipv6_is_one_client(name):
    """1,000 addresses of a /64."""
    with serving("gunicorn gthread", "app_login:app", RL_SEGMENT=name) as port:
        told = collections.Counter(
            ask(port, "/wrong", {"X-Forwarded-For": f"2001:db8:0:7::{i:x}"})[0] for i in range(1, 1001)
        )
        assert told == {401: 5, 429: 995}
        shown = subprocess.run(
            ["build/rlctl", "--segment", name, "list"], check=True, capture_output=True, text=True
        ).stdout
        assert "2001:db8:0:7::" in shown and shown.count("2001:db8:") == 1, shown


def test_the_example(name):
    with serving("gunicorn sync", "app:app", directory="examples", RL_SEGMENT=name) as port:
        assert storm(port) == {200: 100, 429: 300}
        status, headers, _body = ask(port)
        assert status == 429 and 1 <= int(headers["Retry-After"]) <= 61
