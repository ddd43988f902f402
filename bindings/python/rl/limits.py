# SPDX-License-Identifier: BSD-2-Clause
"""A storage for limits (2.8 and later), and so for Flask-Limiter, slowapi and whatever else is built on it.

    import rl.limits
    storage = limits.storage.storage_from_string("rl+shm://web")
    Limiter(get_remote_address, app=app, storage_uri="rl+shm://web?keys=1000000")

Importing this module registers `rl+shm://SEGMENT?OPTION=VALUE` and `async+rl+shm://`. Options are those of
rl.Segment, and `prefix`, which begins the names of the rules: "limits" unless it is said. `rl+shm://?private=1` is of
this process and this storage alone, for tests.
"""

import inspect
import math
import time
import types
import urllib.parse
from time import monotonic as _monotonic

import limits.aio.storage
import limits.storage
import limits.storage.base
from limits.limits import GRANULARITIES
from limits.storage import MovingWindowSupport, Storage

from . import _rl
from ._errors import Error
from ._live import LiveSegment

_SECOND = 10**9
_MOST = _rl.CAPACITY_MAX
_REMEMBERED = 1000  # limits whose rule a storage keeps at hand
_YES_NO = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
# What each option of a segment makes of a text: what its default is, but for two that a text says in a way of its own.
_READERS = {name: type(option.default) for name, option in inspect.signature(_rl.Segment).parameters.items() if name != "name"}
_READERS.update(mode=lambda text: int(text, 8), group=str)

# limits 3.14 and later
_SLIDING = getattr(limits.storage, "SlidingWindowCounterSupport", None)
_ASYNC_SLIDING = getattr(limits.aio.storage, "SlidingWindowCounterSupport", None)
# Says that windows begin at multiples of their length, as rl's sliding windows do.
_BY_CLOCK = getattr(limits.storage.base, "TimestampedSlidingWindow", None)


def _option(name, text):
    if not isinstance(text, str):
        return text
    try:
        return _YES_NO[text.lower()] if _READERS[name] is bool else _READERS[name](text)
    except (KeyError, ValueError):
        raise ValueError(f"storage: {name}={text!r} is not what this option takes") from None


