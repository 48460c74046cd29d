"""Commands beside others who change the same objects."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from orchd.client.interfaces import ResourceRef
from orchd.client.requests import Call
from orchd.ctl.cluster.api import MERGE
from orchd.errors import ApiError
from tests.ctl.ctl_runner import Ctl
from tests.ctl.meddling import precede

CONFIG_MAPS, PODS, NODES = (
    ResourceRef("", "v1", "configmaps"),
    ResourceRef("", "v1", "pods"),
    ResourceRef("", "v1", "nodes"),
)
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, labels: {tier: one}}\ndata: {a: b}\n"
IMMUTABLE = MAP + "immutable: true\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
BINDING = """
apiVersion: rbac.authorization.{group}/v1
kind: RoleBinding
metadata: {{name: b, namespace: default}}
roleRef: {{apiGroup: rbac.authorization.{group}, kind: ClusterRole, name: {role}}}
subjects: [{{kind: Group, name: g, apiGroup: rbac.authorization.{group}}}]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """A command, and the method of its request before which another client changes the object, or puts a new one in its
    place."""

    words: tuple[str, ...]
    resource: ResourceRef
    name: str
    method: str
    replaced: bool = False
    send: str = ""


RACES = [
    Race(words=("edit", "cm/m"), resource=CONFIG_MAPS, name="m", method="PATCH"),
    Race(words=("taint", "node", "n1", "a=b:NoSchedule"), resource=NODES, name="n1", method="PATCH"),
    Race(words=("scale", "deploy/web", "--replicas=3", "--current-replicas=1"), resource=ResourceRef("apps", "v1", "deployments"), name="web", method="PATCH"),
    Race(words=("apply", "-f", "-", "--force"), resource=CONFIG_MAPS, name="fixed", method="DELETE", replaced=True,
         send=IMMUTABLE.replace("a: b", "a: c").replace("name: m,", "name: fixed,")),
    Race(words=("debug", "p", "--copy-to=q", "--image=i", "--replace", "-q"), resource=PODS, name="p", method="DELETE", replaced=True),
    Race(words=("run", "new", "--image=i", "-i", "--rm", "--pod-running-timeout=2s"), resource=PODS, name="new", method="DELETE", replaced=True),
    Race(words=("auth", "reconcile", "-f", "-"), resource=ResourceRef("rbac.authorization.{abbr}.io", "v1", "rolebindings"), name="b", method="DELETE",
         replaced=True, send=BINDING),
]  # fmt: skip


@pytest.fixture
def objects(ctl: Ctl) -> Ctl:
    group = ctl.server.dialect("{abbr}.io")
    ctl("create", "serviceaccount", "default")
    binding = BINDING.format(group=group, role="view")
    ctl(
        "create", "-f", "-", send="---\n".join((MAP, IMMUTABLE.replace("name: m,", "name: fixed,"), POD, NODE, binding))
    )
    ctl("create", "deployment", "web", "--image=nginx:1")
    ctl.edit = lambda text: text.replace("a: b", "a: mine")
    return ctl


@pytest.mark.parametrize("race", RACES, ids=[race.words[0] for race in RACES])
def test_what_changed_since_it_was_read_is_not_overwritten(
    objects: Ctl, monkeypatch: pytest.MonkeyPatch, race: Race
) -> None:
    """A command that decided by an object that it read changes or deletes that very object: with another one in its
    place, or a newer version, it fails and leaves it alone."""
    dialect = objects.server.dialect
    ref = ResourceRef(dialect(race.resource.group), race.resource.version, race.resource.plural)
    namespace = "" if ref.plural == "nodes" else "default"
    other = objects.server.client(agent="other")
    uids: list[str] = []

    async def meddle(call: Call) -> None:
        if call.method != race.method or uids:
            return
        obj = await other.get(ref, namespace, race.name)
        if race.replaced:
            await other.delete(ref, namespace, race.name, options={"gracePeriodSeconds": 0})
            metadata = {key: value for key, value in obj["metadata"].items() if key in ("name", "namespace")}
            obj = await other.create(ref, namespace, {**obj, "metadata": metadata})
        else:
            obj = await other.patch(
                ref, namespace, race.name, {"metadata": {"labels": {"theirs": "x"}}}, content_type=MERGE
            )
        uids.append(obj["metadata"]["uid"])

    precede(objects, monkeypatch, meddle)
    group = dialect("{abbr}.io")
    ran = objects(
        *race.words, send=race.send.format(group=group, role="edit") if race.send == BINDING else race.send, status=1
    )
    assert uids, "nobody came between"
    error = ran.error.lower()
    assert "uid" in error if race.replaced else "has been modified" in error, ran.error
    left = yaml.safe_load(objects("get", f"{ref.plural}/{race.name}", "-o", "yaml").out)
    assert left["metadata"]["uid"] == uids[0] and "deletionTimestamp" not in left["metadata"]
    if not race.replaced:
        assert "mine" not in json.dumps(left) and not left["spec" if ref.group == "apps" else "metadata"].get("taints")


