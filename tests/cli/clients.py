#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""clients.py ADDRESS KIND COUNT...: clients of rld's metrics, and none of them a good one.

ADDRESS is unix:PATH or http://HOST:PORT/metrics. For each COUNT that many come, and stay while a
scrape is tried; then they go, and another is. Each has to succeed in a few tries.

  gone      open, say nothing, close; in four bursts
  silent    say nothing
  drip      send one byte of a header after the other
  unread    ask, and never read
  pipeline  ask COUNT times on one connection, and read until it is closed; the first has its
            answer, if what was asked fits what is read at once
  half      ask, say that nothing more will come, and read; one after the other
"""
import resource
import socket
import struct
import sys
import threading
import urllib.parse

REQUEST = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = b"rl_config_last_load_successful{"
TRIES = 5
SECONDS = 10
READ_AT_ONCE = 16384


def connect(address):
    if address.startswith("unix:"):
        client = socket.socket(socket.AF_UNIX)
        to = address[len("unix:"):]
    else:
        client = socket.socket(socket.AF_INET)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        at = urllib.parse.urlsplit(address)
        to = (at.hostname, at.port)
    # Of the kernel's: Python's own would not wait for a full queue.
    for way in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        client.setsockopt(socket.SOL_SOCKET, way, struct.pack("ll", SECONDS, 0))
    client.connect(to)
    return client


def read_all(client):
    text = b""
    try:
        while part := client.recv(65536):
            text += part
    except OSError:
        pass
    return text


def send(client, text):
    """What can be sent: that it was closed, or is full, is no trouble."""
    try:
        client.send(text, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    except OSError:
        pass


def is_answered(client):
    text = read_all(client)
    client.close()
    return text.startswith(b"HTTP/1.1 200 ") and text.splitlines()[-1].startswith(LAST)


def ask(address, times=1, is_half=False):
    try:
        client = connect(address)
        send(client, REQUEST * times)
        if is_half:
            client.shutdown(socket.SHUT_WR)
        return is_answered(client)
    except OSError:
        return False


def scrape(address, when):
    if not any(ask(address) for _ in range(TRIES)):
        sys.exit(f"no answer {when}")


def come(address, kind, count):
    first = {"drip": b"GET /metrics HTTP/1.1\r\nX: ", "unread": REQUEST}.get(kind)
    clients = [connect(address) for _ in range(count)]
    for client in clients:
        if first:
            send(client, first)
    return clients


def drip(clients, end):
    while not end.wait(0.01):
        for client in clients:
            send(client, b"x")


def stay(address, kind, count):
    end = threading.Event()
    clients = come(address, kind, count)
    dripping = threading.Thread(target=drip, args=(clients, end))
    if kind == "drip":
        dripping.start()
    try:
        scrape(address, f"while {count} stay")
    finally:
        end.set()
        if kind == "drip":
            dripping.join()
        for client in clients:
            client.close()


def visit(address, kind, count):
    if kind == "pipeline":
        if not ask(address, count) and count * len(REQUEST) < READ_AT_ONCE:
            sys.exit(f"no answer to the first of {count}")
    elif kind == "half":
        if not all(ask(address, 1, True) for _ in range(count)):
            sys.exit("no answer after a half close")
    elif kind == "gone":
        for _ in range(4):
            for client in come(address, kind, count // 4):
                client.close()
    else:
        stay(address, kind, count)
    scrape(address, f"after {count} of {kind}")


def main():
    counts = [int(text) for text in sys.argv[3:]]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for count in counts:
        visit(sys.argv[1], sys.argv[2], count)


main()
