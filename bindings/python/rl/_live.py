# SPDX-License-Identifier: BSD-2-Clause
"""A segment that is opened when it is first needed, and again when it was removed or replaced meanwhile."""

import os
import threading
import time
import weakref

from . import _rl
from ._errors import Error

_EVERY = 1.0  # seconds between two looks
_all = weakref.WeakSet()


def _after_fork():
    """A thread that held a lock is not in the child, and nobody else would let go of it."""
    for live in list(_all):
        live._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


class LiveSegment:
    """What middleware and storages keep instead of a Segment.

    get() returns an open segment, or raises rl.Error. Once a second it looks whether the segment's name still leads
    to the same file, and opens the new one if not; so a server goes on after `rlctl unlink`, and one that was started
    before its segment could be opened begins to limit when it can. A failure is remembered for that second.
    """

    def __init__(self, name="default", **options):
        self.name = name
        self._options = options
        self._lock = threading.Lock()
        _all.add(self)
        self._segment = self._error = None
        self.fresh_until = 0.0  # by time.monotonic(): when get() looks again

    def _look(self):
        if self._segment is None or not self._segment.is_current():
            self._segment = _rl.Segment(self.name, **self._options)

    def get(self):
        """The segment as it is now. A handle that was replaced is closed when its last user lets go of it."""
        now = time.monotonic()
        if now < self.fresh_until and self._segment is not None:
            return self._segment
        if now >= self.fresh_until and self._lock.acquire(blocking=self._segment is None):
            try:
                if now >= self.fresh_until:
                    self._error = None
                    self._look()
            except Error as error:
                self._segment, self._error = None, error
            finally:
                self.fresh_until = now + _EVERY
                self._lock.release()
        segment = self._segment
        if segment is None:
            raise self._error.with_traceback(None)  # for it is raised again and again
        return segment
