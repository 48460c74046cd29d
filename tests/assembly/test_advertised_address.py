"""The address that a server advertises."""

from __future__ import annotations

import socket
from collections.abc import Mapping

import pytest

from orchd.assembly import files
from tests.config.test_component_flags import settings

_BOTH = {socket.AF_INET: "192.0.2.7", socket.AF_INET6: "2001:db8::7"}


@pytest.mark.parametrize(
    ("flags", "routed", "want"),
    [
        ((), _BOTH, "192.0.2.7"),
        (("--bind-address=127.0.0.1",), _BOTH, "192.0.2.7"),
        (("--bind-address=::1",), _BOTH, "2001:db8::7"),
        (("--bind-address=::",), {socket.AF_INET: "192.0.2.7"}, "192.0.2.7"),
        (("--bind-address=127.0.0.2",), {}, "127.0.0.2"),
        ((), {}, "127.0.0.1"),
        (("--bind-address=192.0.2.9",), _BOTH, "192.0.2.9"),
        (("--bind-address=192.0.2.9", "--advertise-address=127.0.0.1"), _BOTH, "127.0.0.1"),
    ],
)
def test_machine_address_replaces_unspecified_and_loopback_ones(
    monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], routed: Mapping[socket.AddressFamily, str], want: str
) -> None:
    """The flag's address, else the bind address, else the machine's own of the same family if it has one."""
    monkeypatch.setattr(files, "_routed_address", lambda family: routed.get(family, ""))
    assert files.advertised_address(settings({}, *flags)) == want
