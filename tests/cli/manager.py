#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""manager.py SOCKET|- PROGRAM ARGUMENT...: a service manager with a watchdog, to run rld.

The program has to feed the watchdog. Where SOCKET is what it serves metrics at, then another
listener is put in its place, one that closes each connection: the watchdog is to go hungry until
the program's own is back. Twenty tries of the program are what it is watched for: so no time of
this machine's is.
"""
import os
import signal
import socket
import subprocess
import sys

FED = b"WATCHDOG=1"
HUNGRY_TRIES = 20
WATCHDOG_USEC = 200000
SECONDS = 20


def listen(path, kind):
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(path)
    server.settimeout(SECONDS)
    return server


def drain(notes):
    """All that has come: how often the watchdog was fed."""
    count = 0
    notes.settimeout(0)
    try:
        while True:
            count += FED in notes.recv(4096).splitlines()
    except BlockingIOError:
        notes.settimeout(SECONDS)
        return count


def wait_for_food(notes, times):
    while times > 0:
        times -= FED in notes.recv(4096).splitlines()


def refuse(server):
    server.accept()[0].close()


def starve(path, notes):
    os.link(path, path + ".own")
    server = listen(path + ".other", socket.SOCK_STREAM)
    server.listen(1)
    os.rename(path + ".other", path)
    refuse(server)
    drain(notes)
    for _ in range(HUNGRY_TRIES):
        refuse(server)
    if drain(notes) > 0:
        sys.exit("fed, though it does not answer itself")
    os.rename(path + ".own", path)
    server.close()
    wait_for_food(notes, 2)


def main():
    path, command = sys.argv[1], sys.argv[2:]
    note = os.path.join(os.environ["BATS_TEST_TMPDIR"], f"notify-{os.getpid()}")
    notes = listen(note, socket.SOCK_DGRAM)
    environment = dict(os.environ, NOTIFY_SOCKET=note, WATCHDOG_USEC=str(WATCHDOG_USEC))
    program = subprocess.Popen(command, env=environment)
    try:
        wait_for_food(notes, 3)
        if path != "-":
            starve(path, notes)
        program.send_signal(signal.SIGTERM)
        sys.exit(program.wait(SECONDS))
    finally:
        program.kill()


main()
