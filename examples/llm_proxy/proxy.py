# SPDX-License-Identifier: BSD-2-Clause
"""A proxy before a language model: each API key has 60 requests and 100,000 tokens a minute, and four answers at once,
over all workers of the server.

    uvicorn --workers 4 proxy:app
    gunicorn --workers 4 --worker-class uvicorn.workers.UvicornWorker proxy:app

It speaks the chat completions of OpenAI's API, streamed. What an answer costs is known when it has been sent: a request
is charged an estimate, and settled to the usage that the upstream's last event tells. A client that hangs up pays for
what was sent. What the upstream refused or failed costs nothing. Where it told nothing, and where a worker was killed,
the estimate stays until its minute is over.

LLM_UPSTREAM is the upstream's address, LLM_WINDOW another window than a minute, LLM_ESTIMATE what 95 of 100 answers do
not cost, LLM_TIMEOUT how many seconds the upstream may say nothing. It needs rl, of bindings/python, starlette and
aiohttp.
"""

import asyncio
import json
import os

import aiohttp
import rl
from starlette.applications import Starlette
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

UPSTREAM = os.environ.get("LLM_UPSTREAM", "http://127.0.0.1:8080")
WINDOW = os.environ.get("LLM_WINDOW", "1min")
ESTIMATE = int(os.environ.get("LLM_ESTIMATE", "4096"))
TIMEOUT = float(os.environ.get("LLM_TIMEOUT", "60"))

llm = rl.Segment(os.environ.get("RL_SEGMENT", "llm")).rule(
    "llm",
    {"limit": f"60/{WINDOW}", "counts": "requests"},
    {"limit": f"100000/{WINDOW}"},
    {"algorithm": "in_flight", "capacity": 4, "counts": "requests"},
)
upstream = None  # a session of each worker's own


def tokens(text):
    """How many tokens a text has: take the tokenizer of your model."""
    return len(text.split())


class Answer(StreamingResponse):
    """The upstream's events. However they end, what is known of their cost is settled."""

    def __init__(self, answer, spent, prompt):
        super().__init__(self.events(), media_type="text/event-stream", headers=dict(spent.headers()))
        self.answer, self.spent = answer, spent
        self.sent, self.usage, self.is_at_end = tokens(prompt), None, False

    async def events(self):
        try:
            async for line in self.answer.content:
                self.read(line)
                yield line
        except (aiohttp.ClientError, asyncio.TimeoutError):
            pass  # the upstream may want money for what nobody has seen
        self.is_at_end = True

    def read(self, line):
        data = line.removeprefix(b"data:").strip()
        if line.startswith(b"data:") and data != b"[DONE]":
            event = json.loads(data)
            self.sent += sum(tokens(choice["delta"].get("content") or "") for choice in event["choices"])
            self.usage = (event.get("usage") or {}).get("total_tokens", self.usage)

    async def __call__(self, scope, receive, send):
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.answer.close()
            if self.usage is not None:
                self.spent.settle(self.usage)
            elif not self.is_at_end:  # the client has hung up
                self.spent.settle(self.sent)
            self.spent.release()


async def asked(key, body):
    """The upstream's answer, once its head is there."""
    body = dict(body, stream=True, stream_options={"include_usage": True})
    return await upstream.post(f"{UPSTREAM}/v1/chat/completions", json=body, headers={"Authorization": key})


def failed(status, spent, is_free):
    if is_free:
        spent.refund()
    spent.release()
    return JSONResponse({"error": {"message": "the model has not answered"}}, status)


async def chat(request):
    key, body = request.headers.get("Authorization", ""), await request.json()
    prompt = " ".join(message["content"] for message in body["messages"])
    spent = llm.spend(key, estimate=min(tokens(prompt) + body.get("max_tokens", ESTIMATE), ESTIMATE))
    if not spent:
        return JSONResponse({"error": {"message": "too many tokens or requests"}}, 429, dict(spent.headers()))
    try:
        answer = await asked(key, body)
    except aiohttp.ClientConnectorError:  # it knows nothing of this request
        return failed(502, spent, is_free=True)
    except (aiohttp.ClientError, asyncio.TimeoutError):
        return failed(504, spent, is_free=False)
    except BaseException:
        spent.release()
        raise
    if answer.status != 200:
        answer.close()
        return failed(502, spent, is_free=True)
    return Answer(answer, spent, prompt)


async def began():
    global upstream
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT, sock_read=TIMEOUT)
    upstream = aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0))


async def ended():
    await upstream.close()


app = Starlette(
    routes=[Route("/v1/chat/completions", chat, methods=["POST"])], on_startup=[began], on_shutdown=[ended]
)
