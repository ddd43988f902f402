# SPDX-License-Identifier: BSD-2-Clause
"""storm.py SECONDS: requests, aborts, graceful restarts and kill -9 at once, on each MPM. At the end exactly the
limit was charged, nobody got more, and nothing is in flight."""
import collections
import os
import random
import struct
import socket
import sys
import threading
import time

from server import Apache, Backend, eventually, used

CONFIG = """RLRule page 1000/30d
RLRule slots in_flight=4
<Location />
RLLimit page same
</Location>
<Location /slow>
ProxyPass http://127.0.0.1:@BACKEND@/slow disablereuse=on
RLLimit off
RLLimit slots same
</Location>
"""


def send(apache, path, found, is_over):
    while not is_over.is_set():
        try:
            found[path, apache.get(path).status] += 1
        except Exception:  # whatever a killed server does to a connection
            found[path, "broken"] += 1


def abort(apache, is_over):
    while not is_over.is_set():
        try:
            s = apache.open_request("/slow/x")
            time.sleep(random.random() / 50)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
        except OSError:
            pass


def kill_one(pids):
    try:
        os.kill(random.choice(pids), 9)
        return 1
    except (IndexError, ProcessLookupError):  # none is there just now
        return 0


def disturb(apache, seconds):
    counts = collections.Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if random.random() < 0.5:
            apache.restart()
            counts["graceful restarts"] += 1
        else:
            counts["kills"] += kill_one(apache.children())
        time.sleep(random.random() / 5)
    return dict(counts)


def storm(mpm, seconds):
    backend, found, is_over = Backend(), collections.Counter(), threading.Event()
    backend.go()
    with Apache(CONFIG.replace("@BACKEND@", str(backend.port)), mpm=mpm, children=4) as apache:
        threads = [threading.Thread(target=send, args=(apache, path, found, is_over)) for path in ("/", "/slow/x") * 3]
        threads += [threading.Thread(target=abort, args=(apache, is_over)) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            counts = disturb(apache, seconds)
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
        eventually(apache.is_up, "children")
        while apache.get("/").status == 200:
            found["/", 200] += 1
        print(mpm, counts, dict(found), flush=True)
        assert found["/", 200] <= 1000, "more than the limit were admitted"
        assert used(apache.segment, "page", "same") == 1000, "the limit was not charged in full"
        eventually(lambda: apache.get("/slow/x").status == 200 and used(apache.segment, "slots", "same") == 0,
                   "that all units are given back")
    backend.stop()


for which in sys.argv[2:] or ("prefork", "worker", "event"):
    storm(which, float(sys.argv[1]))
