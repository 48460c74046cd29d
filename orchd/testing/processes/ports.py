"""Free ports of the loopback address for servers in other processes.

A port that was free a moment ago may be taken before the server listens or while it restarts: by an outgoing
connection, or by another process of the same test run. The ports given here are outside the system's ephemeral range,
and reserved among the test processes of this machine until this process ends.
"""

from __future__ import annotations

import errno
import os
import random
import socket
import sys
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
#: Lower ports often belong to well-known services.
_LOWEST = 15_000
#: Least size of the range from `_LOWEST` to the ephemeral range.
_MIN_RANGE = 1_000
_ATTEMPTS = 200

#: A socket for each reserved port; its name is the reservation. Never closed: reservations end with the process.
_reservations: list[socket.socket] = []
#: Not the global generator, which tests seed alike in all processes.
_random = random.SystemRandom()


def free_port() -> int:
    """A TCP port of the loopback address that no other caller gets while this process runs. On systems other than
    Linux, a port that was free a moment ago."""
    end = _first_ephemeral()
    if end - _LOWEST >= _MIN_RANGE:
        for _ in range(_ATTEMPTS):
            port = _random.randrange(_LOWEST, end)
            if _can_bind(port) and _reserve(port):
                return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def _first_ephemeral() -> int:
    """The lowest port of the ephemeral range; 0 if it is unknown."""
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
    """Reserve a port. Returns False if a process, this one included, has reserved it."""
    reservation = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        # An abstract address belongs to the network namespace, as ports do, and is freed with the socket.
        reservation.bind(f"\0orchd-test-port-{port}")
    except OSError as error:
        reservation.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    os.set_inheritable(reservation.fileno(), False)
    _reservations.append(reservation)
    return True
