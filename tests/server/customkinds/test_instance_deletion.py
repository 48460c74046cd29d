"""Deletion of a custom kind's objects with their definition."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from twisted.internet.task import Clock

from orchd.dialect import ORCH
from orchd.kinds.objects.settings import ObjectSettings
from orchd.server.customkinds.controller import DefinitionController
from orchd.testing.doubles.server import run


class Definition:
    """A definition that is being deleted."""

    name, group, kind, finalizing = "things.example.com", "example.com", "the kind", False

    size = 0

    def load(self) -> dict[str, Any]:
        return {
            "metadata": {
                "name": self.name, "deletionTimestamp": "2020-01-01T00:00:00Z",
                "finalizers": ["customresourcecleanup.apiextensions.orch.io"],
            },
            "status": {},
        }  # fmt: skip


class Kinds(SimpleNamespace):
    def overlaps(self, known: Definition) -> bool:
        return False

    def served_versions(self) -> dict[Any, Any]:
        return {}

    async def settle(self) -> None:
        pass


class Client:
    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []

    async def update(self, ref: Any, namespace: str, name: str, obj: Any, **more: Any) -> Any:
        self.written.append(obj)
        return obj

    async def list(self, ref: Any) -> Any:
        return {"items": []}


class BlockedInstances:
    """Instances whose deletion the test blocks."""

    def __init__(self) -> None:
        self.attempts = 0

    async def delete(self, kind: Any) -> int:
        self.attempts += 1
        return 1


def test_removed_definition_does_not_affect_its_successor() -> None:
    """If the finalizer is removed while objects remain, those of the next definition with that name are kept."""
    clock, client, held, old = Clock(), Client(), BlockedInstances(), Definition()
    kinds: Any = Kinds(by_name={old.name: old}, settings=ObjectSettings(dialect=ORCH), changed=None)
    upkeep = DefinitionController(kinds, client, held, clock=clock, wall=lambda: 1e9)  # type: ignore[arg-type]  # as much of them as is asked
    run(upkeep.start())
    kinds.changed(old.name)
    assert held.attempts == 1 and old.finalizing
    clock.advance(1)
    assert held.attempts == 2
    kinds.by_name[old.name] = Definition()
    written = len(client.written)
    for _ in range(5):
        clock.advance(1)
    assert held.attempts == 2 and len(client.written) == written and not old.finalizing
    run(upkeep.stop())
    assert clock.getDelayedCalls() == []
