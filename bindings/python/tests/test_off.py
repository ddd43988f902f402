# SPDX-License-Identifier: BSD-2-Clause
"""On a system that is not Linux: every module is imported, the first segment says what to do, RL_OFF=1 allows everything."""

import os
import subprocess
import sys

MAC = "import sys\nsys.platform = 'darwin'\n"
PROGRAM = """
import rl
web = rl.Segment("web")
login = web.rule("login", "3/hour")
verdicts = [bool(login.check("alice")) for _ in range(5)]
first, results = web.check_all([(login, "a"), (web.rule("other", "1/h"), "b")])
with login.hold("bob") as held:
    print(verdicts, len(results), first.verdict, held.verdict, web.ban("eve", seconds=3), login.allows("eve"))
"""
MIDDLEWARE = """
import rl.asgi, rl.wsgi
def hello(environ, start_response):
    start_response("200 OK", [])
    return [b"hello"]
app = rl.wsgi.Limit(hello, "web", {"client": "3/hour"})
print([app({"REQUEST_METHOD": "GET", "PATH_INFO": "/", "REMOTE_ADDR": "192.0.2.1"}, lambda *told: None)
       and "hello" for _ in range(5)])
"""


def run(text, **more):
    env = {name: value for name, value in os.environ.items() if name != "RL_OFF"}
    return subprocess.run([sys.executable, "-c", MAC + text], env={**env, **more}, capture_output=True, text=True, check=False)


def test_it_is_imported_and_says_what_to_do():
    assert run("import rl, rl.wsgi, rl.asgi; print('imported')").stdout == "imported\n"
    opened = run(PROGRAM)
    assert opened.returncode == 1
    assert "this is darwin. Remedy: run it in a container, or set RL_OFF=1" in opened.stderr


def test_everything_is_allowed_with_one_warning():
    ran = run(PROGRAM, RL_OFF="1")
    assert ran.stdout == "[True, True, True, True, True] 2 allowed allowed None True\n", ran.stderr
    assert ran.stderr.count("nothing is limited") == 1


def test_middleware_lets_everybody_through():
    ran = run(MIDDLEWARE, RL_OFF="1")
    assert ran.stdout == f"{['hello'] * 5}\n", ran.stderr
