# SPDX-License-Identifier: BSD-2-Clause
from typing import Any

from . import Segment

class LiveSegment:
    name: str
    fresh_until: float
    def __init__(self, name: str = "default", **options: Any) -> None: ...
    def get(self) -> Segment: ...
