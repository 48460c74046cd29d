"""Host ports in use, by port, so that a pod with ports looks only at rows where one of them is taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orchd.scheduler.pods import HostPort

#: The IP that conflicts with every other one.
ANY = "0.0.0.0"


class Ports:
    """(protocol, port) -> row -> IP -> pods."""

    def __init__(self) -> None:
        self._used: dict[tuple[str, int], dict[int, dict[str, int]]] = {}

    def count(self, row: int, ports: Iterable[HostPort], sign: int) -> None:
        for ip, protocol, port in ports:
            rows = self._used.setdefault((protocol, port), {})
            ips = rows.setdefault(row, {})
            ips[ip] = ips.get(ip, 0) + sign
            if not ips[ip]:
                del ips[ip]
            if not ips:
                del rows[row]
            if not rows:
                del self._used[protocol, port]

    def used(self, protocol: str, port: int) -> Mapping[int, Mapping[str, int]]:
        """Row -> IPs that use the port there."""
        return self._used.get((protocol, port), {})


def conflicts(ip: str, used: Iterable[str]) -> bool:
    """True if a requested host IP conflicts with those that use the port."""
    return any(ip == other or ANY in (ip, other) for other in used)
