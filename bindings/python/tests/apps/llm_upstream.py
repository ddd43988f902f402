# SPDX-License-Identifier: BSD-2-Clause
"""A language model that nobody can rely on: it streams, fails, hangs and forgets to tell what an answer has cost. Of
each request LLM_LOG has a line with what it has cost in truth, and when it ended: before its client could know, or with
its last event if it was cut off.

A request's `do` says what becomes of it; without, one of 60 hangs, one of 40 is not told of and one of 20 fails. Costs
have a 95th percentile of LLM_ESTIMATE."""

import asyncio
import itertools
import json
import os
import random
import time

EVENTS, LONG, SIGMA = 6, 0.05, 0.5  # an answer's events, its seconds, how uneven costs are
MEDIAN = float(os.environ["LLM_ESTIMATE"]) / 2.718281828 ** (1.645 * SIGMA)
EVERY = {"hang": 60, "forget": 40, "fail": 20}
numbers, chance = itertools.count(1), random.Random(1)


def told(cost):
    return json.dumps({"choices": [], "usage": {"total_tokens": cost}})


def said(words):
    return json.dumps({"choices": [{"delta": {"content": "word " * words}}]})


async def send_event(send, text, more=True):
    await send({"type": "http.response.body", "body": f"data: {text}\n\n".encode(), "more_body": more})


async def write(send, line, words):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    for i in range(EVENTS):
        part = words * (i + 1) // EVENTS - words * i // EVENTS
        line["cost"] += part
        line["ended"] = time.monotonic()
        await send_event(send, said(part))
        if line["do"] == "hang" and i == EVENTS // 2:
            await asyncio.sleep(3600)
        await asyncio.sleep(LONG / EVENTS)
    line.update(told=line["do"] != "forget", ended=time.monotonic())
    if line["told"]:
        await send_event(send, told(line["cost"]))
    await send_event(send, "[DONE]", False)


async def fail(send):
    await send({"type": "http.response.start", "status": 500, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def until_gone(receive):
    while (await receive())["type"] != "http.disconnect":
        pass


def turn(number):
    return next((do for do, every in EVERY.items() if number % every == 0), "answer")


async def serve(receive, send, line, body):
    line["do"] = body.get("do") or turn(next(numbers))
    if line["do"] == "fail":
        return await fail(send)
    line["cost"] = len(body["messages"][0]["content"].split())
    words = body.get("words") or max(int(chance.lognormvariate(0, SIGMA) * MEDIAN) - line["cost"], EVENTS)
    writing, gone = asyncio.ensure_future(write(send, line, words)), asyncio.ensure_future(until_gone(receive))
    await asyncio.wait([writing, gone], return_when=asyncio.FIRST_COMPLETED)
    writing.cancel()
    gone.cancel()


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    began, parts, more = time.monotonic(), b"", True
    while more:
        message = await receive()
        parts, more = parts + message.get("body", b""), message.get("more_body", False)
    key = dict(scope["headers"])[b"authorization"].decode()
    body = json.loads(parts)
    line = {"key": key, "sent": body["sent"], "began": began, "ended": began, "cost": 0, "told": False}
    try:
        await serve(receive, send, line, body)
    finally:
        with open(os.environ["LLM_LOG"], "a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
