# SPDX-License-Identifier: BSD-2-Clause
"""What slowapi does with limits, and what FastAPI applications do with its asynchronous half."""

import os

import limits.aio.strategies
import limits.storage
import limits.strategies
import rl.limits
from fastapi import FastAPI, Request, Response

app = FastAPI()
uri = f"rl+shm://{os.environ['RL_SEGMENT']}"
item = limits.parse("50/hour")
storage, async_storage = (limits.storage.storage_from_string(scheme + uri) for scheme in ("", "async+"))
limiter = limits.strategies.STRATEGIES[os.environ["RL_STRATEGY"]](storage)
async_limiter = limits.aio.strategies.STRATEGIES[os.environ["RL_STRATEGY"]](async_storage)


def slowapi_check(request):
    """slowapi's order of calls: hit, then the window for its headers, and a check of the storage in trouble."""
    admitted = limiter.hit(item, request.client.host, "hello", cost=1)
    reset, remaining = limiter.get_window_stats(item, request.client.host, "hello")
    assert storage.check() and remaining >= 0 and reset > 0
    return admitted


@app.get("/slowapi")
def hello_slowapi(request: Request):
    return Response("hello\n", 200 if slowapi_check(request) else 429)


@app.get("/async")
async def hello_async(request: Request):
    admitted = await async_limiter.hit(item, request.client.host, "async")
    return Response("hello\n", 200 if admitted else 429)
