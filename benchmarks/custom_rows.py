"""Benchmarks of custom kinds on a running API server: the cost of 500 definitions, and the delay after a changed one.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from benchmarks.load import Connection, Target, cpu, resident

if TYPE_CHECKING:
    from benchmarks.run import Bench

_JSON = "Content-Type: application/json"
_MERGE = "Content-Type: application/merge-patch+json"
#: Definitions are per run: figures must not depend on what an earlier run left.
_RUN = f"bench-{os.getpid()}"
_KINDS, _GROUPS = 500, 100


def _members(depth: int) -> dict[str, Any]:
    """Eight members, every third of them an object of eight more: some 100 in all, 14 KB of schema."""
    leaf = {"type": "string", "description": "a member that says in some words what it is there for", "pattern": "^[a-z]+$"}
    inner = {"type": "object", "description": "an object with several members of its own"}
    return {
        f"member{i}": leaf if depth == 0 or i % 3 else {**inner, "properties": _members(depth - 1)} for i in range(8)
    }


def _group(number: int) -> str:
    return f"g{number % _GROUPS}.{_RUN}.example.com"


def _definition(number: int, apis: str) -> bytes:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": _members(2)}}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": _group(number), "scope": "Namespaced", "versions": [version],
        "names": {"plural": f"things{number}", "kind": f"Thing{number}"},
    }  # fmt: skip
    metadata = {"name": f"things{number}.{_group(number)}"}
    return json.dumps(
        {"apiVersion": f"{apis}/v1", "kind": "CustomResourceDefinition", "metadata": metadata, "spec": spec}
    ).encode()


class _Asking:
    """A connection that fails on any error response."""

    def __init__(self, target: Target) -> None:
        self._connection = Connection(target)
        self._target = target

    def __call__(self, method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
        code, answer = self._connection.ask(self._target.request(method, path, body, *headers))
        if code not in (200, 201):
            raise SystemExit(f"{path}: {code} {answer[:300]!r}")
        return answer


def _apis(ask: _Asking) -> str:
    """The group of definitions, spelled as the server's dialect does."""
    groups = json.loads(ask("GET", "/apis"))["groups"]
    return str(next(group["name"] for group in groups if group["name"].startswith("apiextensions.")))


_made: dict[str, str] = {}


def custom_kinds(bench: Bench) -> tuple[float, str]:
    """500 definitions in 100 groups, each with a schema of 14 KB; then each is listed."""
    assert bench.target is not None
    ask = _Asking(bench.target)
    apis = _made["apis"] = _apis(ask)
    before, spent = _memory(bench), _cpu(bench)
    for number in range(_KINDS):
        ask("POST", f"/apis/{apis}/v1/customresourcedefinitions", _definition(number, apis), _JSON)
    spent = (_cpu(bench) - spent) / _KINDS
    for number in range(_KINDS):
        ask("GET", f"/apis/{_group(number)}/v1/namespaces/default/things{number}")
    return spent, f"{_memory(bench) - before:.0f} MB more for {_KINDS} of 14 KB, each listed"


def changed_kind(bench: Bench) -> tuple[float, str]:
    """The first object of a kind after its definition has changed, less what any other costs."""
    if not _made:
        custom_kinds(bench)
    assert bench.target is not None
    ask, apis, count = _Asking(bench.target), _made["apis"], bench.times(200)
    changed = _writes(bench, ask, apis, count, change=True)
    return changed - _writes(bench, ask, apis, count, change=False), f"with {_KINDS} definitions"


def _writes(bench: Bench, ask: _Asking, apis: str, count: int, *, change: bool) -> float:
    """CPU seconds of a create, in a kind whose definition has changed since the last one, or has not."""
    path = f"/apis/{_group(7)}/v1/namespaces/default/things7"
    spent = 0.0
    for number in range(count):
        if change:
            names = {"spec": {"names": {"shortNames": [f"s{number}"]}}}
            where = f"/apis/{apis}/v1/customresourcedefinitions/things7.{_group(7)}"
            ask("PATCH", where, json.dumps(names).encode(), _MERGE)
        obj = {
            "apiVersion": f"{_group(7)}/v1", "kind": "Thing7", "metadata": {"generateName": "x-"},
            "spec": dict.fromkeys(("member1", "member2", "member4"), "abc"),
        }  # fmt: skip
        before = _cpu(bench)
        ask("POST", path, json.dumps(obj).encode(), _JSON)
        spent += _cpu(bench) - before
    return spent / count


def _cpu(bench: Bench) -> float:
    return sum(map(cpu, bench.pids))


def _memory(bench: Bench) -> float:
    return sum(map(resident, bench.pids))
