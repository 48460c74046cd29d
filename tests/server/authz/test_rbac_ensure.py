"""Writing the default roles through a client, and properties of rule coverage."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from orchd import errors
from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.rule_coverage import breakdown, rule_covers, uncovered
from orchd.kinds.users import User
from orchd.server.authz.bootstrap_policy import bootstrap_objects, ensure
from orchd.server.authz.compiled_rules import CompiledRules
from orchd.server.authz.interfaces import Action
from orchd.testing.doubles.results import result_of
from orchd.txkit.coroutines import start


class Client:
    """Stores objects; if `racing`, the first update of each object conflicts. `calls` are its reads and writes of one
    object."""

    def __init__(self, racing: bool = False) -> None:
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.racing = racing
        self.lost: set[tuple[str, str, str]] = set()
        self.calls: list[str] = []

    async def get(self, ref: ResourceRef, namespace: str, name: str) -> Object:
        key = (ref.plural, namespace, name)
        self.calls.append("get")
        if key not in self.objects:
            raise errors.not_found(ref.group, ref.plural, name)
        return self.objects[key]

    async def list(self, ref: ResourceRef) -> Object:
        return {"items": [each for (plural, _, _), each in self.objects.items() if plural == ref.plural]}

    async def create(self, ref: ResourceRef, namespace: str, obj: Object, *, need_response: bool = True) -> None:
        key = (ref.plural, namespace, obj["metadata"]["name"])
        self.calls.append("create")
        if key in self.objects:
            raise errors.already_exists(ref.group, *key[::2])
        self.objects[key] = obj

    async def update(self, ref: ResourceRef, namespace: str, name: str, obj: Object) -> None:
        key = (ref.plural, namespace, name)
        self.calls.append("update")
        if self.racing and key not in self.lost:
            self.lost.add(key)
            raise errors.conflict(ref.group, ref.plural, name, errors.MODIFIED)
        self.objects[key] = obj

    async def delete(self, ref: ResourceRef, namespace: str, name: str) -> None:
        self.calls.append("delete")
        del self.objects[(ref.plural, namespace, name)]


def test_defaults_are_written_once() -> None:
    """The first start writes every object, the next one nothing; a damaged role is restored, also after a conflict."""
    client = Client(racing=True)
    # It implements the methods that are called.
    partial: Any = client
    assert result_of(ensure(partial, ORCH)) == len(bootstrap_objects(ORCH))
    assert result_of(ensure(partial, ORCH)) == 0
    key = ("clusterroles", "", "cluster-admin")
    client.objects[key] = {**client.objects[key], "rules": []}
    assert result_of(ensure(partial, ORCH)) == 1
    assert len(client.objects[key]["rules"]) == 2 and client.lost == {key}


_ADMIN = ("clusterrolebindings", "", "cluster-admin")


def _damaged(client: Client) -> Any:
    """`client` with all defaults, of which one binding has lost its subjects."""
    partial: Any = client
    result_of(ensure(partial, ORCH))
    client.objects[_ADMIN] = {**client.objects[_ADMIN], "subjects": []}
    client.calls.clear()
    return partial


class BusyClient(Client):
    """A client whose updates fail with `error`; `gone`: the first one finds that the object was deleted."""

    def __init__(self, error: errors.ApiError, gone: bool = False) -> None:
        super().__init__()
        self.error = error
        self.gone = gone

    async def update(self, ref: ResourceRef, namespace: str, name: str, obj: Object) -> None:
        self.calls.append("update")
        if self.gone:
            del self.objects[(ref.plural, namespace, name)]
        raise self.error


_CONFLICT = errors.conflict("", "", "", errors.MODIFIED)


@pytest.mark.parametrize(
    ("error", "calls"),
    [
        (_CONFLICT, ["update", "get", "update", "get", "update"]),
        (errors.forbidden("", "", "", ""), ["update"]),
        (errors.unavailable("no store"), ["update"]),
    ],
)
def test_conflicts_are_retried_twice(error: errors.ApiError, calls: list[str]) -> None:
    """The third conflict, and any other error at once, is raised."""
    client = BusyClient(error)
    with pytest.raises(errors.ApiError) as caught:
        result_of(ensure(_damaged(client), ORCH))
    assert caught.value is error and client.calls == calls


def test_an_object_deleted_meanwhile_is_created_again() -> None:
    """An update that conflicts since the object is gone becomes a create."""
    client = BusyClient(_CONFLICT, gone=True)
    assert result_of(ensure(_damaged(client), ORCH)) == 1
    assert client.calls == ["update", "get", "create"] and len(client.objects[_ADMIN]["subjects"]) == 1


def test_a_binding_to_another_role_is_replaced() -> None:
    """roleRef is immutable: the binding is deleted, and created with its labels but without its identity."""
    client = Client()
    partial = _damaged(client)
    bound = client.objects[_ADMIN]
    metadata = {**bound["metadata"], "labels": {"a": "b"}, "uid": "u", "resourceVersion": "7"}
    client.objects[_ADMIN] = {**bound, "roleRef": {**bound["roleRef"], "name": "x"}, "metadata": metadata}
    assert result_of(ensure(partial, ORCH)) == 1
    assert client.calls == ["delete", "create"]
    written = client.objects[_ADMIN]
    assert written["roleRef"]["name"] == "cluster-admin" and written["metadata"]["labels"]["a"] == "b"
    assert not {"uid", "resourceVersion"} & set(written["metadata"])


class SlowClient(Client):
    """A client whose writes complete when the test releases them."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[Deferred[None]] = []

    async def create(self, ref: ResourceRef, namespace: str, obj: Object, *, need_response: bool = True) -> None:
        self.waiting.append(Deferred())
        await self.waiting[-1]
        await super().create(ref, namespace, obj, need_response=need_response)


