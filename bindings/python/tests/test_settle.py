# SPDX-License-Identifier: BSD-2-Clause
"""What a request has cost is said afterwards: by its result, in another process, by a stream that is cut off."""

import asyncio
import os
import signal

import pytest
import rl


def test_settled(private):
    tokens = private.rule("tokens", capacity=1000, window=60)
    with tokens.spend("alice", estimate=800) as s:
        assert s and s.settle(300)
    assert tokens.peek("alice").used == 300
    with pytest.raises(rl.Error, match="settled before"):
        s.settle(300)
    assert not s.refund() and tokens.peek("alice").used == 300
    over = tokens.spend("alice", estimate=700)
    assert over.settle(2000)
    denied = tokens.spend("alice")
    assert not denied and denied.used == 2300 and denied.remaining == 0 and denied.retry_after > 0
    assert not denied.settle(5) and tokens.peek("alice").used == 2300
    with pytest.raises(rl.Limited):
        tokens.spend("alice", raises=True)


@pytest.mark.parametrize("actual", [-1, 2**28, 2**64, "3", 1.5, None])
def test_refused(private, actual):
    tokens = private.rule("tokens", capacity=1000, window=60)
    s = tokens.spend("alice", estimate=800)
    with pytest.raises((ValueError, TypeError, OverflowError, rl.Error), match="actual"):
        s.settle(actual)
    assert tokens.peek("alice").used == 800 and s.settle(1)


def test_one_rule_for_requests_tokens_and_what_runs(private):
    llm = private.rule(
        "llm",
        {"limit": "60/min", "counts": "requests"},
        {"limit": "1000/min"},
        {"algorithm": "in_flight", "capacity": 1, "counts": "requests"},
    )
    with llm.spend("alice", estimate=600) as s:
        assert s and not llm.spend("alice", estimate=1)
        s.settle(100)
    with llm.spend("alice", estimate=900) as s:
        assert s
    assert [limit["counts"] for limit in llm.limits()] == ["requests", "cost", "requests"]
    assert sorted(entry["used"] for entry in llm.entries("alice")) == [0, 2, 1000]


def test_streams(private):
    tokens = private.rule("tokens", capacity=1000, window=60)
    chunks = ["one", "three", "five"]
    assert list(tokens.spend("alice", estimate=900).stream(chunks, len)) == chunks
    assert tokens.peek("alice").used == 12
    cut = tokens.spend("bob", estimate=900).stream(chunks, len)
    assert next(cut) == "one"
    cut.close()  # the client is gone
    assert tokens.peek("bob").used == 3

    async def cut_off():
        async def source():
            for chunk in chunks:
                yield chunk

        async with tokens.spend("carol", estimate=900) as s:
            stream = s.stream_async(source(), len)
            assert await stream.__anext__() == "one"
            await stream.aclose()

    asyncio.run(cut_off())
    assert tokens.peek("carol").used == 3


def test_elsewhere(segment):
    tokens = segment.rule("tokens", capacity=1000, window=60)
    s = tokens.spend("alice", estimate=800)
    charges = s.charges
    assert len(charges) == 32
    child = os.fork()
    if child == 0:
        with rl.Segment(segment.info()["name"]) as there:
            os._exit(0 if there.settle(charges, 1200) is True else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert tokens.peek("alice").used == 1200
    with pytest.raises(ValueError, match="charges"):
        segment.settle(charges[:-1], 1)


def test_killed(segment):
    tokens = segment.rule("tokens", capacity=1000, window=60)
    child = os.fork()
    if child == 0:
        tokens.spend("alice", estimate=800)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert tokens.peek("alice").used == 800
