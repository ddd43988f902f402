# SPDX-License-Identifier: BSD-2-Clause
"""What stands for the extension on a system that is not Linux, so that a program can be installed and imported where it is
written. The first Segment says what to do. With RL_OFF=1 it opens nothing, allows everything and counts nothing, after one
warning; what answers with more than a decision is not there.
"""

import os
import sys
import time
import warnings

CAPACITY_MAX = 0xFFFFFFF
COUNT_MAX = 2**63 - 1
KEY_MAX = 4096
LOG_MAX = 4096
GRANULARITY_MAX = 64
NEVER_NS = 2**64 - 1
__version__ = "off"

_WHAT = (
    f"its counters are in the shared memory of Linux, and this is {sys.platform}. Remedy: run it in a container, "
    "or set RL_OFF=1 to allow everything here"
)
_is_warned = False


def _look():
    global _is_warned
    if os.environ.get("RL_OFF") != "1":
        from ._errors import Error

        raise Error(38, _WHAT)  # ENOSYS
    if not _is_warned:
        warnings.warn("RL_OFF=1: nothing is limited", RuntimeWarning, stacklevel=3)
    _is_warned = True


def _error_symbol(number):
    return {38: "ENOSYS"}.get(number, str(number))


def _check_limits(limits):
    """Nobody knows here what is wrong with them."""


def _duration_ns(seconds, name):
    return int(seconds * 1e9)


class Result:
    """Allowed, and nothing else is known."""

    verdict, reason, error, index = "allowed", "exemption", None, 0
    limit = remaining = used = 0
    is_shadow_denied = _held = False
    retry_after, reset_after, delay, window = None, 0.0, 0.0, 0.0
    retry_after_ns = reset_after_ns = delay_ns = window_ns = at_ns = 0

    def __init__(self, rule):
        self.rule = rule

    def __bool__(self):
        return True

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None

    def headers(self, *names, **options):
        return []

    def problem(self, status, /):
        return ""

    def refund(self, **options):
        return False

    charges = b""

    def settle(self, actual, **options):
        return False

    def release(self):
        return False


class Rule:
    handle = 0

    def __init__(self, segment, name):
        self.segment, self.name = segment, name

    def check(self, *request, **options):
        return Result(self)

    peek = reserve = _hold = check

    def allows(self, *request):
        return True

    def check_limits(self, *request, **options):
        return Result(self), []

    def spend(self, *request, **options):
        return Result(self)

    def refund_key(self, *request, **options):
        return 0

    def reset(self, key):
        return False

    def limits(self):
        return []

    def entries(self, key, **options):
        return []

    def stats(self):
        return {}


class Counters:
    """Nothing is counted: there is none."""

    def __init__(self, segment, name):
        self.segment, self.name = segment, name

    def get(self, key, **options):
        return None

    add = set = set_new = touch = drop = lambda self, *request, **options: None


class Count(tuple):
    __slots__ = ()


class Segment:
    is_closed = False

    def __new__(cls, name="default", **options):
        _look()
        self = object.__new__(cls)
        self.name = name
        return self

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None

    def close(self):
        """There is nothing to close."""

    def _define(self, name, limits, keep):
        return Rule(self, name)

    def find(self, name):
        return Rule(self, name)

    def counters(self, name):
        return Counters(self, name)

    def _check_all(self, items, **options):
        results = [Result(item[0]) for item in items]
        return "allowed", 0, results

    def _check_many(self, items, **options):
        return [Result(item[0]) for item in items]

    def _ban(self, *exception):
        return 0

    def _reset(self, *what):
        return 0, 0

    def settle(self, charges, actual, **options):
        return False

    def forget(self, name):
        return False

    def rules(self):
        return []

    def is_current(self):
        return True

    def now_ns(self):
        return time.time_ns()

    def give_back(self):
        return 0

    def info(self):
        return {"name": ""}


class Proxies:
    """The client is who connects."""

    field = "x-forwarded-for"

    def __new__(cls, *trusted, **options):
        return object.__new__(cls)

    def client(self, peer, *lines, **options):
        return peer, "found", 0


def place(name="default"):
    return {"path": ""}


def unlink(name):
    _look()


def key_digest(key):
    raise NotImplementedError(_WHAT)


parse_rate = _limit_of_key = key_digest
