# SPDX-License-Identifier: BSD-2-Clause
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from typing_extensions import TypeAlias

from . import LiveSegment, Proxies, Result, Segment

_Request: TypeAlias = Any  # the environ of WSGI; the scope of ASGI
_Limit: TypeAlias = str | Mapping[str, Any]
_Paths: TypeAlias = Sequence[str] | Callable[[str], bool]
_Actual: TypeAlias = str | Callable[[_Request], int | None]
_Statuses: TypeAlias = int | str | Iterable[int | str] | Callable[[int, _Request], object]
_Segment: TypeAlias = str | Mapping[str, Any] | Segment | LiveSegment | None
_Headers: TypeAlias = Literal["standard", "ietf-11", "ietf-7", "older"]
_Rules: TypeAlias = Mapping[str, _Limit | Sequence[_Limit] | By | None]

EMPTY_KEY: str

def path_matcher(paths: _Paths, what: str) -> Callable[[str], bool]: ...
def status_matcher(given: _Statuses | None) -> Callable[[int, _Request], object] | None: ...

class By:
    limits: tuple[_Limit, ...]
    fields: dict[str, Any]
    key: Callable[[_Request], Any] | None
    cost: int | Callable[[_Request], Any]
    is_counted: Callable[[int, _Request], object] | None
    methods: frozenset[str] | None
    is_path: Callable[[str], bool] | None
    def __init__(
        self, *limits: _Limit, key: Callable[[_Request], Any] | None = None,
        cost: int | Callable[[_Request], Any] = 1, methods: Iterable[str] | None = None,
        paths: _Paths | None = None, count_status: _Statuses | None = None,
        actual: _Actual | None = None, **fields: Any,
    ) -> None: ...  # fmt: skip
    def define(self, segment: Segment, name: str) -> Any: ...
    def counts(self, method: str, path: str) -> bool: ...

class Answer:
    body: bytes
    content_type: str | None
    headers: list[tuple[str, str]]
    status: int | None
    def __init__(
        self, status: int | None = None, headers: Iterable[tuple[str, str]] = (), body: bytes = b"",
        content_type: str | None = None, held: Iterable[Result] = (), judge: Callable[[int], None] | None = None,
        costs: Iterable[tuple[Any, Callable[[Any], None]]] = (),
    ) -> None: ...  # fmt: skip
    @property
    def is_open(self) -> bool: ...
    def take(self, headers: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]: ...
    def answered(self, status: int) -> None: ...
    def release(self) -> None: ...

class Gate:
    proxies: Proxies
    def __init__(
        self, segment: _Segment, rules: _Rules | None, *, key: Callable[[_Request], Any] | None = None,
        proxies: Proxies | Iterable[str] | None = None, headers: Sequence[_Headers] = ("standard",),
        exempt: _Paths = (), fail: Literal["open", "closed"] = "open", status: int = 429,
        body: Callable[[_Request, Result], tuple[str | bytes, str]] | None = None, logger: logging.Logger | None = None,
        count_status: _Statuses | None = None, client_v6: int | None = None, actual: _Actual | None = None,
    ) -> None: ...  # fmt: skip
    async def decide(
        self, request: _Request, method: str, path: str, peer: str, lines: Sequence[str | bytes]
    ) -> Answer: ...

class AsyncGate(Gate): ...
