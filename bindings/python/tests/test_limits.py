# SPDX-License-Identifier: BSD-2-Clause
"""rl.limits beside limits' own memory store, and with the calls of Flask-Limiter and slowapi."""

import abc
import asyncio
import random
import time

import limits
import limits.aio.strategies
import limits.storage
import pytest
import rl
import rl.limits
from limits.strategies import STRATEGIES, FixedWindowRateLimiter, MovingWindowRateLimiter

HAS_SLIDING = rl.limits._SLIDING is not None


class Clock:
    """time.time() as tests put it in place of the real one."""

    def __init__(self, monkeypatch, start=1_800_000_000.25):
        self.now = start
        monkeypatch.setattr(time, "time", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.fixture
def storage(name):
    return limits.storage.storage_from_string(f"rl+shm://{name}?keys=1000&ring=128")


def item(text):
    return limits.parse(text)


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_each_strategy_and_what_is_left(storage, strategy):
    limiter, limit = STRATEGIES[strategy](storage), item("3/hour")
    assert [limiter.hit(limit, "alice") for _ in range(5)] == [True, True, True, False, False]
    assert not limiter.test(limit, "alice") and limiter.test(limit, "bob")
    reset, remaining = tuple(limiter.get_window_stats(limit, "alice"))[:2]
    assert remaining == 0 and time.time() < reset <= time.time() + 3601
    limiter.clear(limit, "alice")
    assert limiter.hit(limit, "alice", cost=3) and not limiter.hit(limit, "alice")


@pytest.mark.parametrize("strategy", ["fixed-window", "fixed-window-elastic-expiry", "moving-window"])
def test_the_same_as_limits_own_memory_store(storage, clock, strategy):
    """Random hits at random times: each answer is that of the memory store."""
    if strategy not in STRATEGIES:
        pytest.skip("this version of limits has no such strategy")
    chance = random.Random(strategy)
    ours, theirs = STRATEGIES[strategy](storage), STRATEGIES[strategy](limits.storage.MemoryStorage())
    limit = item("7/2 minute")
    for number in range(3000):
        clock.now += chance.choice([0, 0, 0, 0.25, 1, 17, 60, 130])
        user = chance.choice("ab")
        cost = chance.choice([1, 1, 1, 2])
        before = theirs.get_window_stats(limit, user)
        assert ours.get_window_stats(limit, user)[1] == max(0, before[1]), number
        if strategy == "moving-window" and abs(clock.now - before[0] - 120) < 0.5:
            continue  # what is exactly a window old counts there and does not here
        assert ours.test(limit, user) == theirs.test(limit, user), number
        assert ours.hit(limit, user, cost=cost) == theirs.hit(limit, user, cost=cost), number
        assert abs(ours.get_window_stats(limit, user)[0] - theirs.get_window_stats(limit, user)[0]) <= (
            120 if strategy == "moving-window" else 1  # of 2.8, the memory store tells the newest entry for the oldest
        )
        clock.now += 0.001


def test_a_moving_window_tells_when_its_oldest_leaves(storage, clock):
    limiter, limit = MovingWindowRateLimiter(storage), item("10/minute")
    start = clock.now
    for _ in range(5):
        assert limiter.hit(limit) and limiter.hit(limit)
        clock.now += 10
    assert not limiter.hit(limit) and abs(limiter.get_window_stats(limit)[0] - start - 60) <= 1
    clock.now = start + 60
    assert limiter.get_window_stats(limit)[1] == 2
    assert abs(limiter.get_window_stats(limit)[0] - start - 70) <= 1


def test_a_moving_window_above_the_ring_never_admits_more(storage, clock):
    limiter, limit = MovingWindowRateLimiter(storage), item("1000/minute")
    chance, admitted = random.Random(1), []
    for _ in range(3000):
        clock.now += chance.random() / 10
        if limiter.hit(limit):
            admitted.append(clock.now)
        assert sum(at > clock.now - 60 for at in admitted[-1001:]) <= 1000
    assert len(admitted) > 1500


def test_the_sliding_window_counter(storage, clock):
    """The calls that limits 3.14 and later make; also where an earlier version has no strategy for them."""
    clock.now = 1_800_000_000.0
    ask = lambda amount=1: storage.acquire_sliding_window_entry("LIMITER/a/10/1/minute", 10, 60, amount)  # noqa: E731
    look = lambda: storage.get_sliding_window("LIMITER/a/10/1/minute", 60)  # noqa: E731
    if rl.limits._ASYNC_SLIDING is None:
        assert not HAS_SLIDING
    assert look() == (0, 0.0, 0, 120.0)
    assert [ask() for _ in range(11)] == [True] * 10 + [False] and not ask(11)
    assert look() == (0, 0.0, 10, 120.0)
    clock.now += 60
    assert look() == (10, 60.0, 0, 120.0) and not ask()
    clock.now += 30
    assert [ask() for _ in range(6)] == [True] * 5 + [False]
    assert look() == (10, 30.0, 5, 90.0)
    clock.now += 60
    assert look() == (5, 30.0, 0, 90.0)
    clock.now += 120
    assert look() == (0, 0.0, 0, 90.0)
    ask()
    storage.clear_sliding_window("LIMITER/a/10/1/minute", 60)
    assert look()[2] == 0


def test_fixed_windows_begin_at_the_first_hit(storage, clock):
    limiter, limit = FixedWindowRateLimiter(storage), item("10/2 second")
    clock.now = 1_800_000_001.9
    assert all(limiter.hit(limit) for _ in range(10))
    clock.now += 1
    assert not limiter.hit(limit) and limiter.get_window_stats(limit)[1] == 0
    assert abs(limiter.get_window_stats(limit)[0] - 1_800_000_003.9) <= 1
    clock.now += 1
    assert limiter.get_window_stats(limit)[1] == 10 and limiter.hit(limit)


def test_keys_of_any_form_are_counted(storage):
    assert [storage.incr("a key", 60) for _ in range(3)] == [1, 2, 3]
    assert storage.get("a key") == 3 and storage.get("another") == 0
    assert storage.get_expiry("a key") > time.time() + 50
    assert storage.incr("a key", 60, amount=5) == 8
    storage.clear("a key")
    assert storage.get("a key") == 0
    assert storage.incr("y/5/7/second", 7) == 1  # so there is a rule of 7 s
    assert storage.incr("x/10/1/minute", 7) == 1 and storage.get("x/10/1/minute") == 1  # not the key's own window
    assert storage.incr("x/0/1/minute", 60) == 1
    long = "LIMITER/" + "x" * 9000 + "/2/1/minute"
    assert [storage.incr(long, 60) for _ in range(3)] == [1, 2, 3]


def test_reset_counts_and_leaves_others_alone(storage, name):
    limiter = FixedWindowRateLimiter(storage)
    for amount in range(10):
        limiter.hit(limits.parse(f"{amount}/minute") if amount else limits.RateLimitItemPerMinute(0), "a")
    with rl.Segment(name) as segment:
        native = segment.rule("native", "1/h")
        native.check("LIMITER/a/5/1/minute")
        storage.clear("LIMITER/a/5/1/minute")
        assert storage.reset() == 9
        assert storage.reset() == 0 and not native.check("LIMITER/a/5/1/minute")


def test_many_limits_need_few_rules(storage, name):
    for amount in range(1, 200):
        MovingWindowRateLimiter(storage).hit(limits.parse(f"{amount}/minute"), str(amount))
        FixedWindowRateLimiter(storage).hit(limits.parse(f"{amount}/minute"), str(amount))
    with rl.Segment(name) as segment:
        assert segment.rules() == ["limits/log/60", "limits/fixed/60", "limits/parts/60"]


def test_a_year_and_more_than_rl_can(storage):
    assert FixedWindowRateLimiter(storage).hit(item("5/year"))
    with pytest.raises(ValueError, match="10 ms to 400 days is allowed"):
        FixedWindowRateLimiter(storage).hit(item("5/2 year"))


@pytest.mark.parametrize("amount", [2**28, 10**10])
@pytest.mark.parametrize("cost", [1, 10**11])
def test_a_window_above_what_a_rule_can_have_is_no_silent_refusal(storage, amount, cost):
    limit, named = item(f"{amount}/day"), f"{amount} in 86400 s.* 268,435,455"
    for refused in (
        lambda: MovingWindowRateLimiter(storage).hit(limit, "a", cost=cost),
        lambda: MovingWindowRateLimiter(storage).get_window_stats(limit, "a"),
        lambda: storage.acquire_sliding_window_entry(limit.key_for("a"), amount, 86400, cost),
    ):
        with pytest.raises(ValueError, match=named):
            refused()
    assert FixedWindowRateLimiter(storage).hit(limit, "a")
    assert MovingWindowRateLimiter(storage).hit(item(f"{rl.CAPACITY_MAX}/day"), "a")
    assert storage.acquire_sliding_window_entry("s", rl.CAPACITY_MAX, 86400)


def test_the_cost_is_whole_units(storage):
    limiter, limit = FixedWindowRateLimiter(storage), item("10/minute")
    assert limiter.hit(limit, cost=7.5) and limiter.get_window_stats(limit)[1] == 2
    assert not limiter.hit(limit, cost=2.5)
    assert not FixedWindowRateLimiter(storage).hit(limit, "never", cost=11)
    assert MovingWindowRateLimiter(storage).hit(limit, cost=0.5)


def test_a_ban_is_a_refusal(storage, name):
    with rl.Segment(name) as segment:
        segment.ban(prefix="LIMITER/mallory/")
        for strategy in STRATEGIES:
            if strategy != "fixed-window-elastic-expiry":
                assert not STRATEGIES[strategy](storage).hit(item("5/minute"), "mallory")
                assert not STRATEGIES[strategy](storage).test(item("5/minute"), "mallory")
                assert STRATEGIES[strategy](storage).get_window_stats(item("5/minute"), "mallory")[1] == 0


@pytest.mark.parametrize(
    "uri", ["rl+shm://x?rings=5", "rl+shm://x?ring=many", "rl+shm://x?huge_pages=perhaps", "rl+shm://x?ring"]
)
def test_a_wrong_uri_is_refused(uri):
    with pytest.raises(ValueError):
        limits.storage.storage_from_string(uri)


def test_what_an_uri_says_is_what_there_is(name):
    storage = limits.storage.storage_from_string(f"rl+shm://{name}?ring=256&mode=0600&prefix=app&on_full=deny", keys=5000)
    assert storage.check()
    with rl.Segment(name) as segment:
        info = segment.info()
        assert (info["ring"], info["mode"], info["on_full"]) == (256, 0o600, "deny") and info["keys"] >= 5000
        storage.incr("a/5/1/minute", 60)
        assert segment.rules() == ["app/fixed/60"]
    with limits.storage.storage_from_string("rl+shm://any?private=1&buffer=1.5")._live.get() as private:
        assert private.info()["buffer_ns"] == 1_500_000_000
    reserve = limits.storage.storage_from_string("rl+shm://any?private=1&cells=128&reserves=2")
    assert reserve.incr("a/5/1/minute", 60) == 1
    assert limits.storage.storage_from_string(f"rl+shm://{name}?cells=128&reserves=2&at_least=1").check() is False
    assert limits.storage.storage_from_string("rl+shm://any?private=1&events=64").check() is True
    small = limits.storage.storage_from_string(f"rl+shm://{name}?ring=1000&at_least=1")
    assert small.check() is False
    with pytest.raises(rl.Error, match="ring: 256, and 1000 were asked for"):
        small.incr("a/5/1/minute", 60)


def test_a_segment_without_room_for_a_moving_window(name):
    with rl.Segment(name, keys=100, ring=1):
        storage = limits.storage.storage_from_string(f"rl+shm://{name}")
        assert STRATEGIES["moving-window"](storage)
        with pytest.raises(rl.Error, match="'rlctl resize --ring 64'"):
            storage.acquire_entry("a/5/1/minute", 5, 60)
        assert storage.incr("a/5/1/minute", 60) == 1


def test_a_segment_that_is_removed_is_made_again(storage, name, monkeypatch):
    from rl import _live

    monkeypatch.setattr(_live, "_EVERY", 0.0)
    limiter, limit = FixedWindowRateLimiter(storage), item("2/hour")
    for _ in range(2):
        assert [limiter.hit(limit) for _ in range(3)] == [True, True, False]
        rl.unlink(name)
    assert storage.check()


def test_the_asynchronous_storage(name):
    storage = limits.storage.storage_from_string(f"async+rl+shm://{name}")

    async def play():
        assert await storage.check()
        for strategy in sorted(limits.aio.strategies.STRATEGIES):
            limiter, limit = limits.aio.strategies.STRATEGIES[strategy](storage), item("3/hour")
            assert [await limiter.hit(limit, strategy) for _ in range(4)] == [True] * 3 + [False]
            assert not await limiter.test(limit, strategy)
            assert tuple(await limiter.get_window_stats(limit, strategy))[1] == 0
            await limiter.clear(limit, strategy)
            assert await limiter.test(limit, strategy)
            await limiter.hit(limit, strategy)
        assert await storage.acquire_sliding_window_entry("s/1/1/hour", 1, 3600)
        assert not await storage.acquire_sliding_window_entry("s/1/1/hour", 1, 3600)
        assert (await storage.get_sliding_window("s/1/1/hour", 3600))[2] == 1
        assert await storage.reset() >= 3

    asyncio.run(play())


def test_a_private_storage_is_its_own():
    stores = [limits.storage.storage_from_string("rl+shm://?private=1") for _ in range(2)]
    assert [store.incr("a/5/1/minute", 60) for store in stores] == [1, 1] and stores[0].incr("a/5/1/minute", 60) == 2


class LaterStorage(abc.ABC):
    """The base class of limits 5, as far as a storage sees it: other arguments, errors that are wrapped, more to be."""

    def __init_subclass__(cls, **kwargs):
        for name in ("incr", "get"):
            setattr(cls, name, cls.wrapped(getattr(cls, name)))
        super().__init_subclass__(**kwargs)

    @staticmethod
    def wrapped(call):
        def inner(self, *args, **kwargs):
            try:
                return call(self, *args, **kwargs)
            except self.base_exceptions as error:
                if self.wrap_exceptions:
                    raise RuntimeError("wrapped") from error
                raise

        return inner

    def __init__(self, uri=None, wrap_exceptions=False, **options):
        self.wrap_exceptions = wrap_exceptions

    @property
    @abc.abstractmethod
    def base_exceptions(self): ...

    @abc.abstractmethod
    def incr(self, key: str, expiry: int, amount: int = 1) -> int: ...

    @abc.abstractmethod
    def get(self, key: str) -> int: ...

    @abc.abstractmethod
    def get_expiry(self, key: str) -> float: ...

    @abc.abstractmethod
    def clear_sliding_window(self, key: str, expiry: int) -> None: ...


def test_the_current_major_of_limits(name, clock):
    class Marker:
        pass

    made = rl.limits._storage("Later", (LaterStorage, None, Marker), "later", rl.limits._sync, "")
    storage = made(f"rl+shm://{name}?keys=1000", wrap_exceptions=True)
    assert isinstance(storage, Marker)
    assert storage.incr("a/5/1/minute", 60, 3) == 3 and storage.incr("a/5/1/minute", 60, amount=4) == 7
    assert storage.get("a/5/1/minute") == 7 and storage.get_expiry("a/5/1/minute") == clock.now + 60
    assert storage.acquire_sliding_window_entry("s/1/1/minute", 1, 60)
    storage.clear_sliding_window("s/1/1/minute", 60)
    assert storage.acquire_sliding_window_entry("s/1/1/minute", 1, 60)
    rl.unlink(name)
    broken = made(f"rl+shm://{name}?existing=1", wrap_exceptions=True)
    with pytest.raises(RuntimeError, match="wrapped"):
        broken.incr("a/5/1/minute", 60)
    with pytest.raises(rl.NotFoundError):
        made(f"rl+shm://{name}?existing=1").get("a/5/1/minute")


def test_flask_limiter_counts_in_its_headers(name):
    flask = pytest.importorskip("flask")
    flask_limiter = pytest.importorskip("flask_limiter")
    app = flask.Flask(__name__)
    limiter = flask_limiter.Limiter(
        lambda: flask.request.args["who"], app=app, storage_uri=f"rl+shm://{name}", headers_enabled=True,
        default_limits=["10/hour"],
    )  # fmt: skip

    @app.get("/")
    @limiter.limit("2/minute;3/hour")
    def view():
        return "hello"

    @app.get("/shared")
    @limiter.shared_limit("1/minute", scope="all", cost=lambda: 1)
    def shared():
        return "hello"

    with app.test_client() as client:
        answers = [client.get("/?who=a") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[0].headers["X-RateLimit-Remaining"] == "1"
        assert int(answers[2].headers["X-RateLimit-Reset"]) - time.time() < 61
        assert client.get("/?who=b").status_code == 200
        assert [client.get("/shared?who=a").status_code for _ in range(2)] == [200, 429]
        limiter.reset()
        assert client.get("/?who=a").status_code == 200
