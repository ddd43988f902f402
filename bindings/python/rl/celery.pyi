# SPDX-License-Identifier: BSD-2-Clause
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from . import LiveSegment

__all__ = ["limit"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

def limit(
    name: str, *limits: str | Mapping[str, Any], key: str | bytes | Callable[..., Any] = "all",
    segment: str | LiveSegment = "default", max_wait: float = 600.0, poll: float = 0.25, **fields: Any,
) -> Callable[[_Function], _Function]: ...  # fmt: skip
