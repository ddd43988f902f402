# SPDX-License-Identifier: BSD-2-Clause
"""What a Python program needs of rl.h, by ctypes: see rl(3).

    limiter = Limiter("web")
    login = limiter.define("login", capacity=100, window=60)
    result = limiter.check(login, "alice")
    if result.verdict in (ALLOWED, UNDECIDED): ...

The types below are those of rl.h, field by field. RL_LIBRARY names another library.
"""

import ctypes
import grp
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

ALLOWED, DENIED, NEVER, UNDECIDED = range(4)
SLIDING_WINDOW, FIXED_WINDOW, SLIDING_LOG, TOKEN_BUCKET, LEAKY_BUCKET = range(5)
SECOND = 10**9
_OPEN_GROUP = 4


class _Options(ctypes.Structure):
    _fields_ = [
        ("keys", c_uint32),
        ("ring", c_uint32),
        ("key_bytes", c_uint32),
        ("rules", c_uint32),
        ("overrides", c_uint32),
        ("bans", c_uint32),
        ("holders", c_uint32),
        ("on_full", c_int),
        ("buffer_ns", c_uint64),
        ("mode", c_uint32),
        ("group", c_uint32),
        ("flags", c_uint32),
        ("reserved", c_uint64 * 4),
    ]


class _Limit(ctypes.Structure):
    _fields_ = [
        ("algorithm", c_int),
        ("capacity", c_uint32),
        ("window_ns", c_uint64),
        ("granularity", c_uint32),
        ("hard", c_int),
        ("burst", c_uint32),
        ("undelayed", c_uint32),
        ("shadow", c_int),
        ("prefix_v4", c_uint8),
        ("prefix_v6", c_uint8),
        ("prefetch", c_uint16),
        ("count_denied", c_int),
        ("reserved", c_uint64 * 2),
    ]


class _Rule(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("limit", _Limit),
        ("more", POINTER(_Limit)),
        ("more_count", c_size_t),
        ("flags", c_uint32),
        ("reserved", c_uint64 * 2),
    ]


class _Charge(ctypes.Structure):
    _fields_ = [
        ("key", c_uint64),
        ("epoch", c_uint64),
        ("cost", c_uint32),
        ("capacity", c_uint32),
        ("memory", c_uint32),
        ("limit", c_uint16),
        ("gen", c_uint8),
        ("place", c_uint8),
    ]


class _Charges(ctypes.Structure):
    _fields_ = [
        ("count", c_uint32),
        ("charge", _Charge * 8),
    ]


class _Item(ctypes.Structure):
    _fields_ = [
        ("rule", c_int),
        ("key", c_char_p),
        ("key_len", c_size_t),
        ("cost", c_uint64),
        ("capacity", c_uint32),
        ("burst", c_uint32),
        ("undelayed", c_uint32),
        ("flags", c_uint32),
        ("charges", POINTER(_Charges)),
        ("reserved", c_uint64),
    ]


class Result(ctypes.Structure):
    _fields_ = [
        ("verdict", c_int),
        ("error", c_int),
        ("reason", c_int),
        ("index", c_uint32),
        ("limit", c_uint32),
        ("remaining", c_uint32),
        ("used", c_uint32),
        ("is_shadow_denied", c_int),
        ("retry_after_ns", c_uint64),
        ("reset_after_ns", c_uint64),
        ("delay_ns", c_uint64),
        ("window_ns", c_uint64),
    ]


def _load():
    lib = ctypes.CDLL(os.environ.get("RL_LIBRARY", "librl.so.1"))
    lib.rl_open.argtypes = [c_char_p, c_void_p, POINTER(c_void_p)]
    lib.rl_close.argtypes = [c_void_p]
    lib.rl_define.argtypes = [c_void_p, POINTER(_Rule)]
    lib.rl_now.argtypes = [c_void_p]
    lib.rl_now.restype = c_uint64
    lib.rl_check_item_at.argtypes = [c_void_p, POINTER(_Item), c_uint64, POINTER(Result)]
    lib.rl_refund.argtypes = [c_void_p, POINTER(_Charges)]
    lib.rl_strerror.argtypes = [c_int]
    lib.rl_strerror.restype = c_char_p
    lib.rl_http_retry_after.argtypes = [POINTER(Result), c_char_p, c_size_t]
    lib.rl_http_retry_after.restype = ctypes.c_ssize_t
    return lib


class Limiter:
    """A segment that this process has open. It may be opened before fork().

    With `group`, the name of one, it is shared by the users that are members of it."""

    def __init__(self, name, group=None):
        self._lib = _load()
        self._rl = c_void_p()
        options = _Options()
        if group is not None:
            options = _Options(mode=0o660, group=grp.getgrnam(group).gr_gid, flags=_OPEN_GROUP)
        self._need(self._lib.rl_open(name.encode(), byref(options), byref(self._rl)))

    def _need(self, status):
        if status < 0:
            raise OSError(-status, self.strerror(status))
        return status

    def strerror(self, error):
        return self._lib.rl_strerror(error).decode()

    def define(self, name, capacity, window, **limit):
        """`window` in seconds; `limit` further fields of struct rl_limit. Returns a handle."""
        limit = _Limit(capacity=capacity, window_ns=int(window * SECOND), **limit)
        return self._need(self._lib.rl_define(self._rl, byref(_Rule(name.encode(), limit))))

    def check(self, rule, key, cost=1):
        key = key.encode() if isinstance(key, str) else key
        result = Result()
        result._charges = _Charges()
        item = _Item(rule, key, len(key), cost, charges=ctypes.pointer(result._charges))
        self._lib.rl_check_item_at(self._rl, byref(item), self._lib.rl_now(self._rl), byref(result))
        return result

    def refund(self, result):
        """Give back what the check that returned `result` charged. True unless it came too late."""
        return self._need(self._lib.rl_refund(self._rl, byref(result._charges))) == 1

    def retry_after(self, result):
        """The value of Retry-After, or None if there is nothing to wait for."""
        to = ctypes.create_string_buffer(12)
        length = self._need(self._lib.rl_http_retry_after(byref(result), to, len(to)))
        return to.value.decode() if length else None
