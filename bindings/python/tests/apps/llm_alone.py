# SPDX-License-Identifier: BSD-2-Clause
"""examples/llm_proxy as it must not be: each worker counts alone."""

import functools
import os
import sys

import rl

rl.Segment = functools.partial(rl.Segment, private=True)
sys.path.insert(0, os.path.join(os.environ["RL_TOP"], "examples/llm_proxy"))
from proxy import app  # noqa: E402, F401
