"""Benchmarks of custom kinds on a running API server: the cost of 500 definitions, and the delay after a changed
one."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from benchmarks.bench import Bench
from benchmarks.load import Connection, Target, cpu, resident
from orchd.dialect import DIALECTS

_JSON = "Content-Type: application/json"
_MERGE = "Content-Type: application/merge-patch+json"
#: Definitions are per run: figures must not depend on what an earlier run left.
_RUN = f"bench-{os.getpid()}"
_KINDS, _GROUPS = 500, 100


def _members(depth: int) -> dict[str, Any]:
    """Eight members, every third of them an object of eight more: some 100 in all, 14 KB of schema."""
    leaf = {
        "type": "string",
        "description": "a member that says in some words what it is there for",
        "pattern": "^[a-z]+$",
    }
    inner = {"type": "object", "description": "an object with several members of its own"}
    return {
        f"member{i}": leaf if depth == 0 or i % 3 else {**inner, "properties": _members(depth - 1)} for i in range(8)
    }


def _group(number: int) -> str:
    return f"g{number % _GROUPS}.{_RUN}.example.com"


def _definition(number: int, apis: str) -> bytes:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": _members(2)}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
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
        code, response = self._connection.ask(self._target.request(method, path, body, *headers))
        if code not in (200, 201):
            raise SystemExit(f"{path}: {code} {response[:300]!r}")
        return response

    def until_served(self, path: str) -> None:
        """Wait until a path is served, at most ten seconds."""
        ends = time.monotonic() + 10
        while self._connection.ask(self._target.request("GET", path))[0] == 404 and time.monotonic() < ends:
            time.sleep(0.05)


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


#: Rules as published definitions have them: bounds, choices, members that belong together, and all items of a list.
_RULES = (
    "self.replicas >= 0 && self.replicas <= self.limit",
    "!has(self.mode) || self.mode in ['fast', 'safe']",
    "has(self.mode) == has(self.name)",
    "self.ports.all(p, p.port > 0 && p.port < 65536)",
    "self.name.startsWith('a') && size(self.name) < 20",
)


def _ruled_definition(plural: str, apis: str, rules: int) -> bytes:
    port = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}, "port": {"type": "integer"}}}
    text = {"type": "string", "maxLength": 40}
    properties = {
        "replicas": {"type": "integer"}, "limit": {"type": "integer"}, "mode": text, "name": text,
        "ports": {"type": "array", "maxItems": 20, "items": port},
    }  # fmt: skip
    spec: dict[str, Any] = {"type": "object", "properties": properties}
    if rules:
        dialect = next(each for each in DIALECTS.values() if each("apiextensions.{abbr}.io") == apis)
        word = dialect("x-{long}-validations")
        spec[word] = [{"rule": f"{_RULES[n % len(_RULES)]} || self.replicas == {n + 1000}"} for n in range(rules)]
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    group = f"rules.{_RUN}.example.com"
    names = {"plural": plural, "kind": plural.capitalize()}
    return json.dumps(
        {
            "apiVersion": f"{apis}/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "versions": [version], "names": names},
        }
    ).encode()


def ruled_kind(bench: Bench) -> tuple[float, str]:
    """A CREATE in a kind with 20 rules, less one in a kind without any."""
    assert bench.target is not None
    ask, count = _Asking(bench.target), bench.times(500)
    apis = _apis(ask)
    spent = {"plains": 1.0, "ruleds": 1.0}
    for plural, rules in (("plains", 0), ("ruleds", 20)):
        ask("POST", f"/apis/{apis}/v1/customresourcedefinitions", _ruled_definition(plural, apis, rules), _JSON)
    for turn in range(3):
        for plural in spent:
            path = f"/apis/rules.{_RUN}.example.com/v1/namespaces/default/{plural}"
            ask.until_served(path)
            before = _cpu(bench)
            for number in range(count):
                ask("POST", path, _ruled_object(plural.capitalize(), f"x-{turn}-{number}"), _JSON)
            spent[plural] = min(spent[plural], (_cpu(bench) - before) / count)
    return spent["ruleds"] - spent["plains"], f"of {spent['ruleds'] * 1e6:,.0f} us"


def _ruled_object(kind: str, name: str) -> bytes:
    spec = {
        "replicas": 3,
        "limit": 5,
        "mode": "fast",
        "name": "abc",
        "ports": [{"name": "a", "port": 80}, {"port": 443}],
    }
    metadata = {"name": name}
    return json.dumps(
        {"apiVersion": f"rules.{_RUN}.example.com/v1", "kind": kind, "metadata": metadata, "spec": spec}
    ).encode()


def _cpu(bench: Bench) -> float:
    return sum(map(cpu, bench.pids))


def _memory(bench: Bench) -> float:
    return sum(map(resident, bench.pids))
