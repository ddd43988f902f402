# SPDX-License-Identifier: BSD-2-Clause
# The extension; programs import rl, whose stub has all that is public.
from typing import Any

def __getattr__(name: str) -> Any: ...
