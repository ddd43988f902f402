# SPDX-License-Identifier: BSD-2-Clause
"""examples/llm_proxy with four workers, before a model that fails, hangs and forgets, held against the model's own log.
RL_LLM_WINDOW is how many seconds its minute has."""

import asyncio
import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import time

import aiohttp
import pytest
import rl
from serving import PATIENCE, serving

WINDOW = int(os.environ.get("RL_LLM_WINDOW", "2"))
ESTIMATE, CAPACITY, REQUESTS, AT_ONCE, CLIENTS = 4096, 100_000, 60, 4, 200
HANGS = 2  # seconds until the proxy gives up; longer than a model that waits for a CPU
LOOKS = 0.2  # seconds in which each process looks once, at least, whether another lives
DOES = {"answer", "fail", "forget", "hang"}
PROXY, KEY = "examples/llm_proxy", "storm"


@pytest.fixture
def model(name, tmp_path):
    """The environment of a proxy, and the path of the log of the model behind it."""
    log = str(tmp_path / "log")
    open(log, "w").close()
    with serving("uvicorn one", "llm_upstream:app", LLM_LOG=log, LLM_ESTIMATE=str(ESTIMATE)) as port:
        yield {
            "RL_SEGMENT": name, "LLM_UPSTREAM": f"http://127.0.0.1:{port}", "LLM_ESTIMATE": str(ESTIMATE),
            "LLM_TIMEOUT": str(HANGS),
        }, log  # fmt: skip


def lines(log):
    with open(log, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


async def ask(session, port, key=KEY, take=None, **body):
    """(status, seconds to wait) of one request; after `take` events its client hangs up."""
    body = {"messages": [{"role": "user", "content": "how are you"}], "sent": time.monotonic(), **body}
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    async with session.post(url, json=body, headers={"Authorization": key}) as answer:
        taken = 0
        async for line in answer.content:
            taken += line.startswith(b"data:")
            if taken == take:
                answer.close()
                break
        return answer.status, float(answer.headers.get("Retry-After", "1"))


async def client(session, port, end):
    while not end.is_set():
        with contextlib.suppress(aiohttp.ClientError):  # its worker was killed
            status, seconds = await ask(session, port)
            if status == 429:
                await asyncio.sleep(min(seconds, 1) * random.random())


async def storm(port, until, **connections):
    """200 clients, until until() has returned."""
    end = asyncio.Event()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, **connections)) as session:
        clients = [asyncio.ensure_future(client(session, port, end)) for _ in range(CLIENTS)]
        try:
            await until()
        finally:
            end.set()
            await asyncio.gather(*clients)


def truth(log, begin, end):
    return sum(line["cost"] for line in lines(log) if begin <= line["began"] < end)


def settled(log):
    return sum(line["cost"] for line in lines(log) if line["told"])


async def reaches(name, log):
    """Until two windows together have had 85 % of their tokens, the first, which was empty before, left out. Where the
    workers wait for a CPU that others have, so that most are denied as four run, it may be less: not for the tokens'
    sake. And until each has happened that may become of a request."""
    await until(lambda: lines(log))
    await asyncio.sleep(WINDOW)
    share, least, tries = 0, 1, 0
    while share < least:
        assert tries < 12, f"{share:.0%} of the tokens, {least:.0%} asked"
        begin, before, tries = time.monotonic(), denied(name), tries + 1
        await asyncio.sleep(2 * WINDOW)
        share = truth(log, begin, begin + 2 * WINDOW) / (2 * CAPACITY)
        requests, tokens, at_once = (now - then for now, then in zip(denied(name), before))
        least = 0.85 * min(1, 2 * (requests + tokens) / max(requests + tokens + at_once, 1))
    print(f"{share:.1%} of the tokens, {least:.1%} asked")
    await until(lambda: {line["do"] for line in lines(log)} == DOES)


