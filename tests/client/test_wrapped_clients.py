"""Clients around another: only of a leader, of a subset of objects, page by page; and informers in a scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from zope.interface.verify import verifyObject

from orchd.client.fenced import FencedClient
from orchd.client.interfaces import IClient, IInformer, IInformers, ResourceRef
from orchd.client.paging import list_pages
from orchd.client.scoped_informers import ScopedInformers
from orchd.client.selecting import SelectingClient
from orchd.errors import ApiError
from orchd.testing.doubles.server import run

PODS = ResourceRef("", "v1", "pods")
NODES = ResourceRef("", "v1", "nodes")


class Recording:
    """Records calls and returns the next of `results`, or the call itself: verb, arguments and options."""

    def __init__(self, *results: Any) -> None:
        self.calls: list[Any] = []
        self._results = list(results)

    def __getattr__(self, verb: str) -> Any:
        async def call(*arguments: Any, **options: Any) -> Any:
            self.calls.append((verb, arguments, options))
            return self._results.pop(0) if self._results else self.calls[-1]

        return call


READS: tuple[Any, ...] = (
    ("get", ("a", "p"), {"subresource": "scale"}),
    ("list", ("a",), {"limit": 1}),
    ("watch", ("a",), {"x": 1}),
)
WRITES: tuple[Any, ...] = (
    ("create", ("a", {}), {"dry_run": True}),
    ("update", ("a", "p", {}), {"dry_run": True}),
    ("patch", ("a", "p", {}), {"content_type": "x"}),
    ("delete", ("a", "p"), {"options": {"gracePeriodSeconds": 0}}),
    ("delete_collection", ("a",), {"label_selector": "a"}),
)


@pytest.mark.parametrize(("verb", "arguments", "options"), READS + WRITES, ids=lambda value: str(value))
def test_fenced_client_writes_for_the_leader_only(
    verb: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """A leader's calls are passed on as they are; after it lost the lock, reads alone are."""
    client: Any = Recording()
    for leading in (True, False):
        fenced = FencedClient(client, lambda leading=leading: leading)  # type: ignore[misc]  # the loop's value
        verifyObject(IClient, fenced)
        client.calls.clear()
        call = getattr(fenced, verb)(PODS, *arguments, **options)
        if leading or (verb, arguments, options) in READS:
            assert run(call) == (verb, (PODS, *arguments), options)
        else:
            with pytest.raises(ApiError, match="not the leader") as raised:
                run(call)
            assert raised.value.code == 503 and not client.calls


def test_selecting_client_adds_its_field_selector() -> None:
    client: Any = Recording()
    selecting = SelectingClient(client, field_selector="a=b")
    for verb, call in (("list", selecting.list), ("watch", selecting.watch)):
        expected = (verb, (PODS, "n"), {"field_selector": "a=b", "resource_version": "7"})
        assert run(call(PODS, "n", resource_version="7")) == expected
        assert run(call(PODS)) == (verb, (PODS, ""), {"field_selector": "a=b"})


def test_pages_are_read_until_there_is_no_token() -> None:
    """Each request has the token of the page before, the limit, and the options of the caller."""
    pages: list[Any] = [{"metadata": {"continue": "x"}}, {"metadata": {"continue": "y"}}, {"metadata": {}}]
    client: Any = Recording(*pages)

    async def read() -> Any:
        return [page async for page in list_pages(client, PODS, "a", limit=2, label_selector="b")]

    assert run(read()) == pages
    options = {"limit": 2, "label_selector": "b"}
    assert client.calls == [("list", (PODS, "a"), {**options, "continue_": token}) for token in ("", "x", "y")]


class Shared:
    """An informer that holds one pod, with the listeners that it has."""

    synced = False

    def __init__(self) -> None:
        self.listeners: list[Any] = []
        self.waits: list[str] = []
        self.indexes: dict[str, Any] = {}

    def get(self, namespace: str, name: str) -> Any:
        return (namespace, name)

    def list(self, namespace: str = "", labels: Any = None) -> Any:
        return [namespace, labels]

    def by_index(self, index: str, *values: str) -> Any:
        return [index, *values]

    def holds(self, index: str, value: str) -> bool:
        return (index, value) == ("node", "n")

    def add_index(self, index: str, function: Any) -> None:
        self.indexes[index] = function

    async def wait_synced(self) -> None:
        self.waits.append("synced")

    async def wait_delivered(self) -> None:
        self.waits.append("delivered")

    async def wait_indexed(self, index: str) -> None:
        self.waits.append(index)

    def add_listener(self, listener: Any) -> None:
        self.listeners.append(listener)

    def remove_listener(self, listener: Any) -> None:
        self.listeners.remove(listener)


class SharedInformers:
    def __init__(self) -> None:
        self.shared: dict[ResourceRef, Shared] = {}

    def informer(self, ref: ResourceRef) -> Any:
        return self.shared.setdefault(ref, Shared())


def test_scoped_informer_is_a_view_of_the_shared_one() -> None:
    """Reads, indexes and waits are those of the shared informer; a resource has one informer in a scope."""
    shared: Any = SharedInformers()
    scope = ScopedInformers(shared)
    verifyObject(IInformers, scope)
    informer = scope.informer(PODS)
    verifyObject(IInformer, informer)
    assert scope.informer(PODS) is informer and scope.informer(NODES) is not informer
    assert not informer.synced
    shared.shared[PODS].synced = True
    assert informer.synced
    assert informer.get("a", "p") == ("a", "p")
    assert informer.list("a", {"b": "c"}) == ["a", {"b": "c"}] and informer.list() == ["", None]
    assert informer.by_index("node", "n", "m") == ["node", "n", "m"]
    assert informer.holds("node", "n") and not informer.holds("node", "m")
    informer.add_index("node", str)
    assert shared.shared[PODS].indexes == {"node": str}
    for waiting in (informer.wait_synced(), informer.wait_delivered(), informer.wait_indexed("node")):
        run(waiting)
    assert shared.shared[PODS].waits == ["synced", "delivered", "node"]


def test_closed_scope_leaves_the_listeners_of_others() -> None:
    """Closing removes the listeners that were added through the scope and not removed since."""
    shared: Any = SharedInformers()
    listeners: list[Callable[..., None]] = [lambda *_: None for _ in range(4)]
    others, first, second, removed = listeners
    shared.informer(PODS).add_listener(others)
    scope = ScopedInformers(shared)
    for listener in (first, second, removed):
        scope.informer(PODS).add_listener(listener)
    scope.informer(NODES).add_listener(first)
    scope.informer(PODS).remove_listener(removed)
    assert shared.shared[PODS].listeners == [others, first, second]
    scope.close()
    assert (shared.shared[PODS].listeners, shared.shared[NODES].listeners) == ([others], [])
    scope.close()
