# SPDX-License-Identifier: BSD-2-Clause
"""What is paid afterwards, behind both middlewares: each request is charged 40, and has cost what its path says: /header/N,
/parts/N, one by one, /unknown, /thrown and /killed. /endless costs its parts until the client is gone. The counter
`parts` has how many there were."""

import asyncio
import os
import signal

import rl
import rl.asgi
import rl.wsgi

SEGMENT = os.environ["RL_SEGMENT"]
PART = b"." * 1024


def rules(limit):
    return {
        "told": limit.By("1000000/day", cost=40, actual="X-Cost", paths=["/header/*"]),
        "asked": limit.By("1000000/day", cost=40, actual=lambda request: request.get("spent"), paths=["/parts/*", "/unknown", "/thrown", "/killed", "/endless"]),
    }  # fmt: skip


def begin(path, request):
    """(fields of the answer, how many parts it has)"""
    _, do, *number = path.split("/")
    if do == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if do == "thrown":
        raise LookupError(path)
    if do == "header":
        return [("X-Cost", number[0])], 0
    return [], {"parts": int(number[0]) if number else 0, "endless": 1 << 40, "unknown": 0}[do]


def part(request):
    request["spent"] = request.get("spent", 0) + 1
    rl.Segment(SEGMENT).counters("parts").add("all", 1, 3600)
    return PART


def spend(environ, start_response):
    fields, parts = begin(environ["PATH_INFO"], environ)
    start_response("200 OK", fields)
    return (part(environ) for _ in range(parts))


async def gone(receive):
    while (await receive())["type"] != "http.disconnect":
        pass


async def spend_async(scope, receive, send):
    if scope["type"] != "http":
        return
    fields, parts = begin(scope["path"], scope)
    await send({"type": "http.response.start", "status": 200, "headers": [(n.encode(), v.encode()) for n, v in fields]})
    end = asyncio.ensure_future(gone(receive))
    for _ in range(parts):
        if end.done():
            break
        await send({"type": "http.response.body", "body": part(scope), "more_body": True})
        await asyncio.sleep(0)
    end.cancel()
    await send({"type": "http.response.body", "body": b""})


app = rl.wsgi.Limit(spend, SEGMENT, rules(rl.wsgi))
app_async = rl.asgi.Limit(spend_async, SEGMENT, rules(rl.asgi))
