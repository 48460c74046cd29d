"""Connections to kubelets, as the assembly configures them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IHostnameResolver
from twisted.internet.testing import MemoryReactorClock
from zope.interface import implementer

from orchd.assembly.capabilities import capabilities
from orchd.assembly.nodes import node_upstreams
from orchd.config.options import Options, from_options
from orchd.server.pipeline.verbs.subresources.addresses import AddressNotAllowedError
from orchd.server.pipeline.verbs.subresources.locations import Location
from orchd.txkit.coroutines import start


@implementer(IHostnameResolver)
class Names:
    """A resolver that knows one name, and resolves addresses to themselves."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses

    def resolveHostName(self, receiver: Any, hostName: str, *_: Any, **__: Any) -> Any:  # type: ignore[override]  # the other arguments are not looked at
        for address in self.addresses if hostName == "node" else (hostName,):
            receiver.addressResolved((IPv6Address if ":" in address else IPv4Address)("TCP", address, 0))
        receiver.resolutionComplete()
        return None


def upstreams(folder: Path, *addresses: str) -> tuple[Any, Any]:
    options = Options(capabilities=capabilities())
    options.parseOptions([f"--data-dir={folder}"])
    reactor: Any = MemoryReactorClock()
    reactor.installNameResolver(Names(*addresses))
    return node_upstreams(from_options(options), reactor), reactor


NODE = Location(scheme="https", host="node", port=10250)


def outcome(asking: Deferred[Any]) -> Any:
    values: list[Any] = []
    asking.addBoth(values.append)
    return values[0].value if values else None


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["10.0.0.1", "127.0.0.1"], ["::ffff:127.0.0.1"]])
def test_proxied_requests_to_local_addresses_are_refused(tmp_path: Path, addresses: list[str]) -> None:
    """No proxied request is sent if any address of the node's name is local; exec and log streams still connect
    there."""
    pool, reactor = upstreams(tmp_path, *addresses)
    asking = start(pool.proxied.fetch("GET", NODE, "/", ()))
    assert isinstance(outcome(asking), AddressNotAllowedError)
    assert not reactor.tcpClients
    assert outcome(start(pool.agents.fetch("GET", NODE, "/", ()))) is None


def test_connections_use_the_checked_address(tmp_path: Path) -> None:
    """The connection uses the address that was checked, since the name could resolve differently by then."""
    pool, reactor = upstreams(tmp_path, "10.0.0.1")
    start(pool.proxied.fetch("GET", Location(scheme="http", host="node", port=10250), "/", ()))
    reactor.advance(1)
    assert [client[:2] for client in reactor.tcpClients] == [("10.0.0.1", 10250)]