class OvertakenClient(Client):
    """A client for which another server creates each object first."""

    async def create(self, ref: ResourceRef, namespace: str, obj: Object, *, need_response: bool = True) -> None:
        await super().create(ref, namespace, obj, need_response=need_response)
        raise errors.already_exists(ref.group, ref.plural, obj["metadata"]["name"])


def test_two_servers_at_once() -> None:
    """Objects that another server has created meanwhile are accepted."""
    client = OvertakenClient()
    partial: Any = client
    assert result_of(ensure(partial, ORCH)) == 0
    assert len(client.objects) == len(bootstrap_objects(ORCH))


def test_defaults_are_written_concurrently() -> None:
    """Writes are concurrent, so that they share commits."""
    client = SlowClient()
    partial: Any = client
    running, count = start(ensure(partial, ORCH)), len(bootstrap_objects(ORCH))
    commits = 0
    while not running.called:
        waiting, client.waiting = client.waiting, []
        commits += 1
        for each in waiting:
            each.callback(None)
    assert commits <= 3 < count == len(client.objects)


_words = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=2, unique=True)
_resources = st.lists(st.sampled_from(["r", "r/s", "*/s", "*"]), min_size=1, max_size=2, unique=True)
_names = st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True)
_rules = st.builds(
    lambda verbs, groups, resources, names: {
        "verbs": verbs, "apiGroups": groups, "resources": resources, **({"resourceNames": names} if names else {})
    },
    _words, _words, _resources, _names,
)  # fmt: skip
_actions = [
    Action(user=User(name="u"), verb=verb, group=group, resource=resource, subresource=sub, name=name)
    for verb in ("a", "b", "c")
    for group in ("a", "c")
    for resource in ("r", "q")
    for sub in ("", "s")
    for name in ("", "x", "z")
]


@settings(max_examples=200, deadline=None)
@given(st.lists(_rules, max_size=3), _rules)
def test_covered_rule_allows_no_more_actions(held: Any, granted: Any) -> None:
    """If no part of a rule is uncovered, the held rules allow every action that it allows."""
    if not uncovered(held, [granted]):
        mine, theirs = CompiledRules(held), CompiledRules([granted])
        assert all(mine.allow(action) for action in _actions if theirs.allow(action))


@settings(max_examples=200, deadline=None)
@given(st.lists(_rules, max_size=3), st.lists(_rules, max_size=3))
def test_uncovered_parts_are_reported(held: Any, granted: Any) -> None:
    """The reported parts are those that no held rule covers, also if a rule is held as it is."""
    expected = [
        part for rule in granted for part in breakdown(rule) if not any(rule_covers(each, part) for each in held)
    ]
    assert uncovered(held, granted) == expected
    assert uncovered([*held, *granted], granted) == []


@settings(max_examples=200, deadline=None)
@given(st.lists(_rules, min_size=1, max_size=4))
def test_compiled_role_allows_what_its_rules_allow(rules: Any) -> None:
    """A compiled role allows exactly what one of its rules allows."""
    together = CompiledRules(rules)
    alone = [CompiledRules([rule]) for rule in rules]
    for action in _actions:
        assert together.allow(action) == any(one.allow(action) for one in alone)
