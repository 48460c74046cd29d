"""Both clients pass the contract suite: the one in process and the one over a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from zope.interface.verify import verifyObject

from orchd.assembly.capabilities import capabilities
from orchd.assembly.server import ApiServer
from orchd.client.bodies import BodyEncoder, ProtobufBodies, json_body
from orchd.client.interfaces import IClient
from orchd.client.remote import RemoteClient
from orchd.config import settings
from orchd.config.options import Options
from orchd.pki import clientconfig
from orchd.testing.client_contract import CHECKS, NAMESPACES, ClientSubject

_numbers = count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest_twisted.async_yield_fixture(scope="module")
async def server(folder: Path) -> AsyncIterator[ApiServer]:
    (folder / "tokens.csv").write_text('a-token,tester,1,"system:masters"\n')
    options = Options(capabilities=capabilities())
    options.parseOptions(
        [
            f"--data-dir={folder}",
            "--bind-address=127.0.0.1",
            "--secure-port=0",
            "--controllers=-*",
            f"--token-auth-file={folder / 'tokens.csv'}",
        ]
    )
    running = ApiServer(settings.from_options(options), reactor)
    running.service.startService()
    await running.service.wait_ready()
    yield running
    await running.service.stopService()


def _remote(server: ApiServer, encode: BodyEncoder = json_body, **changes: Any) -> RemoteClient:
    made = clientconfig.load(server.files.made.admin_config)
    config = clientconfig.ClientConfig(
        server=server.url,
        authority=made.authority,
        **{"certificate": made.certificate, "key": made.key, **changes},
    )
    return RemoteClient(config, reactor, agent="contract/1", random=Random(1), encode=encode)


@pytest_twisted.async_yield_fixture(params=["local", "certificate", "token", "protobuf"])
async def subject(request: pytest.FixtureRequest, server: ApiServer) -> AsyncIterator[ClientSubject]:
    if request.param == "local":
        client: Any = server.client
    elif request.param == "certificate":
        client = _remote(server)
    elif request.param == "token":
        client = _remote(server, certificate=b"", key=b"", token="a-token")
    else:
        client = _remote(server, encode=ProtobufBodies(server.settings.dialect))
    verifyObject(IClient, client)
    namespace = f"contract-{next(_numbers)}"
    await client.create(NAMESPACES, "", {"metadata": {"name": namespace}})
    yield ClientSubject(client=client, namespace=namespace, reactor=reactor)
    if isinstance(client, RemoteClient):
        await client.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest_twisted.ensureDeferred
async def test_client_passes_the_contract(check: Any, subject: ClientSubject) -> None:
    """The check's own docstring states the fact."""
    await check(subject)
