# SPDX-License-Identifier: BSD-2-Clause
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal

from . import Proxies, Result
from ._http import By as By
from ._http import _Actual, _Headers, _Paths, _Request, _Rules, _Segment, _Statuses

__all__ = ["By", "Limit"]

class Limit:
    def __init__(
        self, app: Any, segment: _Segment = "default", rules: _Rules | None = None, *,
        key: Callable[[_Request], Any] | None = None, proxies: Proxies | Iterable[str] | None = None,
        headers: Sequence[_Headers] = ("standard",), exempt: _Paths = (),
        fail: Literal["open", "closed"] = "open", status: int = 429,
        body: Callable[[_Request, Result], tuple[str | bytes, str]] | None = None, logger: logging.Logger | None = None,
        count_status: _Statuses | None = None, client_v6: int | None = None, actual: _Actual | None = None,
    ) -> None: ...  # fmt: skip
    async def __call__(
        self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None: ...
