# SPDX-License-Identifier: BSD-2-Clause
"""Rules in words: "5/min", or fields of struct rl_limit."""

import datetime
import math
import re

from . import _rl

SECOND = 10**9
_UNITS = {"d": 86400 * SECOND, "h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 10**6, "us": 10**3, "ns": 1}
_PERIODS = {"sec": "s", "second": "s", "min": "m", "minute": "m", "hour": "h", "day": "d"}
_PART = re.compile(r"([0-9]+)(?:\.([0-9]{1,18}))?(d|h|ms|m|us|ns|s)")
_PERIOD = re.compile(r"([0-9]*)(sec|second|min|minute|hour|day|s|m|h|d)")
_WINDOW_MIN, _WINDOW_MAX = 10 * 10**6, 400 * 86400 * SECOND
_GRANULARITY = 60


def _parts(text):
    """ "1h30m": units from the longest to the shortest, whole nanoseconds in all. None: it is no duration."""
    total, at, last = 0, 0, -1
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            return None
        number, fraction, unit = part.groups()
        place = list(_UNITS).index(unit)
        shares, rest = divmod(int(fraction or 0) * _UNITS[unit], 10 ** len(fraction or ""))
        if place <= last or rest:
            return None
        total += int(number) * _UNITS[unit] + shares
        at, last = part.end(), place
    return total if text else None


def duration_ns(value, name="window"):
    """Nanoseconds of seconds, a timedelta, or a text such as "10m". None is without an end."""
    if value is None:
        return _rl.NEVER_NS
    if isinstance(value, str):
        ns = _parts(value)
        if ns is None:
            raise ValueError(f'{name}: expected a duration such as "10s" or "1h30m", got {value!r}')
        return ns
    if isinstance(value, datetime.timedelta):
        return (value.days * 86400 + value.seconds) * SECOND + value.microseconds * 1000
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}: expected seconds, a timedelta or a text, got {value!r}")
    if math.isinf(value) and value > 0:
        return _rl.NEVER_NS
    if math.isnan(value) or value < 0:
        raise ValueError(f"{name}: expected seconds from 0 on, got {value!r}")
    return value * SECOND if isinstance(value, int) else round(value * SECOND)


def parse_rate(text):
    """(capacity, window_ns) of "5/min", "300/5min" or "5/1h30m", as rl.json(5) writes it."""
    capacity, stroke, window = text.partition("/")
    period = _PERIOD.fullmatch(window)
    if period:
        unit = period.group(2)
        ns = int(period.group(1) or 1) * _UNITS[_PERIODS.get(unit, unit)]
    else:
        ns = _parts(window)
    is_number = capacity.isascii() and capacity.isdigit()
    if not stroke or not is_number or ns is None or not 1 <= int(capacity) <= _rl.CAPACITY_MAX:
        ns = None
    if ns is None or not _WINDOW_MIN <= ns <= _WINDOW_MAX:
        raise ValueError(
            f'limit: expected a rate such as "100/min" or "5/10s", from 1 to {_rl.CAPACITY_MAX} per 10ms to 400d,'
            f" got {text!r}"
        )
    return int(capacity), ns


def default_granularity(window_ns, most=_GRANULARITY):
    """As in rl.json: 60 sub-buckets, or the next fewer that make them a whole number of seconds (shorter windows:
    of milliseconds or microseconds); fewer where there is room for no more. A ring of 1 is what a segment has that
    nobody has asked for more: there the definition is refused, and says why."""
    step = SECOND if window_ns >= 60 * SECOND else 10**6 if window_ns >= 60 * 10**6 else 10**3
    best = min(_GRANULARITY, most) if most > 1 else _GRANULARITY
    for granularity in range(best, best // 2, -1):
        if window_ns % (granularity * step) == 0:
            return granularity
    return best


_FIELDS = {
    "limit", "capacity", "window", "algorithm", "granularity", "hard", "burst", "undelayed", "shadow",
    "prefix_v4", "prefix_v6", "prefetch", "count_denied",
}  # fmt: skip


def _algorithm(name):
    try:
        return _rl.algorithms[name]
    except KeyError:
        known = ", ".join(_rl.algorithms)
        raise ValueError(f"algorithm: expected one of {known}; got {name!r}") from None


def _number(fields, name):
    value = fields.pop(name, 0)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: expected an integer, got {value!r}")
    if not 0 <= value < 2**32:
        raise ValueError(f"{name}: {value}; 0 to {2**32 - 1} is allowed")
    return value


def _rate(fields, is_held):
    """Capacity and window, which may come as one text."""
    text = fields.pop("limit", None)
    if text is None:
        window = fields.pop("window", 0)
        return _number(fields, "capacity"), 0 if is_held and not window else duration_ns(window)
    if "capacity" in fields or "window" in fields:
        raise ValueError("limit: it says both capacity and window; give the one or the other")
    if isinstance(text, int):
        raise ValueError(f'limit: expected a rate such as "100/min", got {text!r}; a number is the `capacity`')
    return parse_rate(text)


def limit_tuple(fields, ring):
    """The fields of struct rl_limit in their order."""
    fields = dict(fields)
    unknown = sorted(set(fields) - _FIELDS)
    if unknown:
        raise TypeError(f"{unknown[0]}: a limit has no such field; it has {', '.join(sorted(_FIELDS))}")
    number, flags = _algorithm(fields.pop("algorithm", "sliding_window"))
    capacity, window_ns = _rate(fields, flags & IS_HELD)
    has_parts = flags & HAS_GRANULARITY
    hard = fields.pop("hard", None)
    if "granularity" not in fields and has_parts:
        fields["granularity"] = default_granularity(window_ns, ring)
    if hard is None:
        hard = bool(has_parts)
    granularity = _number(fields, "granularity")
    burst, undelayed = _number(fields, "burst"), _number(fields, "undelayed")
    v4, v6, prefetch = (_number(fields, name) for name in ("prefix_v4", "prefix_v6", "prefetch"))
    for name, value, most in (("prefix_v4", v4, 255), ("prefix_v6", v6, 255), ("prefetch", prefetch, 65535)):
        if value > most:
            raise ValueError(f"{name}: {value}; 0 to {most} is allowed")
    shadow, count_denied = fields.pop("shadow", False), fields.pop("count_denied", False)
    return (
        number, capacity, min(window_ns, 2**64 - 1), granularity, hard, burst, undelayed, shadow, v4, v6, prefetch,
        count_denied,
    )  # fmt: skip


HAS_GRANULARITY, IS_HELD = 4, 256  # of enum rl_algorithm_flag


def rule_limits(limits, fields, ring):
    """A tuple of tuples for Segment._define()."""
    if limits and fields:
        each = [dict(fields, **_fields_of(limit)) for limit in limits]
    elif limits:
        each = [_fields_of(limit) for limit in limits]
    else:
        each = [fields]
    return tuple(limit_tuple(one, ring) for one in each)


def _fields_of(limit):
    if isinstance(limit, str):
        return {"limit": limit}
    if hasattr(limit, "keys"):
        return dict(limit)
    raise TypeError(f'limit: expected a rate such as "5/min" or a dict of fields, got {limit!r}')
