# SPDX-License-Identifier: BSD-2-Clause
"""The native WSGI middleware."""

import os

import rl.wsgi


def hello(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello\n"]


app = application = rl.wsgi.Limit(hello, os.environ["RL_SEGMENT"], {"client": "50/h"}, headers=["standard", "older"])
