# SPDX-License-Identifier: BSD-2-Clause
"""One rate limit for all worker processes of a host, in shared memory, without a server.

    import rl

    web = rl.Segment("web")
    login = web.rule("login", "5/min")
    if not login.check("alice"):
        ...                          # the sixth within a minute, in whichever process

The counters are in a segment that all processes share, and that `rlctl` shows. rl.limits is a storage for limits,
Flask-Limiter and slowapi; rl.django a cache and rl.rest a throttle; rl.wsgi and rl.asgi are middleware.
"""

import sys as _sys

if _sys.platform != "linux":  # what is imported from ._rl is then the stand-in's
    from . import _off

    _sys.modules[__name__ + "._rl"] = _off

import copyreg

from . import _calls, _errors
from ._calls import client_key
from ._errors import AccessError, EmptyKeyError, Error, InvalidError, Limited, NotFoundError
from ._live import LiveSegment
from ._rl import (
    CAPACITY_MAX,
    COUNT_MAX,
    KEY_MAX,
    NEVER_NS,
    Count,
    Counters,
    Proxies,
    Result,
    Rule,
    Segment,
    __version__,
    key_digest,
    parse_rate,
    place,
    unlink,
)

__all__ = [
    "CAPACITY_MAX", "COUNT_MAX", "KEY_MAX", "NEVER_NS",
    "AccessError", "Count", "Counters", "EmptyKeyError", "Error", "InvalidError", "Limited", "LiveSegment",
    "NotFoundError", "Proxies", "Result", "Rule", "Segment", "client_key", "key_digest", "parse_rate", "place", "unlink",
]  # fmt: skip

# What is not called for each request is written in Python.
for _type, _functions in _calls.METHODS.items():
    for _function in _functions:
        setattr(_type, _function.__name__, _function)

# A result belongs to its segment: to another process goes what it says.
copyreg.pickle(Result, lambda result: (_errors._as_it_is, (_errors._Told(result),)))
