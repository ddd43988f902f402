# SPDX-License-Identifier: BSD-2-Clause
"""rl.django and rl.rest: the calls of django-ratelimit, and of REST framework's views."""

import asyncio
import importlib.util
import inspect
import sys
import time
import types

import pytest
import rl

django = pytest.importorskip("django")
pytest.importorskip("rest_framework")
from django.conf import settings  # noqa: E402

if not settings.configured:
    settings.configure(
        CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
        REST_FRAMEWORK={
            "UNAUTHENTICATED_USER": None,
            "DEFAULT_THROTTLE_RATES": {"user": "3/min", "anon": "2/min", "uploads": "1/hour", "none": "0/s"},
        },
    )
    django.setup()

from django.core.cache import caches  # noqa: E402
from django.http import HttpRequest  # noqa: E402
from rest_framework import throttling  # noqa: E402
from rest_framework.request import Request  # noqa: E402
from rest_framework.test import APIRequestFactory  # noqa: E402
from rest_framework.views import APIView  # noqa: E402
from rl.django import Cache  # noqa: E402
from rl.rest import AnonThrottle, ScopedThrottle, Throttle  # noqa: E402


@pytest.fixture
def cache(name):
    return Cache(name, {"OPTIONS": {"keys": 1000}, "TIMEOUT": 60, "KEY_PREFIX": "p"})


def test_what_django_ratelimit_does(cache):
    """get_usage(): add() with the window's rest, else incr(), which may find that the key has just ended."""
    assert cache.add("rl:1", 1, 30) and not cache.add("rl:1", 1, 30)
    assert [cache.incr("rl:1") for _ in range(3)] == [2, 3, 4]
    assert cache.get("rl:1") == 4 and 0 < cache.ttl("rl:1") <= 30.001
    with pytest.raises(ValueError):
        cache.incr("rl:2")
    assert cache.get("rl:2", 7) == 7 and cache.get("rl:2") is None


def test_each_call_of_a_cache(cache):
    cache.set("a", 5)
    assert 30 < cache.ttl("a") <= 60.001  # TIMEOUT
    cache.set("a", 6, None)
    assert cache.ttl("a") is None and "a" in cache and cache.has_key("a")
    assert cache.touch("a", 10) and cache.ttl("a") <= 10.001 and not cache.touch("b", 10)
    assert cache.decr("a", 2) == 4 and cache.decr("a", 9) == 0
    assert cache.delete("a") and not cache.delete("a") and cache.ttl("a") == 0
    cache.set_many({"x": 1, "y": 2})
    assert cache.get_many(["x", "y", "z"]) == {"x": 1, "y": 2}
    assert cache.get_or_set("w", 3) == 3 and cache.get_or_set("w", 4) == 3
    cache.set("x", 1, 0)
    assert cache.get("x") is None and cache.add("x", 1, 0) and cache.get("x") is None
    cache.set("v", 1, version=2)
    assert cache.get("v") is None and cache.incr("v", version=2) == 2
    cache.delete_many(["y", "w"])
    cache.clear()
    assert cache.get("v", version=2) is None
    assert cache.add("v", 0, 60, version=2) and cache.incr("v", version=2) == 1
    cache.set("y", 1, -1)
    assert cache.get("y") is None


def test_keys_of_any_kind(cache):
    for key in ("x" * 9000, "with space", "größe", "control\x01"):
        assert cache.add(key, 1, 60) and cache.incr(key) == 2


@pytest.mark.parametrize("value", ["text", 1.5, None, True, [1], -1, 2**48])
def test_what_is_no_count_is_refused(cache, value):
    with pytest.raises((TypeError, ValueError), match="rl.django.Cache holds"):
        cache.set("a", value)
    with pytest.raises((TypeError, ValueError)):
        cache.add("a", value)


def test_caches_share_by_space(name, cache):
    same, other = Cache(name, {"KEY_PREFIX": "p"}), Cache(name, {"KEY_PREFIX": "p", "OPTIONS": {"space": "other"}})
    cache.set("a", 1)
    assert same.get("a") == 1 and other.get("a") is None
    with rl.Segment(name) as segment:
        assert segment.rules() == []


