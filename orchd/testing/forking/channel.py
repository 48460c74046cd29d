"""Messages between the processes of test clusters: JSON over a socket pair, one of them with a descriptor."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("!I")
#: A request to start a server is a few hundred bytes.
_MOST = 1024 * 1024


def send(channel: socket.socket, message: Any, descriptor: int) -> None:
    """Send a message with an open descriptor. Raises OSError."""
    data = json.dumps(message).encode()
    socket.send_fds(channel, [_LENGTH.pack(len(data))], [descriptor])
    channel.sendall(data)


def receive(channel: socket.socket) -> tuple[Any, int] | None:
    """The next message and its descriptor; None at the end of the channel. Raises OSError, ValueError."""
    head, descriptors, _, _ = socket.recv_fds(channel, _LENGTH.size, 1)
    if not head:
        return None
    if len(descriptors) != 1:
        raise ValueError("a message without a descriptor")
    while len(head) < _LENGTH.size:
        head += _more(channel, _LENGTH.size - len(head))
    (length,) = _LENGTH.unpack(head)
    if length > _MOST:
        raise ValueError(f"a message of {length} bytes")
    data = b""
    while len(data) < length:
        data += _more(channel, length - len(data))
    return json.loads(data), descriptors[0]


def _more(channel: socket.socket, count: int) -> bytes:
    data = channel.recv(count)
    if not data:
        raise ValueError("the channel ended within a message")
    return data
