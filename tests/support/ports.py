# SPDX-License-Identifier: BSD-2-Clause
"""Where servers of tests listen: ports of the loopback, and sockets."""

import socket

_ours = []


def free_port():
    """As long as ours does not listen, a server may have its port as well, and nobody else."""
    ours = socket.socket()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ours.bind(("127.0.0.1", 0))
    _ours.append(ours)
    return ours.getsockname()[1]


def listens(path):
    """Whether somebody answers at that unix socket: its file is there a moment before."""
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(str(path)) == 0
