"""Ports for servers in other processes."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from orchd.testing.processes import ports

_OTHER = "from orchd.testing.processes.ports import free_port, _reserve; import sys; print(_reserve(int(sys.argv[1])))"


def test_ports_are_not_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port is given out once, even if it is chosen again."""

    class Same:
        def __init__(self) -> None:
            self.next = [first, first, first, first + 1]

        def randrange(self, low: int, high: int) -> int:
            return self.next.pop(0) if self.next else random.randrange(low, high)

    first = ports.free_port()
    monkeypatch.setattr(ports, "_random", Same())
    assert ports.free_port() != first


def test_ports_are_reserved_among_processes() -> None:
    """A port of one running process is not given to another one."""
    port = ports.free_port()
    other = subprocess.run([sys.executable, "-c", _OTHER, str(port)], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == "False"


def test_ports_are_outside_the_ephemeral_range() -> None:
    """Ports are outside the ephemeral range, so that outgoing connections do not use them."""
    first = ports._first_ephemeral()
    if first - ports._LOWEST < ports._MIN_RANGE:
        pytest.skip("the system gives away all ports by itself")
    assert ports._LOWEST <= ports.free_port() < first


@pytest.mark.parametrize("content", [None, "", "words\n", "1024 65535\n"])
def test_unknown_range_uses_a_system_port(content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a known range, or with one that leaves no ports, the system chooses the port."""
    path = tmp_path / "range"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr(ports, "_RANGE", path)
    assert ports.free_port() > 0
