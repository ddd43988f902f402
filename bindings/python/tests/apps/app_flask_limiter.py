# SPDX-License-Identifier: BSD-2-Clause
"""Flask-Limiter as its users write it; only the storage's URI is rl's."""

import os

import rl.limits  # registers rl+shm://
from flask import Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

app = Flask(__name__)
limiter = Limiter(
    get_remote_address,
    app=app,
    storage_uri=f"rl+shm://{os.environ['RL_SEGMENT']}",
    strategy=os.environ["RL_STRATEGY"],
    headers_enabled=True,
)


@app.get("/")
@limiter.limit("50/hour")
def hello():
    return "hello\n"
