"""Both clients pass the contract suite: the in-process client and the remote one over a real socket."""

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
from orchd.client.bodies import JSON, BodyCodec
from orchd.client.interfaces import IClient, ResourceRef
from orchd.client.protobuf_bodies import ProtobufBodies
from orchd.client.remote import ClientOptions, RemoteClient
from orchd.config.options import Options, from_options
from orchd.pki import clientconfig
from orchd.testing.contracts.client import CHECKS, NAMESPACES, ClientSubject

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
    running = ApiServer(from_options(options), reactor)
    running.service.startService()
    await running.service.wait_ready()
    yield running
    await running.service.stopService()


def _remote(server: ApiServer, codec: BodyCodec = JSON, **changes: Any) -> RemoteClient:
    admin_config = clientconfig.load(server.files.certificates.admin_config)
    config = clientconfig.ClientConfig(
        server=server.url,
        authority=admin_config.authority,
        **{"certificate": admin_config.certificate, "key": admin_config.key, **changes},
    )
    return RemoteClient(config, reactor, ClientOptions(agent="contract/1", codec=codec), random=Random(1))


def _protobuf(server: ApiServer, *, responses: bool) -> ProtobufBodies:
    return ProtobufBodies(server.settings.dialect, server.settings.release, responses=responses)


@pytest_twisted.async_yield_fixture(params=["local", "certificate", "token", "protobuf bodies", "protobuf"])
async def subject(request: pytest.FixtureRequest, server: ApiServer) -> AsyncIterator[ClientSubject]:
    if request.param == "local":
        client: Any = server.client
    elif request.param == "certificate":
        client = _remote(server)
    elif request.param == "token":
        client = _remote(server, certificate=b"", key=b"", token="a-token")
    else:
        client = _remote(server, codec=_protobuf(server, responses=request.param == "protobuf"))
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


_METADATA: dict[str, Any] = {"name": "same", "labels": {"a": "b"}, "annotations": {"c": "d"}}
_TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {
        "containers": [
            {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}}}
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
}
_OBJECTS = (
    (
        ResourceRef("apps", "v1", "deployments"),
        {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE},
    ),
    (ResourceRef("batch", "v1", "jobs"), {"template": {"spec": {**_TEMPLATE["spec"], "restartPolicy": "Never"}}}),
    (ResourceRef("", "v1", "services"), {"selector": {"a": "b"}, "ports": [{"port": 80, "targetPort": "web"}]}),
    (ResourceRef("", "v1", "resourcequotas"), {"hard": {"pods": "1", "requests.cpu": "100m"}}),
)


@pytest.mark.parametrize(("ref", "spec"), _OBJECTS, ids=[ref.plural for ref, _ in _OBJECTS])
@pytest_twisted.ensureDeferred
async def test_protobuf_and_json_answers_are_equal(server: ApiServer, ref: ResourceRef, spec: dict[str, Any]) -> None:
    """An object, an item of a list and the object of a watch event have the same members in both forms."""
    namespace = f"contract-{next(_numbers)}"
    await server.client.create(NAMESPACES, "", {"metadata": {"name": namespace}})
    answers = []
    await server.client.create(ref, namespace, {"metadata": _METADATA, "spec": spec})
    for codec in (JSON, _protobuf(server, responses=True)):
        client = _remote(server, codec=codec)
        listed = await client.list(ref, namespace)
        watch = await client.watch(ref, namespace, resource_version="0")
        event = await watch.next()
        watch.close()
        answers.append([await client.get(ref, namespace, "same"), listed["items"], listed["kind"], event])
        await client.close()
    assert answers[0] == answers[1]
