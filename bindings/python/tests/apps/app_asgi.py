# SPDX-License-Identifier: BSD-2-Clause
"""The native ASGI middleware around Starlette."""

import os

import rl.asgi
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route


async def hello(request):
    return PlainTextResponse("hello\n")


app = Starlette(
    routes=[Route("/", hello)],
    middleware=[Middleware(rl.asgi.Limit, segment=os.environ["RL_SEGMENT"], rules={"client": "50/h"})],
)
