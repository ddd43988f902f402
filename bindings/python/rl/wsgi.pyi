# SPDX-License-Identifier: BSD-2-Clause
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

from . import Proxies, Result
from ._http import By as By
from ._http import _Actual, _Headers, _Paths, _Request, _Rules, _Segment, _Statuses

__all__ = ["By", "Limit"]

class Limit:
    def __init__(
        self, app: WSGIApplication, segment: _Segment, rules: _Rules, *,
        key: Callable[[_Request], Any] | None = None, proxies: Proxies | Iterable[str] | None = None,
        headers: Sequence[_Headers] = ("standard",), exempt: _Paths = (),
        fail: Literal["open", "closed"] = "open", status: int = 429,
        body: Callable[[_Request, Result], tuple[str | bytes, str]] | None = None, logger: logging.Logger | None = None,
        count_status: _Statuses | None = None, client_v6: int | None = None, actual: _Actual | None = None,
    ) -> None: ...  # fmt: skip
    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]: ...
