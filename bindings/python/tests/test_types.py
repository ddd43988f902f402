# SPDX-License-Identifier: BSD-2-Clause
"""The stubs say what the extension is, and programs that use it pass a type checker."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("mypy")

PROGRAM = '''
import rl

web = rl.Segment("web", keys=1000)
login: rl.Rule = web.rule("login", "5/min")
result = login.check("alice", cost=2)
if result.verdict == "denied" and result.retry_after is not None:
    wait: float = result.retry_after
with login.hold("alice") as held:
    held.release()

@login.limit(key=lambda user: user)
def view(user: str) -> str:
    return user

@login.limit("alice", cost=800, actual=lambda answer: len(answer))
def ask(user: str) -> str:
    return user

text: str = view("alice")
count = web.counters("failed").add("alice", 1, 60)
value: int = 0 if count is None else count.value
names: list[tuple[str, str]] = result.headers(older=True)
'''

MODULES = {
    "wsgi": '''
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment
import rl.wsgi

def app(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    start("200 OK", [])
    return [b"x"]

limited = rl.wsgi.Limit(app, "web", {
    "client": "5/min", "mail": {"limit": "5/min"}, "two": ["5/s", "9/h"],
    "login": rl.wsgi.By("5/d", key=lambda environ: environ.get("REMOTE_USER"), cost=2, paths=["/login"], count_status=[401, "5xx"]),
}, proxies=["10.0.0.0/8"], headers=["older"], fail="closed", count_status=lambda status, environ: status == 401, client_v6=56)
again = rl.wsgi.Limit(limited, {"name": "web", "keys": 1000}, {"client": None})
''',
    "asgi": '''
import rl.asgi
from typing import Any

async def key_of(scope: Any) -> str:
    return "alice"

limited = rl.asgi.Limit(None, rl.Segment("web"), {"client": "5/min"}, key=key_of, count_status=404)
''',
    "fastapi": '''
import rl.fastapi
from fastapi import Depends, FastAPI

app = FastAPI()
logins = rl.fastapi.Limit("web", {"login": "5/min"}, key=lambda scope: scope["path"])

@app.post("/login", dependencies=[Depends(logins)])
async def login() -> str:
    return "welcome"
''',
    "celery": '''
import rl.celery

@rl.celery.limit("weather", "20/s", key=lambda city: city)
def fetch(city: str) -> int:
    return 5

number: int = fetch("Rome")
''',
    "limits": '''
import rl.limits
from limits import parse, strategies

limiter = strategies.MovingWindowRateLimiter(rl.limits.SharedStorage("rl+shm://web", prefix="x"))
passes: bool = limiter.hit(parse("5/minute"), "alice")
''',
    "django": '''
import rl.django

cache = rl.django.Cache("web", {"TIMEOUT": 60})
value: int = cache.incr("a")
there: bool = cache.add("a", 1, timeout=5)
''',
    "rest": '''
import rl.rest
from typing import Any

class Own(rl.rest.UserThrottle):
    def allow_request(self, request: Any, view: Any) -> bool:
        return super().allow_request(request, view)

wait: float | None = Own().wait()
''',
}

MISTAKES = '''
import rl.asgi, rl.celery, rl.wsgi
rl.asgi.Limit(None, "web", {"client": 5})
rl.asgi.Limit(None, "web", {"client": "5/min"}, fail="perhaps")
rl.wsgi.Limit(None, "web", {"client": "5/min"})
rl.asgi.By("5/min", count_status=4.5)
rl.celery.limit("a", key=5)
'''

CACHE = os.path.join(os.environ["RL_WORK"], "mypy")
WRONG = '''
import rl
web = rl.Segment("web", kys=1000)
web.rule("login", "5/min").check(5)
web.counters("failed").add("alice").value
rl.Segment("web").rule("x").check("a").verdict == 5
'''


def mypy(tmp_path, *programs):
    paths = [tmp_path / f"program{i}.py" for i in range(len(programs))]
    for path, program in zip(paths, programs):
        path.write_text(program)
    env = dict(os.environ, MYPYPATH=os.environ["PYTHONPATH"].split(":")[0])
    words = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", CACHE, *map(str, paths)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, cwd=tmp_path)
    return done.stdout + done.stderr


def test_a_program_passes(tmp_path):
    assert mypy(tmp_path, PROGRAM).startswith("Success")


def test_a_program_with_each_module_passes(tmp_path):
    told = mypy(tmp_path, *MODULES.values())
    assert told.startswith("Success"), told


def test_each_module_has_a_stub_and_a_program():
    package = os.path.join(os.environ["RL_TOP"], "bindings/python/rl")
    modules = {name[:-3] for name in os.listdir(package) if name.endswith(".py") and not name.startswith("_")}
    assert modules <= {name[:-4] for name in os.listdir(package) if name.endswith(".pyi")} and modules == set(MODULES)


def test_mistakes_are_found(tmp_path):
    told = mypy(tmp_path, WRONG, MISTAKES)
    assert (told.count("program0.py"), told.count("program1.py"), told.count("error:")) == (4, 5, 9), told


def test_the_stubs_are_true(tmp_path):
    """Each name, argument and default is that of the extension."""
    allow = tmp_path / "allow"
    # Built from C and completed in Python: these exist, and look otherwise to inspection.
    allow.write_text("rl\\.Count.*\nrl\\.\\w+\\.__(new|init|exit|enter|bool|aenter|aexit)__\nrl\\._rl.*\nrl\\.(django|rest|limits)(\\..*)?\n")
    env = dict(os.environ, MYPYPATH=os.environ["PYTHONPATH"].split(":")[0])
    config = tmp_path / "config"
    config.write_text("[mypy]\nignore_missing_imports = True\n")
    words = [sys.executable, "-m", "mypy.stubtest", "rl", "--mypy-config-file", str(config), "--allowlist", str(allow), "--ignore-unused-allowlist"]  # noqa: E501
    done = subprocess.run(words, env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
