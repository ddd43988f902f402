# SPDX-License-Identifier: BSD-2-Clause
"""A login behind both middlewares, whose failures alone count: RL_SEGMENT's rule `login`, five a day. Its counter
`reached` says how many guesses came as far as the password."""

import asyncio
import os
import signal
import time

import rl
import rl.asgi
import rl.wsgi

SEGMENT = os.environ["RL_SEGMENT"]
RULES = {"login": "5/day"}
OPTIONS = {"count_status": [401], "proxies": ["127.0.0.1"]}
LONG = 0.05  # seconds of a guess, in which others come


def status_of(path):
    rl.Segment(SEGMENT).counters("reached").add(path, 1, 3600)
    if path == "/killed":
        os.kill(os.getpid(), signal.SIGKILL)
    return 200 if path == "/right" else 401


def login(environ, start_response):
    status = status_of(environ["PATH_INFO"])
    time.sleep(LONG if status == 401 else 0)
    start_response(f"{status} Answered", [("Content-Type", "text/plain")])
    return [b"told\n"]


async def login_async(scope, receive, send):
    if scope["type"] != "http":
        return
    status = status_of(scope["path"])
    await asyncio.sleep(LONG if status == 401 else 0)
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b"told\n"})


app = rl.wsgi.Limit(login, SEGMENT, RULES, **OPTIONS)
app_async = rl.asgi.Limit(login_async, SEGMENT, RULES, **OPTIONS)
