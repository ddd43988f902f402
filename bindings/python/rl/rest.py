# SPDX-License-Identifier: BSD-2-Clause
"""Throttles of Django REST framework that are atomic: one decision of librl for each request.

    REST_FRAMEWORK = {
        "DEFAULT_THROTTLE_CLASSES": ["rl.rest.UserThrottle", "rl.rest.AnonThrottle"],
        "DEFAULT_THROTTLE_RATES": {"user": "1000/day", "anon": "20/min"},
    }
    RL_THROTTLE = {"segment": "web"}

Each scope and rate is a rule "rest/SCOPE/REQUESTS/SECONDS" of the segment, a sliding window that never admits too much. The framework's own
throttles read a list from the cache and write it back, so that requests at the same time are let through together.
"""

import logging
import math
import re

from django.conf import settings
from rest_framework import throttling

from ._errors import Error
from ._live import LiveSegment

__all__ = ["AnonThrottle", "ScopedThrottle", "Throttle", "UserThrottle"]

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._:/-]")
_log = logging.getLogger("rl")
_live: dict = {}


def _segment():
    options = dict(getattr(settings, "RL_THROTTLE", {}))
    options.pop("fail", None)
    name = options.pop("segment", "default")
    key = (name, tuple(sorted(options.items())))
    if key not in _live:
        _live[key] = LiveSegment(name, **options)
    return _live[key].get()


class Throttle(throttling.SimpleRateThrottle):
    """get_cache_key() says who is counted, and None who is not, as of the framework's own; `rate` or the setting
    DEFAULT_THROTTLE_RATES how much. A text that parse_rate() reads: "20/min", or "20/m".

    The setting RL_THROTTLE has `segment`, options of rl.Segment, and `fail`: "open" (the default) or "closed", what to
    do where librl cannot decide. Both are logged."""

    _rules: dict = {}

    def _rule(self, segment):
        name = _NOT_IN_NAMES.sub("_", f"rest/{self.scope or type(self).__name__}/{self.num_requests}/{self.duration}")
        rule = Throttle._rules.get(name)
        if rule is None or rule.segment is not segment:
            rule = Throttle._rules[name] = segment.rule(name, capacity=self.num_requests, window=self.duration)
        return rule

    def allow_request(self, request, view):
        self._wait = None
        if self.rate is None:
            return True
        self.key = self.get_cache_key(request, view)
        if self.key is None:
            return True
        if self.num_requests == 0:
            return False
        return self._decide(self.key or "-")

    def _decide(self, key):
        try:
            result = self._rule(_segment()).check(key)
            if result.verdict == "undecided":
                raise result.error
        except Error as error:
            _log.error("rl: throttle %s: %s", self.scope, error)
            return getattr(settings, "RL_THROTTLE", {}).get("fail", "open") != "closed"
        self._wait = result.retry_after
        return bool(result)

    def wait(self):
        """Seconds until the request may be let through; None if that is not known, or never."""
        return None if self._wait is None or math.isinf(self._wait) else self._wait


class AnonThrottle(Throttle, throttling.AnonRateThrottle):
    """AnonRateThrottle, decided by librl: who is not logged in, by address."""


class UserThrottle(Throttle, throttling.UserRateThrottle):
    """UserRateThrottle, decided by librl: users by their key, others by address."""


class ScopedThrottle(Throttle, throttling.ScopedRateThrottle):
    """ScopedRateThrottle, decided by librl: the view's throttle_scope."""

    def allow_request(self, request, view):
        self.scope = getattr(view, self.scope_attr, None)
        if not self.scope:
            return True
        self.rate = self.get_rate()
        self.num_requests, self.duration = self.parse_rate(self.rate)
        return Throttle.allow_request(self, request, view)
