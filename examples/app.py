# SPDX-License-Identifier: BSD-2-Clause
"""A Flask application whose gunicorn workers share one limit of 100 a minute for each client.

    gunicorn --workers 4 --bind 127.0.0.1:8000 app:app

RL_SEGMENT names the segment, "flask" if it is not set. It needs the module rl, of bindings/python.
"""

import os

import rl.wsgi
from flask import Flask

app = Flask(__name__)
segment = os.environ.get("RL_SEGMENT", "flask")
app.wsgi_app = rl.wsgi.Limit(app.wsgi_app, segment, {"client": "100/min"})


@app.get("/")
def hello():
    return f"hello from worker {os.getpid()}\n"
