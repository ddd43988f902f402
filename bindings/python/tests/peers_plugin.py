# SPDX-License-Identifier: BSD-2-Clause
"""A plugin for pytest: whatever asks limits for a store in memory gets one of rl, new for each test."""

import itertools
import os

import limits.aio.storage
import limits.storage
import limits.storage.registry as registry
import pytest
import rl
import rl.limits

_numbers = itertools.count()
_name = None


def _on_rl(base):
    class OnRl(base):
        """One for all stores of a test would join what tests keep apart: each is a segment of its own."""

        STORAGE_SCHEME = None

        def __init__(self, uri=None, **options):
            name = f"{_name}-{next(_numbers)}"
            _made.append(name)
            super().__init__(f"rl+shm://{name}?keys=1000&ring=1024", **options)

    return OnRl


_made = []
_kinds = {
    "memory": (limits.storage, "MemoryStorage", rl.limits.SharedStorage),
    "async+memory": (limits.aio.storage, "MemoryStorage", rl.limits.AsyncSharedStorage),
}
for _scheme, (_module, _class, _base) in _kinds.items():
    _storage = _on_rl(_base)
    registry.SCHEMES[_scheme] = _storage
    setattr(_module, _class, _storage)


@pytest.fixture(autouse=True)
def _segments_of_a_test():
    global _name
    _name = f"peers-{os.getpid()}"
    yield
    while _made:
        try:
            rl.unlink(_made.pop())
        except rl.NotFoundError:
            pass
