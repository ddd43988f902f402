# SPDX-License-Identifier: BSD-2-Clause
"""A Flask application whose gunicorn workers share one limit of 100 a minute for each client.

    gunicorn --workers 4 --bind 127.0.0.1:8000 app:app

RL_SEGMENT names the segment, "flask" if it is not set.
"""

import os

from flask import Flask, request

import rl

app = Flask(__name__)
limiter = rl.Limiter(os.environ.get("RL_SEGMENT", "flask"))
client = limiter.define("client", capacity=100, window=60, granularity=60, hard=1)


@app.before_request
def limit():
    result = limiter.check(client, request.remote_addr)
    if result.verdict == rl.UNDECIDED:  # serve, but do not keep it to ourselves
        app.logger.error("rl: %s", limiter.strerror(result.error))
    elif result.verdict != rl.ALLOWED:
        wait = limiter.retry_after(result)
        return "too many requests\n", 429, {"Retry-After": wait} if wait else {}
    return None


@app.get("/")
def hello():
    return f"hello from worker {os.getpid()}\n"