def rlctl(name, *words):
    """What it tells as JSON, None if there is nothing."""
    command = ["build/rlctl", "--json", "--segment", name, *words]
    shown = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    return json.loads(shown) if shown else None


def denied(name):
    """How often each limit was the one that denied."""
    return [limit["denied"] for limit in rlctl(name, "stats", "--rule", "llm")["rules"][0]["limits"]]


def told(name, key):
    """What rlctl tells of a key: of each limit what is used, and the living processes that hold units."""
    shown = rlctl(name, "get", "llm", key)
    if not shown:
        return [0, 0, 0], []
    limits = shown["limits"]
    used = [limit["counted"]["used"] if limit["counted"] else 0 for limit in limits]
    return used, [holder["pid"] for holder in limits[2]["holders"] if holder["state"] == "alive"]


def spans(entries, length):
    """The largest sum of (earliest, latest, amount) that for certain lie in a span shorter than `length`."""
    sums = [
        sum(amount for earliest, latest, amount in entries if begin <= earliest and latest < begin + length)
        for begin in {earliest for earliest, _latest, _amount in entries}
    ]
    return max(sums)


def most_at_once(entries):
    runs = sorted([(line["began"], 1) for line in entries] + [(line["ended"], -1) for line in entries])
    return max(itertools.accumulate(step for _at, step in runs))


def audit(entries):
    """No window had more than its requests, its tokens with the debts of what ran at once, and four at once. A request
    was decided between its client's sending it and its beginning at the model, however long that took."""
    asked = [(line["sent"], line["began"], 1) for line in entries]
    cost = [(line["sent"], line["began"], min(line["cost"], ESTIMATE)) for line in entries]
    debts = [(line["ended"], line["ended"], max(line["cost"] - ESTIMATE, 0)) for line in entries]
    assert spans(asked, WINDOW) <= REQUESTS
    assert spans(cost + debts, WINDOW) <= CAPACITY + AT_ONCE * max(debt for _earliest, _latest, debt in debts)
    assert most_at_once(entries) <= AT_ONCE


def entry(began, cost=1, length=0.01):
    return {"sent": began, "began": began, "ended": began + length, "cost": cost}


