# SPDX-License-Identifier: BSD-2-Clause
"""FastAPI, Starlette and aiohttp: what README.md shows of them, and the dependency."""

import asyncio
import os
import re

import pytest
import rl

with open(os.path.join(os.path.dirname(__file__), "../README.md"), encoding="utf-8") as file:
    BLOCKS = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)


def shown(name, framework):
    """What the page's program for a framework leaves, with a segment of the test's own."""
    (block,) = [block for block in BLOCKS if f"from {framework} import" in block or f"from {framework}." in block]
    made = {}
    exec(compile(block.replace('"web"', repr(name)), "README.md", "exec"), made)
    return made


def client_of(app, **options):
    testclient = pytest.importorskip("starlette.testclient")
    return testclient.TestClient(app, **options)


def test_fastapi(name):
    pytest.importorskip("fastapi")
    client = client_of(shown(name, "fastapi")["app"])
    answers = [client.post("/login") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert answers[0].headers["RateLimit-Policy"] == '"login";q=5;w=60' and int(answers[5].headers["Retry-After"]) > 0
    assert answers[5].json()["detail"]["violated-policies"] == ["login"]
    assert client.get("/").status_code == 200


def test_a_dependency_with_all_it_may_have(private):
    fastapi = pytest.importorskip("fastapi")
    import rl.fastapi

    rules = {"jobs": rl.fastapi.By("9/h", {"algorithm": "in_flight", "capacity": 1}, key=lambda scope: scope["path"])}
    jobs = rl.fastapi.Limit(private, rules, body=lambda scope, result: ("later", "text/plain"))
    app = fastapi.FastAPI()

    @app.get("/{what}", dependencies=[fastapi.Depends(jobs)])
    def job(what: str):
        held = private.find("jobs").check_limits(f"/{what}")[1][1]
        return {"denied": not held}

    client = client_of(app, raise_server_exceptions=False)
    assert [client.get("/a").json() for _ in range(3)] == [{"denied": True}] * 3  # held meanwhile, and given back
    private.ban("/b")
    answer = client.get("/b")
    assert (answer.status_code, answer.json()) == (403, {"detail": "later"})
    for wrong in ({"count_status": [401]}, {"rules": {"x": rl.fastapi.By("5/h", count_status=[401])}}):
        with pytest.raises(ValueError, match="count_status: a dependency does not see the answer"):
            rl.fastapi.Limit(private, **{"rules": {"x": "5/h"}, **wrong})


def test_starlette(name):
    pytest.importorskip("starlette")
    client = client_of(shown(name, "starlette")["app"])
    assert [client.get("/", params={"password": "right"}).status_code for _ in range(9)] == [200] * 9
    assert [client.get("/").status_code for _ in range(6)] == [401] * 5 + [429]


def test_aiohttp(name):
    test_utils = pytest.importorskip("aiohttp.test_utils")
    app = shown(name, "aiohttp")["app"]

    async def play():
        async with test_utils.TestClient(test_utils.TestServer(app)) as client:
            return [((answer := await client.get("/")).status, answer.headers) for _ in range(6)]

    told = asyncio.run(play())
    assert [status for status, _headers in told] == [200] * 5 + [429] and int(told[5][1]["Retry-After"]) > 0
    assert rl.Segment(name, existing=True).find("page").peek("127.0.0.1").used == 5
