"""Ports of the loopback address for servers that other processes will start.

A port that is only looked up may be taken again before the server listens, or while it is restarted: by an outgoing
connection, or by another process of the same test run. Those given here are outside the range from which the system takes
ports by itself, and reserved among the processes of this machine until this one ends.
"""

from __future__ import annotations

import errno
import os
import random
import socket
import sys
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
#: Ports below are often those of well-known services.
_LOWEST = 15_000
#: Fewer ports than this are too few to choose from.
_ENOUGH = 1_000
_ATTEMPTS = 200

#: A socket for each reserved port; its name is the reservation. Never closed: reservations end with the process.
_reservations: list[socket.socket] = []
#: Not the module's own generator: tests seed that, in all processes alike.
_random = random.SystemRandom()


def free_port() -> int:
    """A TCP port of the loopback address that no other caller gets while this process runs (Linux; elsewhere one that was free
    a moment ago)."""
    end = _first_automatic()
    if end - _LOWEST >= _ENOUGH:
        for _ in range(_ATTEMPTS):
            port = _random.randrange(_LOWEST, end)
            if _can_bind(port) and _reserve(port):
                return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


def _first_automatic() -> int:
    """The first port that the system may give to a socket by itself; 0 where that is not known."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        return int(_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def _can_bind(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _reserve(port: int) -> bool:
    """True if no process, this one included, has reserved the port. The name lives as long as the socket."""
    reservation = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        # An abstract name, of this network namespace, as the port is.
        reservation.bind(f"\0orchd-test-port-{port}")
    except OSError as error:
        reservation.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    os.set_inheritable(reservation.fileno(), False)
    _reservations.append(reservation)
    return True
