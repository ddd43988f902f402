# SPDX-License-Identifier: BSD-2-Clause
"""What `make peers` does with a suite: it runs on rl, and what ends otherwise than the list says is a failure."""

import json
import os

import peers
import pytest

SUITE = '''
import hiro, limits.storage, limits.strategies, time
from limits.storage import MemoryStorage, storage_from_string

def test_is_rl():
    for storage in (MemoryStorage(), storage_from_string("memory://"), storage_from_string("async+memory://")):
        assert "rl.limits" in str(type(storage).__mro__)

def test_time_goes_as_hiro_says():
    storage = MemoryStorage()  # limiters do not keep it
    limiter = limits.strategies.FixedWindowRateLimiter(storage)
    with hiro.Timeline().freeze() as timeline:
        start = int(time.time())
        assert all(limiter.hit(limits.RateLimitItemPerSecond(10, 2)) for _ in range(10))
        timeline.forward(1)
        assert not limiter.hit(limits.RateLimitItemPerSecond(10, 2))
        assert int(limiter.get_window_stats(limits.RateLimitItemPerSecond(10, 2))[0]) == start + 2
        timeline.forward(1)
        assert limiter.hit(limits.RateLimitItemPerSecond(10, 2))

def test_stores_are_apart():
    item, stores = limits.RateLimitItemPerHour(1), [MemoryStorage(), MemoryStorage()]
    for storage in stores:
        assert limits.strategies.MovingWindowRateLimiter(storage).hit(item)

def test_fails():
    assert False
'''


@pytest.fixture
def suite(tmp_path):
    pytest.importorskip("hiro")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_suite.py").write_text(SUITE)
    return peers.play(str(tmp_path), ["tests"])


def test_a_suite_runs_on_rl(suite):
    failed, found = suite
    assert failed == {"tests/test_suite.py::test_fails"} and len(found) == 4
    assert not [name for name in os.listdir("/dev/shm") if name.startswith("rl.peers-")]


def test_what_is_not_in_the_list_is_told(suite, capsys):
    assert not peers.judge("suite", *suite, {})
    assert peers.judge("suite", *suite, {"test_fails$": "because"})
    assert not peers.judge("suite", *suite, {"test_fails$": "because", "test_is_rl": "no"})
    assert "test_is_rl passes" in capsys.readouterr().out


def test_each_exception_has_a_reason():
    with open(os.path.join(os.path.dirname(__file__), "peers.json"), encoding="utf-8") as file:
        lists = json.load(file)
    for fails in (*(peer["fails"] for peer in lists["run"].values()), *lists["not run here"].values()):
        assert all(isinstance(reason, str) and len(reason) > 20 for reason in fails.values())
