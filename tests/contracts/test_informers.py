"""All informers pass the contract suite: the client's, the server's on its caches, and the doubles of tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from zope.interface.verify import verifyObject

from orchd.client.informers import Informers
from orchd.client.interfaces import IInformer, ResourceRef
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.testing.contracts.informer import CHECKS, InformerSubject
from orchd.testing.doubles.informers import MemoryInformer
from orchd.testing.doubles.lagging import LaggingInformer
from orchd.testing.doubles.server import InProcessServer, make_server, run

MAPS = ResourceRef("", "v1", "configmaps")
NAMESPACES = ResourceRef("", "v1", "namespaces")


def of_server(server: InProcessServer, informer: IInformer) -> InformerSubject:
    client = server.client()

    def put(obj: Object) -> None:
        name, namespace = obj["metadata"]["name"], obj["metadata"]["namespace"]
        try:
            run(client.update(MAPS, namespace, name, obj))
        except ApiError as error:
            assert error.code == 404
            run(client.create(MAPS, namespace, obj))

    def remove(namespace: str, name: str) -> None:
        run(client.delete(MAPS, namespace, name))

    def settle() -> None:
        for _ in range(5):
            server.clock.advance(0.1)

    for name in ("a", "b"):
        run(client.create(NAMESPACES, "", {"metadata": {"name": name}}))
    settle()
    return InformerSubject(informer=informer, put=put, remove=remove, settle=settle)


@pytest.fixture(params=["client", "server", "memory", "lagging"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InformerSubject]:
    if request.param in ("memory", "lagging"):
        source = MemoryInformer()
        informer: IInformer = source if request.param == "memory" else LaggingInformer(source)
        yield InformerSubject(informer=informer, put=source.put, remove=source.remove, settle=lambda: None)
        return
    server = make_server(tmp_path)
    if request.param == "server":
        yield of_server(server, server.server.objects.informers.informer(MAPS))
    else:
        informers = Informers(server.client(), server.clock, Random(1))
        informers.start()
        yield of_server(server, informers.informer(MAPS))
        run(informers.stop())
    server.stop()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_informer_passes_the_contract(subject: InformerSubject, check: Callable[[InformerSubject], None]) -> None:
    """Every informer passes every check of the contract."""
    verifyObject(IInformer, subject.informer)
    check(subject)


def test_lagging_informer_delivers_held_events_in_order() -> None:
    """What is held arrives when it is delivered, in its order, and all of it on release."""
    source = MemoryInformer()
    late = LaggingInformer(source)
    late.held = True
    for name in ("x", "y"):
        source.put({"metadata": {"name": name}})
    source.remove("", "x")
    assert (list(late.list()), late.waiting) == ([], 3)
    late.deliver(1)
    assert [obj["metadata"]["name"] for obj in late.list()] == ["x"]
    late.deliver()
    assert [obj["metadata"]["name"] for obj in late.list()] == ["y"]
