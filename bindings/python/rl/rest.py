# SPDX-License-Identifier: BSD-2-Clause
"""Throttles of Django REST framework that are atomic: one decision of librl for each request.

    REST_FRAMEWORK = {
        "DEFAULT_THROTTLE_CLASSES": ["rl.rest.UserThrottle", "rl.rest.AnonThrottle"],
        "DEFAULT_THROTTLE_RATES": {"user": "1000/day", "anon": "20/min"},
    }
    RL_THROTTLE = {"segment": "web"}

Each scope and rate is a rule "rest/SCOPE/REQUESTS/SECONDS" of the segment, and a key of it is a user or an address: of IPv6 its /64. Rates of few
requests, up to half the segment's ring, are exact logs, as the framework's; others are hard windows, which never admit too much and let through
a sixtieth of the window late at most. The framework's own throttles read a list from the cache and write it back, so that
requests at the same time are let through together.
"""

import logging
import math
import re

from django.conf import settings
from rest_framework import throttling

from . import _rl
from ._calls import client_key
from ._errors import Error
from ._live import LiveSegment

__all__ = ["AnonThrottle", "ScopedThrottle", "Throttle", "UserThrottle"]

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._:/-]")
_log = logging.getLogger("rl")
_TIMER = throttling.SimpleRateThrottle.timer
_live: dict = {}
_OWN = ("fail", "client_v6")  # of RL_THROTTLE; all others are options of the segment


def _segment():
    options = {name: value for name, value in getattr(settings, "RL_THROTTLE", {}).items() if name not in _OWN}
    name = options.pop("segment", "default")
    key = (name, tuple(sorted(options.items())))
    if key not in _live:
        _live[key] = LiveSegment(name, **options)
    return _live[key].get()


class Throttle(throttling.SimpleRateThrottle):
    """get_cache_key() says who is counted, and None who is not, as of the framework's own; `rate` or the setting
    DEFAULT_THROTTLE_RATES how much. A text that parse_rate() reads: "20/min", or "20/m".

    The setting RL_THROTTLE has `segment`, options of rl.Segment, `client_v6`: how many leading bits of an IPv6 address
    are one client (64), and `fail`: "open" (the default) or "closed", what to do where librl cannot decide. Both are
    logged. Where `timer` is another one than the framework's, as in a test, the throttle goes by that."""

    _rules: dict = {}
    _wait = None

    def _rule(self, segment):
        name = _NOT_IN_NAMES.sub("_", f"rest/{self.scope or type(self).__name__}/{self.num_requests}/{self.duration}")
        rule = Throttle._rules.get(name)
        if rule is None or rule.segment is not segment:
            log_max = min(segment.info()["ring"] // 2, _rl.LOG_MAX)
            exact = {"algorithm": "sliding_log"} if self.num_requests <= log_max else {}
            rule = segment.rule(name, capacity=self.num_requests, window=self.duration, **exact)
            Throttle._rules[name] = rule
        return rule

    def get_ident(self, request):
        """The client, the same text as in all of rl; None, as the framework's, of a request that has no address."""
        ident = super().get_ident(request)
        return ident if ident is None else client_key(ident, getattr(settings, "RL_THROTTLE", {}).get("client_v6", 64))

    def _at_ns(self):
        """None: librl's clock. That of a test may begin at 0, which librl takes for now."""
        return None if type(self).timer is _TIMER else 1 + round(self.timer() * 1e9)

    def allow_request(self, request, view):
        self._wait = None
        if self.rate is None:
            return True
        self.key = self.get_cache_key(request, view)
        if self.key is None:
            return True
        if self.num_requests == 0:
            return False
        beginning = self.cache_format % {"scope": self.scope, "ident": ""}
        return self._decide(self.key.removeprefix(beginning) or "-")

    def _decide(self, key):
        try:
            result = self._rule(_segment()).check(key, at_ns=self._at_ns())
            if result.verdict == "undecided":
                raise result.error
        except Error as error:
            _log.error("rl: throttle %s: %s", self.scope, error)
            return getattr(settings, "RL_THROTTLE", {}).get("fail", "open") != "closed"
        self._wait = None if result else result.retry_after
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
