"""Recorded rejections and warnings: with the case's objects the messages are the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.users import User
from orchd.testing.doubles.informers import MemoryInformer
from tests.server.admission.conftest import World

_PATH = re.compile(r"/apis?/(?:([^/]+\.[^/]+|apps|batch)/)?(v\w+)(?:/namespaces/([^/]+))?/([a-z]+)$")
_LABELS = {
    "psa-b": {"enforce": "baseline"},
    "psa-r": {"enforce": "restricted"},
    "psa-rv": {"enforce": "restricted", "enforce-version": "v1.22"},
    "psa-w": {"warn": "restricted"},
}
_PLUGINS = (
    "PodSecurity",
    "ResourceQuota",
    "LimitRange",
    "plugin:SecurityContextDeny",
    "plugin:NodeRestriction",
    "plugin:LimitPodHardAntiAffinityTopology",
    "plugin:DenyServiceExternalIPs",
    "Pod",
)
# The registry's pod strategy converts the annotation of this case to a field before admission.
_ELSEWHERE = ("PodSecurity/baseline-seccomp-annotation",)
_POD_CASES = re.compile(r"Pod/(serviceAccountName-|priority|preemption|runtimeClass-missing|overhead-without)")


def cases(reference: Callable[[str], Any]) -> Iterator[Any]:
    for case in reference("validation")["cases"]:
        request, response = case["req"], case["ans"]
        area = case["id"].split("/")[0]
        if case["id"] in _ELSEWHERE or area not in _PLUGINS or (area == "Pod" and not _POD_CASES.match(case["id"])):
            continue
        if request["m"] == "POST" and _PATH.match(request["p"]) and (response["code"] == 403 or area == "PodSecurity"):
            yield case


def parts_of(path: str) -> tuple[str, str, str, str]:
    """(group, version, namespace, plural) of the path of a create; group and namespace may be None."""
    match = _PATH.match(path)
    assert match is not None, path
    group, version, namespace, plural = match.groups()
    return group, version, namespace, plural


def put(world: World, setup: Any) -> None:
    match = _PATH.match(setup["p"])
    if match and setup["m"] == "POST":
        group, version, namespace, plural = match.groups()
        body = setup["body"]
        meta = {**body["metadata"], **({"namespace": namespace} if namespace else {})}
        world.put(plural, {**body, "metadata": meta}, group or "", version)
    elif setup.get("live_with"):
        path = setup["p"].removesuffix("/status")
        base, name = path.rsplit("/", 1)
        _, _, namespace, plural = parts_of(base)
        (held,) = [o for o in informer_of(world, plural).list(namespace) if o["metadata"]["name"] == name]
        world.put(plural, {**held, **setup["live_with"]})


def informer_of(world: World, plural: str) -> MemoryInformer:
    return world.informers.informer(ResourceRef("", "v1", plural))


def test_recorded_refusals_and_warnings(reference: Callable[[str], Any], world: type[World]) -> None:
    """Every recorded create that a plugin rejects or warns about has the recorded message."""
    seen = 0
    wrong = []
    for case in cases(reference):
        request, response = case["req"], case["ans"]
        group, version, namespace, plural = parts_of(request["p"])
        plugin = case["id"].split("/")[0].removeprefix("plugin:")
        enable = [plugin] if case["id"].startswith("plugin:") else []
        case_world = world(enable=enable)
        labels = {ORCH("pod-security.{long}.io/") + k: v for k, v in _LABELS.get(namespace, {}).items()}
        if namespace:
            case_world.namespace(namespace, labels)
        for setup in case.get("setup") or ():
            put(case_world, setup)
        headers = request.get("headers") or {}
        user = User(name=headers.get("Impersonate-User", "admin"), groups=(headers.get("Impersonate-Group", ""),))
        try:
            case_world.run(
                plural, request["body"], group=group or "", version=version, namespace=namespace or "", user=user
            )
            message = None
        except ApiError as error:
            message = error.message
        expected = response.get("message") if response["code"] >= 400 else None
        if expected is not None and "cannot create resource" in expected:
            continue
        seen += 1
        if message != expected:
            wrong.append((case["id"], message, expected))
        shown = ", ".join('299 - "' + w.replace('"', '\\"') + '"' for w in case_world.warnings)
        if response["code"] < 400 and plural != "namespaces" and shown != (response.get("warning") or ""):
            wrong.append((case["id"], shown, response.get("warning")))
    assert not wrong
    assert seen > 40


@pytest.mark.parametrize("level", ["x", ""])
def test_unknown_pod_security_level_is_invalid(world: type[World], level: str) -> None:
    """A namespace with an unknown level is rejected."""
    labels = {ORCH("pod-security.{long}.io/enforce"): level}
    error = world().refusal("namespaces", {"metadata": {"name": "n", "labels": labels}})
    assert error.code == 422
    assert f'Invalid value: "{level}": must be one of privileged, baseline, restricted' in error.message
