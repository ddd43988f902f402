# SPDX-License-Identifier: BSD-2-Clause
"""ASGI middleware, for requests and for websockets.

    import rl.asgi
    app = rl.asgi.Limit(app, "web", {"client": "100/min"})
"""

from ._http import AsyncGate, By

__all__ = ["By", "Limit"]

_TRY_AGAIN_LATER = 1013  # RFC 6455's registry of close codes


_HEADS = ("http.response.start", "websocket.accept", "websocket.http.response.start")


def _status(message):
    """The status that a message sends; None: it sends none."""
    return message.get("status", {"websocket.accept": 101, "websocket.close": 403}.get(message["type"]))


class Limit:
    """As rl.wsgi.Limit, with the scope in place of the environ. A websocket that is refused is closed before it is
    accepted. What is in flight is held until the application is done with the request or the websocket. `key` and `cost`
    may be coroutine functions. Of a websocket the status is 101, or 403 if the application does not accept it."""

    def __init__(self, app, segment="default", rules=None, **options):
        self._app, self._gate = app, AsyncGate(segment, rules, **options)

    async def _decide(self, scope):
        field = self._gate.proxies.field.encode()
        lines = [value for name, value in scope.get("headers", ()) if name.lower() == field]
        client = scope.get("client")
        method = scope.get("method", "GET")
        return await self._gate.decide(scope, method, scope.get("path", ""), client[0] if client else "", lines)

    async def __call__(self, scope, receive, send):
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        answer = await self._decide(scope)
        if answer.status is not None:
            await (self._refuse if scope["type"] == "http" else self._close)(answer, send)
            return

        async def watched_send(message):
            status = _status(message)
            if message["type"] in _HEADS:
                headers = answer.take(list(message.get("headers", ())))
                there = {bytes(name).lower() for name, _value in headers}
                more = [(n.lower().encode(), v.encode()) for n, v in answer.headers if n.lower().encode() not in there]
                message = dict(message, headers=headers + more)
            if status is not None:
                answer.answered(status)
            await send(message)

        try:
            await self._app(scope, receive, watched_send)
        except Exception:
            answer.answered(500)
            raise
        finally:
            answer.release()

    @staticmethod
    async def _refuse(answer, send):
        headers = [("content-type", answer.content_type), ("content-length", str(len(answer.body))), *answer.headers]
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    @staticmethod
    async def _close(answer, send):
        await send({"type": "websocket.close", "code": _TRY_AGAIN_LATER, "reason": "too many requests"})
