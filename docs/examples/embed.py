"""Two API servers inside one Twisted application: made, asked in process and over HTTPS, stopped.

    python docs/examples/embed.py

Each server has its own data folder, port, dialect and authority, and knows nothing of the other.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import treq
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.internet.ssl import Certificate, PrivateCertificate, optionsForClientTLS, trustRootFromCertificates
from twisted.internet.task import react
from twisted.web.client import Agent, HTTPConnectionPool
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface import implementer

from orchd.assembly.capabilities import capabilities
from orchd.assembly.server import ApiServer
from orchd.client.interfaces import ResourceRef
from orchd.config.options import from_mapping, from_options

CONFIG_MAPS = ResourceRef("", "v1", "configmaps")


def make_server(reactor: Any, folder: Path, dialect: str) -> ApiServer:
    """A server on a free port of this machine, with everything that it keeps in `folder`."""
    options = from_mapping(
        # The same names as on a command line.
        {"data-dir": str(folder), "dialect": dialect, "controllers": "-*"},
        capabilities=capabilities(),
    )
    endpoint = TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1")
    return ApiServer(from_options(options), reactor, endpoint=endpoint)


@implementer(IPolicyForHTTPS)
class Administrator:
    """Trusts a server's authority, and shows the administrator's certificate from its data folder."""

    def __init__(self, server: ApiServer) -> None:
        files = server.files.certificates
        self._trust = trustRootFromCertificates([Certificate.loadPEM(files.ca_certificate.read_bytes())])
        self._own = PrivateCertificate.loadPEM(files.admin_key.read_bytes() + files.admin_certificate.read_bytes())

    def creatorForNetloc(self, hostname: bytes, port: int) -> Any:
        return optionsForClientTLS(hostname.decode("ascii"), self._trust, self._own)


async def in_process(server: ApiServer, name: str) -> str:
    """Create an object with the server's own client: every stage of a request runs, but there is no socket."""
    made = await server.client.create(
        CONFIG_MAPS,
        "default",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}},
    )
    revision: str = made["metadata"]["resourceVersion"]
    return revision


async def over_https(reactor: Any, server: ApiServer) -> list[str]:
    """The names of the ConfigMaps that any client would see."""
    pool = HTTPConnectionPool(reactor)
    try:
        client = treq.client.HTTPClient(Agent(reactor, Administrator(server), pool=pool))
        response = await client.get(f"{server.url}/api/v1/namespaces/default/configmaps")
        listed = await response.json()
        return [item["metadata"]["name"] for item in listed["items"]]
    finally:
        await pool.closeCachedConnections()


async def run(reactor: Any, out: Any = sys.stdout) -> None:
    """Start both, use both, stop both."""
    with folders("orch", "kubernetes") as chosen:
        servers = {dialect: make_server(reactor, folder, dialect) for dialect, folder in chosen.items()}
        try:
            for server in servers.values():
                server.service.startService()
            for dialect, server in servers.items():
                # Raises what kept a server from starting.
                await server.service.wait_ready()
                revision = await in_process(server, f"from-{dialect}")
                names = await over_https(reactor, server)
                out.write(f"{dialect}: {server.url} wrote revision {revision}, lists {', '.join(sorted(names))}\n")
        finally:
            # Requests under way are completed, then the store is closed; afterwards nothing is left in the reactor.
            for server in servers.values():
                await server.service.stopService()


@contextmanager
def folders(*names: str) -> Iterator[dict[str, Path]]:
    """A temporary data folder for each name."""
    with TemporaryDirectory() as root:
        yield {name: Path(root, name) for name in names}


if __name__ == "__main__":
    react(lambda reactor: Deferred.fromCoroutine(run(reactor)))
