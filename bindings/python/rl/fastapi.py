# SPDX-License-Identifier: BSD-2-Clause
"""A dependency of FastAPI: limits of single routes.

    import rl.fastapi
    logins = rl.fastapi.Limit("web", {"login": "5/min"})

    @app.post("/login", dependencies=[Depends(logins)])
    async def login(): ...
"""

import json

from fastapi import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ._http import AsyncGate, By

__all__ = ["By", "Limit"]


class Limit:
    """As rl.asgi.Limit, without an application: `key`, `cost` and `body` get the scope. Who is refused gets an
    HTTPException, whose detail is the problem. What is in flight is held until the route is done. Which answers count
    is not known here: `count_status` is the middleware's."""

    def __init__(self, segment, rules, **options):
        self._gate = AsyncGate(segment, rules, **options)
        if any(by.is_counted for by in self._gate.rules.values()) or options.get("count_status") is not None:
            raise ValueError("count_status: a dependency does not see the answer; rl.asgi.Limit does")

    async def __call__(self, request: Request, response: Response):
        lines = request.headers.getlist(self._gate.proxies.field)
        peer = request.client.host if request.client else ""
        answer = await self._gate.decide(request.scope, request.method, request.url.path, peer, lines)
        if answer.status is not None:
            is_json = answer.content_type == "application/problem+json"
            detail = json.loads(answer.body) if is_json else answer.body.decode()
            raise HTTPException(answer.status, detail, dict(answer.headers))
        response.headers.update(dict(answer.headers))
        try:
            yield
        finally:
            answer.release()