def test_the_wait_for_an_end_ends_with_another_object_of_the_name(
    objects: Ctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deleted object is gone although another one has its name by now."""
    other = objects.server.client(agent="other")
    deleted: list[Call] = []

    async def recreate(call: Call) -> None:
        if deleted and call.method == "GET" and len(deleted) == 1:
            deleted.append(call)
            await other.create(
                CONFIG_MAPS, "default", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}
            )
        if call.method == "DELETE":
            deleted.append(call)

    precede(objects, monkeypatch, recreate)
    assert objects("delete", "cm/m").lines == ['configmap "m" deleted from default namespace']
    assert len(deleted) == 2 and objects.waited < 5


@pytest.mark.parametrize(
    ("words", "status"),
    [(("delete", "cm", "-l", "tier=one"), 0), (("delete", "cm/m"), 1), (("delete", "cm/m", "--ignore-not-found"), 0)],
)
def test_only_named_objects_must_be_there(
    objects: Ctl, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], status: int
) -> None:
    """An object that a selector chose may be deleted by others meanwhile; one that was named may not, without a
    flag."""
    other = objects.server.client(agent="other")
    deleted: list[Call] = []

    async def delete(call: Call) -> None:
        if call.method == "DELETE" and call.path.endswith("/m") and not deleted:
            deleted.append(call)
            await other.delete(CONFIG_MAPS, "default", "m")

    precede(objects, monkeypatch, delete)
    ran = objects(*words, status=status)
    assert len(deleted) == 1, "nobody came between"
    assert ran.status == status and ('configmaps "m" not found' in ran.error) == bool(status)
    assert 'configmap "m" deleted from default namespace' not in ran.out
    assert "not found" in objects("get", "cm/m", status=1).error


def test_a_pod_that_is_gone_needs_no_eviction(objects: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drain goes on when a pod has ended before its eviction."""
    objects("create", "-f", "-", send=POD.replace("name: p", "name: bound").replace("spec: {", "spec: {nodeName: n1, "))
    other = objects.server.client(agent="other")

    async def delete(call: Call) -> None:
        if call.path.endswith("/eviction"):
            await other.delete(PODS, "default", "bound", options={"gracePeriodSeconds": 0})

    precede(objects, monkeypatch, delete)
    assert objects("drain", "n1", "--force").lines[-1] == "node/n1 drained"


def test_a_watch_whose_history_is_gone_begins_again(objects: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """After 410 the objects are printed again and followed from there; another error ends the watch."""
    codes = [410, 410]

    async def expire(call: Call) -> None:
        if call.query.get("watch") and codes:
            raise ApiError(codes.pop(), "Expired", "too old resource version")

    precede(objects, monkeypatch, expire)
    objects.patience = 5
    lines = objects("get", "cm/m", "-w", "-o", "name").lines
    assert lines == ["configmap/m"] * 3
    codes.append(403)
    assert "too old resource version" in objects("get", "cm/m", "-w", status=1).error


@pytest.mark.parametrize(
    "words",
    [
        ("label", "cm", "m", "-A", "a=b"),
        ("delete", "cm", "m", "-A"),
        ("get", "cm", "m", "-A"),
        ("annotate", "cm", "m", "-A", "a=b"),
    ],
)
def test_a_name_goes_with_one_namespace(objects: Ctl, words: tuple[str, ...]) -> None:
    """A name with -A, which may mean objects of many namespaces, is refused."""
    assert "across all namespaces: leave out -A" in objects(*words, status=1).error


def test_kinds_that_need_a_version_are_replaced(objects: Ctl) -> None:
    """The version that a file does not name is read where the server asks for it, and only there."""
    group: Any = objects.server.dialect("coordination.{abbr}.io")
    lease = f"apiVersion: {group}/v1\nkind: Lease\nmetadata: {{name: l}}\nspec: {{holderIdentity: a}}\n"
    objects("create", "-f", "-", send=lease)
    assert objects("replace", "-f", "-", send=lease.replace("Identity: a", "Identity: b")).lines == [
        f"lease.{group}/l replaced"
    ]
    assert objects("get", "lease/l", "-o", "jsonpath={.spec.holderIdentity}").out == "b"
