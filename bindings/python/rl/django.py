# SPDX-License-Identifier: BSD-2-Clause
"""A cache of Django whose counters all workers of a host share, for django-ratelimit and for throttles.

    CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
        "limits": {"BACKEND": "rl.django.Cache", "LOCATION": "web"},
    }
    RATELIMIT_USE_CACHE = "limits"

It holds whole numbers from 0 to 2**48 - 1 and nothing else: a counter is kept in one word of shared memory. Other
values are a TypeError, and not lost in silence. incr() and add() are atomic, among all processes, and so are aincr()
and aadd(): each call for coroutines is the call itself, which waits for nothing, and so needs no thread.

Where librl fails (no segment, no room), it is a cache that cannot be reached: the log of `rl` says why, add() is False,
get() the default, and incr() a ValueError. django-ratelimit then refuses, or with RATELIMIT_FAIL_OPEN does not.
"""

import functools
import logging

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache

from . import _rl
from ._errors import Error
from ._live import LiveSegment

__all__ = ["Cache"]

_log = logging.getLogger("rl")


def _reaches(otherwise):
    """What a call returns where the segment cannot be reached."""

    def decorate(call):
        @functools.wraps(call)
        def reached(self, *args, **kwargs):
            try:
                return call(self, *args, **kwargs)
            except Error as error:
                _log.error("rl: cache: %s: %s", call.__name__, error)
                return otherwise

        return reached

    return decorate


class Cache(BaseCache):
    """LOCATION names the segment; OPTIONS are those of rl.Segment, and `space`, the name of the space of counters:
    "django" unless it is said. Caches of one space share their keys."""

    def __init__(self, location, params):
        super().__init__(params)
        options = {name.lower(): value for name, value in params.get("OPTIONS", {}).items()}
        for name in ("max_entries", "cull_frequency"):
            options.pop(name, None)
        self._space = options.pop("space", "django")
        self._live = LiveSegment(location or "default", **options)
        self._of = self._made = None

    @property
    def _counters(self):
        segment = self._live.get()
        if self._of is not segment:
            self._made, self._of = segment.counters(self._space), segment
        return self._made

    def _key(self, key, version):
        key = self.make_key(key, version=version)
        self.validate_key(key)
        return key

    def validate_key(self, key):
        """Any text: one that is longer than librl's keys is counted by its digest."""

    def _lifetime(self, timeout):
        """Seconds, None for no end, or 0 and less for what is expired at once."""
        if timeout is DEFAULT_TIMEOUT:
            timeout = self.default_timeout
        return timeout

    @staticmethod
    def _number(value):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"rl.django.Cache holds whole numbers, got {value!r}")
        if not 0 <= value <= _rl.COUNT_MAX:
            raise ValueError(f"rl.django.Cache holds 0 to {_rl.COUNT_MAX}, got {value!r}")
        return value

    @_reaches(False)
    def add(self, key, value, timeout=DEFAULT_TIMEOUT, version=None):
        key, lifetime = self._key(key, version), self._lifetime(timeout)
        if lifetime is not None and lifetime <= 0:
            return self._counters.get(key) is None
        return self._counters.set_new(key, self._number(value), lifetime).is_new

    @_reaches(None)
    def _count(self, key, version):
        return self._counters.get(self._key(key, version))

    def get(self, key, default=None, version=None):
        count = self._count(key, version)
        return default if count is None else count.value

    @_reaches(None)
    def set(self, key, value, timeout=DEFAULT_TIMEOUT, version=None):
        key, lifetime, value = self._key(key, version), self._lifetime(timeout), self._number(value)
        if lifetime is not None and lifetime <= 0:
            self._counters.drop(key)
        else:
            self._counters.set(key, value, lifetime)

    @_reaches(False)
    def touch(self, key, timeout=DEFAULT_TIMEOUT, version=None):
        key, lifetime = self._key(key, version), self._lifetime(timeout)
        if lifetime is not None and lifetime <= 0:
            return self._counters.drop(key)
        return self._counters.touch(key, lifetime=lifetime) is not None

    @_reaches(False)
    def delete(self, key, version=None):
        return self._counters.drop(self._key(key, version))

    def has_key(self, key, version=None):
        return self._count(key, version) is not None

    def incr(self, key, delta=1, version=None):
        """As of other caches, ValueError for a key that is not there. The lifetime stays; a value stops at 0."""
        count = self._add(key, delta, version)
        if count is None:
            raise ValueError(f"Key '{key}' not found")
        return count.value

    @_reaches(None)
    def _add(self, key, delta, version):
        return self._counters.add(self._key(key, version), delta)

    def ttl(self, key, version=None):
        """Seconds until the counter ends: None if it has no end, 0 if there is none."""
        count = self._count(key, version)
        if count is None:
            return 0
        return None if count.expires_after == float("inf") else count.expires_after

    @_reaches(None)
    def clear(self):
        """Forget all counters of the space."""
        counters = self._counters
        counters.segment.reset(rule=counters, count=False)

    def close(self, **kwargs):
        """The segment stays open: requests come and go, and the process goes on."""


def _for_coroutines(name):
    """BaseCache's own reads a counter and writes it back, or goes through a thread."""

    async def method(self, *args, **kwargs):
        return getattr(self, name)(*args, **kwargs)

    method.__name__, method.__doc__ = "a" + name, f"{name}() for coroutines: the same call."
    return method


for _name in (
    "add", "get", "set", "touch", "delete", "has_key", "incr", "decr", "get_many", "set_many", "delete_many",
    "get_or_set", "incr_version", "decr_version", "clear", "close",
):  # fmt: skip
    setattr(Cache, "a" + _name, _for_coroutines(_name))
