# SPDX-License-Identifier: BSD-2-Clause
"""As much of HTTP/2 (RFC 9113) as it takes to begin streams and to reset them."""
import socket
import struct

from server import PATIENCE

HEADERS, RST_STREAM, SETTINGS, PING = 1, 3, 4, 6
END_STREAM, END_HEADERS, ACK = 1, 4, 1
CANCEL = 8


def literal(name, value):
    """A field without indexing and without Huffman coding (RFC 7541, 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


class Connection:
    def __init__(self, port):
        self.port = port
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.send(SETTINGS, 0, 0)
        self.next = 1

    def send(self, kind, flags, stream, payload=b""):
        self.socket.sendall(struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload)

    def get(self, path):
        stream, self.next = self.next, self.next + 2
        fields = ((":method", "GET"), (":scheme", "http"), (":path", path), (":authority", f"127.0.0.1:{self.port}"))
        self.send(HEADERS, END_STREAM | END_HEADERS, stream, b"".join(literal(*f) for f in fields))
        return stream

    def reset(self, stream):
        self.send(RST_STREAM, 0, stream, struct.pack(">I", CANCEL))

    def close(self):
        self.socket.close()
