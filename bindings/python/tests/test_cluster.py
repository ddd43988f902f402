# SPDX-License-Identifier: BSD-2-Clause
"""A share of a cluster's limit is waited for: four hosts, a real store, and a strict limit of five."""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time

import pytest
import rl
import rl.asgi
from rl import _calls
from serving import free_port

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../tests/support"))
from lent import in_time, until  # noqa: E402

HOSTS = 4


def config(name, number, nodes, secret, limits):
    rules = {rule: {"scope": "cluster", "away": "closed", **fields} for rule, fields in limits.items()}
    cluster = {"nodes": nodes, "secret_file": secret, "lease": "30s"}
    return {"segment": {"name": f"{name}{number}", "keys": 1000}, "cluster": cluster, "rules": rules}


LIMITS = {  # of which most wait for longer than the 20 ms that are usual: machines that run tests have other work, too
    "five": {"limit": "5/min", "strict": True, "wait": "1s"},
    "usual": {"limit": "5/min", "strict": True},
    "none": {"limit": "5/min", "strict": True, "wait": "none"},
    "dear": {"limit": "1000/min", "blind": 10, "wait": "1s"},
}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    top, path = os.environ["RL_TOP"], tmp_path_factory.mktemp("cluster")
    if not shutil.which("redis-server"):
        pytest.skip("there is no redis-server")
    port, replica, secret = free_port(), free_port(), path / "secret"
    secret.write_bytes(os.urandom(32))
    secret.chmod(0o600)
    name, running = f"py-cluster-{os.getpid()}-", []
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        for at, of in ((port, None), (replica, port)):
            store = ["redis-server", "--port", str(at), "--bind", "127.0.0.1", "--save", "", "--dir", str(path)]
            more = ["--replicaof", f"127.0.0.1 {of}", "--repl-diskless-sync-delay", "0"] if of else []
            running.append(subprocess.Popen(store + more, **quiet))
        until(lambda: b"link_status:up" in subprocess.run(
            ["redis-cli", "-p", str(replica), "info", "replication"], capture_output=True, check=False).stdout)  # fmt: skip
        for number in range(HOSTS):
            file = path / f"{number}.json"
            file.write_text(json.dumps(config(name, number, [f"127.0.0.1:{port}", f"127.0.0.1:{replica}"], str(secret), LIMITS)))
            running.append(subprocess.Popen([f"{top}/build/rld", "-c", str(file)], **quiet))
        segments = []
        for number in range(HOSTS):
            until(lambda number=number: is_lending(f"{name}{number}"))
            segments.append(rl.Segment(f"{name}{number}", existing=True))
        yield segments
        for segment in segments:
            segment.close()
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()
        for number in range(HOSTS):
            with contextlib.suppress(rl.NotFoundError):
                rl.unlink(f"{name}{number}")


def is_lending(name):
    """A key of its own is admitted beside its share, so its daemon is there, and knows the store."""
    try:
        with rl.Segment(name, existing=True) as segment:
            return bool(segment.find("dear").check(name, 11))
    except (rl.Error, KeyError):
        return False


def asked(hosts, rule, key, times, cost=1):
    """Whether each of so many requests was admitted, of one host after the other, by an event loop."""

    async def ask():
        answers = []
        for i in range(times):
            segment = hosts[i % HOSTS]
            decided, _results = await segment.check_all_async([(segment.find(rule), key, cost)])
            answers.append(bool(decided))
        return answers

    return asyncio.run(ask())


def test_five_of_five(hosts):
    def are(key):
        began = time.monotonic()
        answers = asked(hosts, "five", key, 5)
        took = time.monotonic() - began
        admitted.append(sum(answers + asked(hosts, "five", key, 8)))
        assert all(answers) and took < 2

    admitted = []
    in_time(are)
    assert max(admitted) == 5


def test_nobody_waits_where_the_limit_says_so(hosts):
    assert not asked(hosts, "none", "b", 1)[0]
    result = hosts[0].find("none").check("c")
    assert (result.reason, result.delay_ns, result.retry_after_ns) == ("share", 0, 2_000_000)


def test_workers_sleep_where_the_limit_says_so(hosts):
    rule = hosts[2].find("five")

    def sleep(key):
        answers = [bool(rule.check(key)) for _ in range(4)]
        answers += [bool(hosts[2].check_all([(rule, key)])[0]) for _ in range(2)]
        assert answers == [True] * 5 + [False]

    in_time(sleep)
    assert not hosts[0].find("usual").check("d")  # by default they do not


def test_a_large_cost_beside_what_others_hold(hosts):
    def is_had(key):
        assert asked(hosts, "dear", key, 3, 100) == [True] * 3
        segment = hosts[3]
        decided, _results = asyncio.run(segment.check_all_async([(segment.find("dear"), key, 700)]))
        assert decided
        assert not any(asked(hosts, "dear", key, 4, 100))

    in_time(is_had)


def test_a_cancelled_one_is_not_charged(hosts):
    segment = hosts[0]

    async def give_up(key):
        task = asyncio.create_task(segment.check_all_async([(segment.find("five"), key)]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    def is_free(key):
        asyncio.run(give_up(f"g-{key}"))
        assert asked([segment] * HOSTS, "five", f"g-{key}", 5) == [True] * 5

    in_time(is_free)


def test_at_most_a_thousand_wait(hosts, monkeypatch):
    monkeypatch.setattr(_calls, "_WAITERS_MAX", 3)

    async def crowd(key):
        segment = hosts[1]
        return await asyncio.gather(*(segment.check_all_async([(segment.find("five"), key)]) for _ in range(5)))

    def wait(key):
        admitted = [bool(decided) for decided, _results in asyncio.run(crowd(f"h-{key}"))]
        assert admitted == [True] * 3 + [False] * 2

    in_time(wait)
    assert _calls._waiters == 0


def test_middleware_waits(hosts):
    async def hello(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def status(segment, key):
        sent = []

        async def send(message):
            sent.append(message.get("status"))

        app = rl.asgi.Limit(hello, segment, {"five": rl.asgi.By(key=lambda scope: key)})
        await app({"type": "http", "path": "/", "client": ("192.0.2.1", 1), "headers": [], "method": "GET"}, None, send)
        return sent[0]

    def waits(key):
        assert [asyncio.run(status(hosts[3], f"i-{key}")) for _ in range(6)] == [200] * 5 + [429]

    in_time(waits)