def parse_uri(uri, options):
    """(segment, prefix, options of rl.Segment) of a storage's URI and its options."""
    parts = urllib.parse.urlsplit(uri or "rl+shm://")
    name = parts.netloc + parts.path
    given = dict(urllib.parse.parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    for option in given:
        if option not in _READERS and option != "prefix":
            raise ValueError(f"storage: {uri} has an unknown option {option!r}; known are {', '.join(sorted(_READERS))}")
    given.update({option: value for option, value in options.items() if option in _READERS or option == "prefix"})
    prefix = given.pop("prefix", "limits")
    return name.strip("/") or "default", prefix, {option: _option(option, text) for option, text in given.items()}


_BUILTIN = types.BuiltinFunctionType


def _now_ns():
    """None: librl's clock. Where a test has put a clock of its own in place of time.time(), that one."""
    clock = time.time
    if type(clock) is _BUILTIN:
        return None
    seconds, part = divmod(clock(), 1)
    return int(seconds) * _SECOND + round(part * _SECOND)


def _cost(amount):
    """Whole units: a part of one counts as one."""
    return amount if isinstance(amount, int) else math.ceil(amount)


_SECONDS: dict = {}  # of each granularity that limits knows, applications' own among them


def _limit_of(key):
    """The (amount, expiry) that librl can decide by, of a key as RateLimitItem.key_for() ends it: ".../10/2/minute".
    None: a key of another form, which gets a counter."""
    if len(_SECONDS) != len(GRANULARITIES):
        _SECONDS.update({name: item.GRANULARITY.seconds for name, item in GRANULARITIES.items()})
    return _rl._limit_of_key(key, _SECONDS)


def _fits(limit, expiry):
    """A limit that no rule can have would refuse each request, for ever."""
    if limit > _MOST:
        raise ValueError(f"limit: {limit} in {expiry} s; a moving or sliding window in rl has at most {_MOST:,}")


class _Windows:
    """The rules of one segment, each made when a window is first asked for.

    A rule is a kind and a window, and a limit's amount is the capacity that its request brings along: so librl
    decides, `rlctl list` tells who is refused, and few rules are enough for any number of limits."""

    def __init__(self, segment, prefix):
        self.segment, self._prefix, self._rules = segment, prefix, {}
        ring = segment.info()["ring"]
        self.log_max = min(ring // 2, _rl.LOG_MAX)
        self._parts = min(ring, _rl.GRANULARITY_MAX) if ring > 1 else _rl.GRANULARITY_MAX
        self.counters = segment.counters(f"{prefix}/counters")

    def _define(self, kind, expiry):
        algorithm, most, more = {
            "fixed": ("anchored_window", _rl.CAPACITY_MAX, {"count_denied": True}),
            "sliding": ("sliding_window", _rl.CAPACITY_MAX, {"granularity": 1, "hard": False}),
            "log": ("sliding_log", self.log_max, {}),
            "parts": ("sliding_window", _rl.CAPACITY_MAX, {"granularity": self._parts, "hard": True}),
        }[kind]
        name = f"{self._prefix}/{kind}/{expiry}"
        return self.segment.rule(name, algorithm=algorithm, capacity=most, window=expiry, **more)

    def rule(self, kind, expiry):
        """The rule of that kind and window, for each process that shares the segment the same."""
        rule = self._rules.get((kind, expiry))
        if rule is None:
            rule = self._rules[kind, expiry] = self._define(kind, expiry)
        return rule

    def sliding(self, limit, expiry):
        """One sub-bucket, and what the one before it has left."""
        _fits(limit, expiry)
        return self.rule("sliding", expiry)

    def moving(self, limit, expiry):
        """A log is exact, and has room for half the ring; for more, sub-buckets, hard."""
        _fits(limit, expiry)
        return self.rule("log" if limit <= self.log_max else "parts", expiry)

    def own(self):
        """All that this storage has in the segment, whichever process has made it."""
        names = [name for name in self.segment.rules() if name.startswith(self._prefix + "/")]
        return [self.segment.find(name) for name in names] + [self.counters]


def _result(result):
    if result.verdict == "undecided":
        raise result.error
    return result


class _Calls:
    """The calls of a storage, for both kinds of it and all versions of limits."""

    _has_float_times = True  # in earlier versions of limits, seconds are whole

    def _open(self, uri, options):
        name, self._prefix, options = parse_uri(uri, options)
        self._live = LiveSegment(name, **options)
        self._made = None
        self._until = 0.0  # as long as the rules below are good, by time.monotonic()
        self._fixed_rules = {}
        self._moving_rules = {}

    def _windows(self):
        segment = self._live.get()
        if self._made is None or self._made.segment is not segment:
            self._made = _Windows(segment, self._prefix)
            self._fixed_rules, self._moving_rules = {}, {}
        self._until = self._live.fresh_until
        return self._made

    def _incr(self, key, expiry, elastic_expiry=False, amount=1):
        try:
            if _monotonic() < self._until and not elastic_expiry:
                now = None if type(time.time) is _BUILTIN else _now_ns()
                used = self._fixed_rules[expiry]._used(key, amount, expiry, _SECONDS, now)
                if used is not None:
                    return used
        except (KeyError, TypeError):
            pass
        return self._incr_any(key, expiry, elastic_expiry, _cost(amount))

    def _incr_any(self, key, expiry, elastic_expiry, amount):
        """The same at the first hit, and of what is rare."""
        windows, limit, now = self._windows(), _limit_of(key), _now_ns()
        if limit is None or elastic_expiry or limit[1] != expiry:
            return self._incr_counter(windows, key, expiry, elastic_expiry, amount, now)
        rule = self._fixed_rules[expiry] = windows.rule("fixed", expiry)
        return rule._used(key, amount, expiry, _SECONDS, now)

    @staticmethod
    def _incr_counter(windows, key, expiry, elastic_expiry, amount, now):
        count = windows.counters.add(key, amount, expiry, at_ns=now)
        if elastic_expiry and count is not None:
            count = windows.counters.touch(key, lifetime=expiry, at_ns=now) or count
        return count.value if count is not None else 0

    def _fixed(self, key):
        """(count, time to its end) of a fixed window, from whichever has it."""
        windows, now, limit = self._windows(), _now_ns(), _limit_of(key)
        if limit is not None:
            result = _result(windows.rule("fixed", limit[1]).check(key, 0, capacity=limit[0], at_ns=now))
            if result.reason == "ban":
                return max(result.used, limit[0]), result.reset_after_ns
            if result.used:
                return result.used, result.reset_after_ns
        count = windows.counters.get(key, at_ns=now)
        return (0, 0) if count is None else (count.value, count.expires_after_ns)

    def _get(self, key):
        return self._fixed(key)[0]

    def _time(self, after_ns):
        now = _now_ns()
        if now is None:
            now = self._windows().segment.now_ns()
        return (now + after_ns) / _SECOND if self._has_float_times else (now + after_ns) // _SECOND

    def _get_expiry(self, key):
        return self._time(self._fixed(key)[1])

    def _acquire_entry(self, key, limit, expiry, amount=1):
        try:
            if _monotonic() < self._until:
                now = None if type(time.time) is _BUILTIN else _now_ns()
                return self._moving_rules[limit, expiry]._admits(key, amount, limit, now)
        except (KeyError, TypeError):
            pass
        amount, windows = _cost(amount), self._windows()
        if amount > limit:
            _fits(limit, expiry)
            return False
        if len(self._moving_rules) >= _REMEMBERED:
            self._moving_rules.clear()
        rule = self._moving_rules[limit, expiry] = windows.moving(limit, expiry)
        return rule._admits(key, amount, limit, _now_ns())

    def _get_moving_window(self, key, limit, expiry):
        """What waits until one more fits in as many as there are, waits for the oldest."""
        if limit < 1:
            return self._time(0), 0
        rule, now = self._windows().moving(limit, expiry), _now_ns()
        looked = _result(rule.check(key, 0, capacity=limit, at_ns=now))
        used = looked.used
        if not used or looked.reason == "ban":
            return self._time(0), limit if looked.reason == "ban" else 0
        oldest = _result(rule.check(key, 0, capacity=used, at_ns=now))
        return self._time(oldest.retry_after_ns - expiry * _SECOND), used

    def _acquire_sliding_window_entry(self, key, limit, expiry, amount=1):
        amount = _cost(amount)
        if amount > limit:
            _fits(limit, expiry)
            return False
        rule = self._windows().sliding(limit, expiry)
        return rule._admits(key, amount, limit, _now_ns())

    def _get_sliding_window(self, key, expiry):
        """Both counts as they are, and until when they count."""
        windows, now, window = self._windows(), _now_ns(), expiry * _SECOND
        now = windows.segment.now_ns() if now is None else now
        left = window - now % window
        counts = [0, 0]
        rule = windows.rule("sliding", expiry)
        if _result(rule.check(key, 0, at_ns=now)).reason == "ban":  # as used up
            limit = _limit_of(key)
            return 0, 0.0, limit[0] if limit else _MOST, left / _SECOND
        for entry in rule.entries(key, at_ns=now):
            behind = (now + left - entry["bucket_end_ns"]) // window
            for place, count in enumerate(entry["buckets"]):
                if 0 <= behind + place < 2:
                    counts[behind + place] = count
        current, previous = counts
        return previous, (left / _SECOND if previous else 0.0), current, (left + window) / _SECOND

    def _clear(self, key):
        windows = self._windows()
        for each in windows.own():
            windows.segment.reset(key, rule=each)

    def _reset(self):
        windows = self._windows()
        return sum(windows.segment.reset(rule=each)[0] for each in windows.own())

    def _check(self):
        try:
            self._windows().counters.get("check")
        except Error:
            return False
        return True


def _incr_inelastic(self, key, expiry, amount=1):
    """limits 5 and later know no elastic expiry."""
    return self._incr(key, expiry, False, amount)


def _sync(call):
    return call


def _async(call):
    async def method(self, *args, **kwargs):
        return call(self, *args, **kwargs)

    method.__name__, method.__doc__ = call.__name__.strip("_"), call.__doc__
    return method


_NAMES = [
    "incr", "get", "get_expiry", "check", "reset", "clear", "acquire_entry", "get_moving_window",
    "acquire_sliding_window_entry", "get_sliding_window",
]  # fmt: skip


def _storage(name, bases, scheme, make, doc):
    """A class for this version of limits, whose registry takes it as it is made."""
    base = bases[0]

    def __init__(self, uri=None, **options):
        own = {option: value for option, value in options.items() if option == "wrap_exceptions"}
        base.__init__(self, uri, **own)
        self._open(uri, options)

    methods = {call: make(getattr(_Calls, "_" + call)) for call in _NAMES}
    if "elastic_expiry" not in inspect.signature(base.incr).parameters:
        methods["incr"] = make(_incr_inelastic)
    # A key says its window, so there is nothing more to it than clear().
    methods["clear_sliding_window"] = make(lambda self, key, expiry=None: self._clear(key))
    methods.update(
        {
            "_has_float_times": "float" in str(inspect.signature(base.get_expiry).return_annotation),
            "STORAGE_SCHEME": [scheme],
            "base_exceptions": property(lambda self: Error),
            "__init__": __init__,
            "__doc__": doc,
            "__module__": __name__,
        }
    )
    return type(base)(name, (*(one for one in bases if one is not None), _Calls), methods)


SharedStorage = _storage(
    "SharedStorage", (Storage, MovingWindowSupport, _SLIDING, _BY_CLOCK), "rl+shm", _sync,
    "One storage for all processes of a host.",
)  # fmt: skip
AsyncSharedStorage = _storage(
    "AsyncSharedStorage",
    (limits.aio.storage.Storage, limits.aio.storage.MovingWindowSupport, _ASYNC_SLIDING, _BY_CLOCK),
    "async+rl+shm", _async, "The same for coroutines: no call waits, for there is nothing to wait for.",
)  # fmt: skip