def test_a_lifetime_ends(cache):
    cache.set("a", 1, 0.02)
    time.sleep(0.03)
    assert cache.get("a") is None and cache.add("a", 1, 60)


def test_a_cache_that_cannot_be_reached(name, caplog):
    """As django-ratelimit wants it: add() False and incr() a ValueError, so that its own setting decides."""
    cache = Cache(name, {"OPTIONS": {"existing": True}})
    assert cache.add("a", 1, 60) is False and cache.get("a", 7) == 7 and not cache.touch("a") and not cache.delete("a")
    with pytest.raises(ValueError, match="not found"):
        cache.incr("a")
    cache.set("a", 1)
    cache.clear()
    assert "a" not in cache and caplog.text.count(name) == 2 * len(caplog.records) > 0
    with pytest.raises(TypeError):
        cache.set("a", "text")


# Coroutines


def _thread(name):
    """A call of Django 4's BaseCache, which would run in a thread."""

    async def method(self, *args, **kwargs):
        raise AssertionError(f"{name}() is BaseCache's own")

    return method


THREADED = ("aadd", "aget", "aset", "atouch", "adelete", "aclear")


def later_cache(monkeypatch):
    """rl.django over a BaseCache as Django 4 and later have it, whichever is installed."""
    from django.core.cache.backends import base

    async def aincr(self, key, delta=1, version=None):
        value = await self.aget(key, version=version)
        await asyncio.sleep(0)
        await self.aset(key, value + delta, version=version)
        return value + delta

    others = ("ahas_key", "adecr", "aget_many", "aset_many", "adelete_many", "aget_or_set", "aincr_version", "adecr_version", "aclose")
    calls = {name: _thread(name) for name in (*THREADED, *others)}
    later = types.ModuleType(base.__name__)
    later.DEFAULT_TIMEOUT, later.BaseCache = base.DEFAULT_TIMEOUT, type("BaseCache", (base.BaseCache,), dict(calls, aincr=aincr))
    monkeypatch.setitem(sys.modules, base.__name__, later)
    spec = importlib.util.spec_from_file_location("rl.later_django", sys.modules["rl.django"].__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Cache


@pytest.mark.parametrize("which", ["installed", "later"])
def test_each_call_for_coroutines(name, monkeypatch, which):
    kind = Cache if which == "installed" else later_cache(monkeypatch)
    cache = kind(name, {"OPTIONS": {"keys": 1000}, "TIMEOUT": 300})
    of_django = {call for call in dir(kind.__mro__[1]) if inspect.iscoroutinefunction(getattr(kind.__mro__[1], call))}
    assert of_django <= {call for call in vars(kind) if inspect.iscoroutinefunction(getattr(kind, call))}

    async def play():
        assert await cache.aadd("a", 0, 100) and not await cache.aadd("a", 0, 100)
        assert sorted(await asyncio.gather(*(cache.aincr("a") for _ in range(50)))) == list(range(1, 51))
        assert cache.get("a") == await cache.aget("a") == 50 and 50 < cache.ttl("a") <= 100.001
        assert await cache.adecr("a", 2) == 48 and 50 < cache.ttl("a") <= 100.001
        with pytest.raises(ValueError, match="not found"):
            await cache.aincr("b")
        await cache.aset("b", 5, timeout=20)
        assert await cache.atouch("b", 200) and 100 < cache.ttl("b") <= 200.001
        assert await cache.ahas_key("b") and await cache.adelete("b") and not await cache.ahas_key("b")
        assert await cache.aset_many({"x": 1, "y": 2}, timeout=30) == [] and cache.ttl("y") <= 30.001
        assert await cache.aget_many(["x", "y", "z"]) == {"x": 1, "y": 2}
        assert await cache.aget_or_set("w", lambda: 3) == 3 and await cache.aget_or_set("w", 4) == 3
        assert await cache.aincr_version("w") == 2 and await cache.aget("w", version=2) == 3 and not await cache.ahas_key("w")
        assert await cache.adecr_version("w", version=2) == 1 and await cache.aget("w") == 3
        await cache.adelete_many(["x", "y"])
        assert await cache.aget("x", 7) == 7
        await cache.aclear()
        assert await cache.aget("a") is None and await cache.aclose() is None

    asyncio.run(play())


# REST framework


@pytest.fixture
def throttled(name):
    settings.RL_THROTTLE = {"segment": name}
    yield name
    del settings.RL_THROTTLE


def ask(throttle, address="192.0.2.1", **attributes):
    from rest_framework.response import Response

    members = {"get": lambda self, request: Response("hello"), "throttle_classes": [throttle], **attributes}
    view = type("View", (APIView,), dict(members, authentication_classes=[])).as_view()
    return view(APIRequestFactory().get("/", REMOTE_ADDR=address))


def test_throttles(throttled):
    assert [ask(AnonThrottle).status_code for _ in range(3)] == [200, 200, 429]
    assert ask(AnonThrottle, "192.0.2.2").status_code == 200
    assert 0 < int(ask(AnonThrottle)["Retry-After"]) <= 61
    assert [ask(ScopedThrottle, throttle_scope="uploads").status_code for _ in range(2)] == [200, 429]
    assert [ask(ScopedThrottle).status_code for _ in range(3)] == [200] * 3
    assert ask(ScopedThrottle, throttle_scope="none").status_code == 429
    with rl.Segment(throttled) as segment:
        assert segment.rules() == ["rest/anon/2/60", "rest/uploads/1/3600"]
        assert segment.find("rest/anon/2/60").stats()["denied"] == 2


def test_a_throttle_with_a_rate_and_a_key_of_its_own(throttled):
    class Own(Throttle):
        scope, rate = "own scope!", "1/hour"

        def get_cache_key(self, request, view):
            return request.META["REMOTE_ADDR"] and "one for all"

    assert [ask(Own, address).status_code for address in ("192.0.2.1", "192.0.2.2")] == [200, 429]


@pytest.mark.parametrize("rate, times, told", [
    ("3/min", (0, 0, 0, 0, 30, 59, 60), (None, None, None, 60, 30, 1, None)),
    ("3/min", (0, 20, 40, 60, 80, 81), (None, None, None, None, None, 19)),
    ("3/s", (5.5, 5.5, 5.5, 5.5, 6.5), (None, None, None, 1, None)),
])  # fmt: skip
def test_it_goes_by_the_timer_and_rounds_as_the_framework_does(throttled, rate, times, told):
    own = type("Own", (AnonThrottle,), {"rate": rate})
    theirs = type("Theirs", (throttling.AnonRateThrottle,), {"rate": rate})
    caches["default"].clear()
    for kind in (own, theirs):
        said = []
        for now in times:
            kind.timer = lambda self, now=now: now
            said.append(ask(kind).get("Retry-After"))
        assert said == [None if wait is None else str(wait) for wait in told], kind


def test_wait_may_come_first(throttled):
    assert AnonThrottle().wait() is None


@pytest.mark.parametrize("bits, key", [(None, "2001:db8:0:7::"), (56, "2001:db8::"), (128, "2001:db8:0:7::1")])
def test_a_client_has_one_key_in_all_of_rl(throttled, bits, key):
    if bits:
        settings.RL_THROTTLE["client_v6"] = bits
    for address in ("2001:db8:0:7::1", "192.0.2.1", "::ffff:192.0.2.1"):
        ask(AnonThrottle, address)
    with rl.Segment(throttled) as segment:
        rule = segment.find("rest/anon/2/60")
        assert (rule.peek(key).used, rule.peek("192.0.2.1").used) == (1, 2)


@pytest.mark.parametrize("address", [{}, {"REMOTE_ADDR": "192.0.2.1"}])
def test_the_key_is_the_frameworks(throttled, address):
    request = Request(HttpRequest())
    request.META.update(address)
    ours, theirs = (kind().get_cache_key(request, None) for kind in (AnonThrottle, throttling.AnonRateThrottle))
    assert ours == theirs


@pytest.mark.parametrize("fail, status", [("open", 200), ("closed", 429)])
def test_no_segment(throttled, fail, status, caplog):
    settings.RL_THROTTLE = {"segment": throttled, "existing": True, "fail": fail}
    assert ask(AnonThrottle).status_code == status
    assert throttled in caplog.text