FOUR = [entry(0, length=0.1)] * AT_ONCE
FULL = CAPACITY // (REQUESTS - AT_ONCE) - 1
DEBT = ESTIMATE + 1000
ALLOWED = {  # logs as full as may be, and a line that is one too many
    "requests": (FOUR + [entry(0.2 + i / 100) for i in range(REQUESTS - AT_ONCE)], entry(1.4)),
    "tokens": (FOUR + [entry(0.2 + i / 100, FULL) for i in range(REQUESTS - AT_ONCE - 1)], entry(1.4, FULL + 100)),
    "debts": (FOUR + [entry(0.2 + i / 20, DEBT) for i in range(CAPACITY // DEBT + 1)], entry(1.3, ESTIMATE)),
    "at once": (FOUR, entry(0.05)),
}


@pytest.mark.parametrize("what", ALLOWED)
def test_audit(what):
    """It notices one that is too many."""
    log, further = ALLOWED[what]
    audit(log)
    audit([*log, dict(further, sent=9 * WINDOW, began=9 * WINDOW, ended=9 * WINDOW)])
    with pytest.raises(AssertionError):
        audit([*log, further])


def paid(rule):
    stats = rule.stats()
    return stats["settle_charged"] - stats["settle_given"] + stats["settle_debt"]


SERVERS = ["uvicorn", "gunicorn uvicorn"]


@contextlib.contextmanager
def proxy(server, environment, window):
    with serving(server, "proxy:app", directory=PROXY, **environment, LLM_WINDOW=window) as port:
        yield port


@pytest.mark.parametrize("server", SERVERS)
def test_200_clients(name, model, server):
    """They get most of their tokens and never more, and what was charged is what the model says that it was, but for
    what the worker was at that is killed."""
    environment, log = model
    with proxy(server, environment, f"{WINDOW}s") as port:
        asyncio.run(storm(port, lambda: reaches(name, log)))
        rule = rl.Segment(name, existing=True).find("llm")
        # An answer has ended for its client before it is settled, and before the model writes it down.
        asyncio.run(until(lambda: paid(rule) == settled(log)))
        asyncio.run(storm(port, lambda: kills(name)))
        most = AT_ONCE * max(line["cost"] for line in lines(log))
        asyncio.run(until(lambda: 0 <= settled(log) - paid(rule) <= most))
        audit(lines(log))
        assert most_at_once(lines(log)) == AT_ONCE


async def is_noticed(log):
    for _ in range(PATIENCE):
        await asyncio.sleep(1)
        try:
            audit(lines(log) or [entry(0)])
        except AssertionError:
            return
    raise TimeoutError("the audit has noticed nothing")


def test_workers_that_count_alone(model):
    """The audit has something to notice, and does, once more than one of them has clients."""
    environment, log = model
    with serving("uvicorn", "llm_alone:app", **environment, LLM_WINDOW=f"{WINDOW}s") as port:
        asyncio.run(storm(port, lambda: is_noticed(log), force_close=True))


async def kills(name):
    await asyncio.sleep(WINDOW / 2)
    holders = await until(lambda: told(name, KEY)[1])
    os.kill(holders[0], signal.SIGKILL)
    await asyncio.sleep(WINDOW)


async def until(is_true):
    end = time.monotonic() + PATIENCE
    while not (answer := is_true()):
        assert time.monotonic() < end
        await asyncio.sleep(0.01)
    return answer


ENDS = [  # what becomes of a request of 600 words, its status, and what is used of requests, of tokens and in flight
    ("answer", 200, [1, 603, 0]),
    ("forget", 200, [1, ESTIMATE, 0]),
    ("hang", 200, [1, ESTIMATE, 0]),
    ("fail", 502, [0, 0, 0]),
]


def test_what_is_used(name, model):
    with proxy("uvicorn", model[0], "1h") as port:
        asyncio.run(each_end(name, port))
        asyncio.run(killed(name, port))


async def each_end(name, port):
    async with aiohttp.ClientSession() as session:
        for do, status, used in ENDS:
            assert (await ask(session, port, do, do=do, words=600))[0] == status
            await until(lambda do=do, used=used: told(name, do)[0] == used)
        await ask(session, port, "long", words=6 * ESTIMATE)
        await until(lambda: told(name, "long")[0] == [1, 6 * ESTIMATE + 3, 0])
        await ask(session, port, "gone", take=4, do="hang", words=600)
        await until(lambda: told(name, "gone")[0] == [1, 403, 0])


def hang(session, port):
    return [asyncio.ensure_future(ask(session, port, "killed", do="hang")) for _ in range(AT_ONCE)]


async def killed(name, port):
    """Of four answers that hang a worker is killed: its estimates stay, and what ran does not."""
    async with aiohttp.ClientSession() as session:
        hanging = hang(session, port)
        await until(lambda: told(name, "killed")[0][2] == AT_ONCE)
        assert (await ask(session, port, "killed"))[0] == 429
        worker = told(name, "killed")[1][0]
        os.kill(worker, signal.SIGKILL)
        await until(lambda: worker not in told(name, "killed")[1])
        answers = await asyncio.gather(*hanging, return_exceptions=True)
        lost = sum(isinstance(answer, aiohttp.ClientError) for answer in answers)
        assert lost > 0
        await until(lambda: told(name, "killed")[0][2] <= lost)
        await asyncio.sleep(LOOKS)
        assert told(name, "killed")[0][:2] == [AT_ONCE, AT_ONCE * ESTIMATE]
        assert [status for status, _wait in await asyncio.gather(*hang(session, port))] == [200] * AT_ONCE
        await until(lambda: told(name, "killed")[0] == [2 * AT_ONCE, 2 * AT_ONCE * ESTIMATE, 0])
