"""PodSecurity: when pods and namespaces are evaluated, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchd import errors
from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import CREATE, UPDATE
from tests.server.admission.conftest import World


def test_stricter_pod_security_level_warns_of_existing_pods(world: type[World], pod: Callable[..., Object]) -> None:
    """The warnings list pods that would be rejected, those of one controller once."""
    w = world(only=["PodSecurity"])
    privileged = {"name": "c", "image": "i", "securityContext": {"privileged": True}}
    for name in ("p36", "p37"):
        w.put("pods", {"metadata": {"name": name, "namespace": "ns"}, "spec": {"containers": [privileged]}})
    old = {"metadata": {"name": "ns", "labels": {}}}
    new = {"metadata": {"name": "ns", "labels": {ORCH("pod-security.{long}.io/enforce"): "baseline"}}}
    w.run("namespaces", new, old, operation=UPDATE)
    assert w.warnings == [
        'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
        "p36 (and 1 other pod): privileged",
    ]


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        (
            {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
            ['hostPath volumes (volume "v")', 'restricted volume type "hostPath"'],
        ),
        (
            {"containers": [{"name": "c", "image": "i", "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}]},
            ["non-default capabilities", "unrestricted capabilities"],
        ),
        (
            {"securityContext": {"seLinuxOptions": {"user": "u"}}},
            ["seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: )"],
        ),
        (
            {"securityContext": {"seLinuxOptions": {"user": "u", "type": "t"}}},
            ['securityContext.seLinuxOptions: type "t"; user may not be set)'],
        ),
    ],
)
def test_restricted_pods_are_judged_by_the_baseline_too(world: type[World], spec: Object, named: list[str]) -> None:
    """At the restricted level a pod is refused with the violations of the baseline, and then with those of that
    level."""
    w = world(only=["PodSecurity"])
    label = {ORCH("pod-security.{long}.io/enforce"): "restricted"}
    w.put("namespaces", {"metadata": {"name": "ns", "labels": label}})
    new = {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    message = w.refusal("pods", new).message
    places = [message.find(text) for text in named]
    assert -1 not in places and places == sorted(places)


@pytest.mark.parametrize(
    ("change", "judged"),
    [
        ({"spec": {"containers": [{"name": "c", "image": "j"}]}}, True),
        ({"spec": {"initContainers": [{"name": "i", "image": "j"}]}}, True),
        ({"spec": {"ephemeralContainers": [{"name": "e", "image": "j"}]}}, True),
        ({"annotations": {"seccomp.security.alpha.{long}.io/pod": "unconfined"}}, True),
        ({"annotations": {"container.seccomp.security.alpha.{long}.io/c": "unconfined"}}, True),
        ({"annotations": {"example.org/a": "b"}}, False),
        ({"labels": {"a": "b"}}, False),
        ({"spec": {"activeDeadlineSeconds": 5, "tolerations": [{"operator": "Exists"}]}}, False),
    ],
)
def test_pod_security_evaluates_relevant_updates_only(world: type[World], change: Object, judged: bool) -> None:
    """Only new images, containers or profiles are evaluated; pods older than the policy may change otherwise."""
    w = world(only=["PodSecurity"])
    label = {ORCH("pod-security.{long}.io/enforce"): "restricted"}
    w.put("namespaces", {"metadata": {"name": "ns", "labels": label}})
    old: Object = {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    metadata = {**old["metadata"], "labels": change.get("labels", {})}
    metadata["annotations"] = {ORCH(key): value for key, value in change.get("annotations", {}).items()}
    new = {"metadata": metadata, "spec": {**old["spec"], **change.get("spec", {})}}
    if judged:
        assert "violates PodSecurity" in w.refusal("pods", new, old, operation=UPDATE).message
    else:
        w.run("pods", new, old, operation=UPDATE)


PREFIX = ORCH("pod-security.{long}.io/")
HOST_NETWORK: Object = {"hostNetwork": True}


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({}, ""),
        ({"defaults": {"enforce": "baseline", "enforce-version": "v1.22", "warn": "restricted"}}, ""),
        (
            {"defaults": {"enforce": "high"}},
            'defaults.enforce: Invalid value: "high": must be one of privileged, baseline, restricted',
        ),
        ({"defaults": {"audit-version": "1.22"}}, 'defaults.audit-version: Invalid value: "1.22": must be "latest" or "v1.x"'),
        ({"defaults": {"audit-version": "v1.022"}}, 'defaults.audit-version: Invalid value: "v1.022": must be "latest" or "v1.x"'),
        ({"exemptions": {"usernames": ["a", ""]}}, 'exemptions.usernames[1]: Invalid value: "": username must not be empty'),
        ({"exemptions": {"namespaces": ["a", "b", "a"]}}, 'exemptions.namespaces[2]: Duplicate value: "a"'),
        ({"exemptions": {"namespaces": ["A"]}}, 'exemptions.namespaces[0]: Invalid value: "A": a lowercase RFC 1123 label'),
        ({"exemptions": {"runtimeClasses": ["a.b", "a..b"]}}, 'exemptions.runtimeClasses[1]: Invalid value: "a..b": a lowercase RFC'),
    ],
)  # fmt: skip
def test_configuration_of_pod_security(world: type[World], section: Object, problem: str) -> None:
    """The start fails with the path of a wrong default or exemption."""
    if not problem:
        world(only=["PodSecurity"], configurations={"PodSecurity": section})
        return
    with pytest.raises(ValueError) as caught:
        world(only=["PodSecurity"], configurations={"PodSecurity": section})
    assert str(caught.value).startswith(f"PodSecurity: {problem}")


@pytest.mark.parametrize(
    ("exemptions", "spec", "by"),
    [
        ({"usernames": ["admin"]}, {}, "user"),
        ({"namespaces": ["ns"]}, {}, "namespace"),
        ({"runtimeClasses": ["r"]}, {"runtimeClassName": "r"}, "runtimeClass"),
        ({"namespaces": ["ns"], "usernames": ["admin"]}, {}, "namespace"),
        ({"usernames": ["other"], "namespaces": ["other"], "runtimeClasses": ["r"]}, {}, ""),
    ],
)
def test_exempt_pods(world: type[World], pod: Callable[..., Object], exemptions: Object, spec: Object, by: str) -> None:
    """A pod of an exempt user, namespace or runtime class is not evaluated; an annotation and a metric tell."""
    configuration = {"defaults": {"enforce": "baseline"}, "exemptions": exemptions}
    w = world(only=["PodSecurity"], configurations={"PodSecurity": configuration})
    evaluations, exempt, _ = (each.values for each in w.chain.plugins[0].instruments)  # type: ignore[attr-defined]
    new = pod(**HOST_NETWORK, **spec)
    if by:
        w.run("pods", new)
        assert w.notes == {f"{PREFIX}exempt": by}
        assert not evaluations and exempt == {("create", "pod", ""): 1}
    else:
        assert "violates PodSecurity" in w.refusal("pods", new).message
        assert not exempt and sum(evaluations.values()) == 1


@pytest.mark.parametrize(
    ("labels", "notes", "warnings", "refused"),
    [
        ({}, {"enforce-policy": "privileged:latest"}, [], False),
        ({"enforce": "privileged"}, {"enforce-policy": "privileged:latest"}, [], False),
        (
            {"enforce": "privileged", "audit": "baseline", "warn": "baseline", "warn-version": "v1.22"},
            {
                "enforce-policy": "privileged:latest",
                "audit-violations": 'would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
            },
            ['would violate PodSecurity "baseline:v1.22": host namespaces (hostNetwork=true)'],
            False,
        ),
        ({"enforce": "baseline", "warn": "baseline"}, {"enforce-policy": "baseline:latest"}, [], True),
        ({"enforce": "unknown"}, {"enforce-policy": "restricted:latest"}, [], True),
        ({"warn": "unknown"}, {"enforce-policy": "privileged:latest"}, [], False),
        ({"enforce": "baseline", "enforce-version": "v1.99"}, {"enforce-policy": "baseline:v1.99"}, [], True),
        ({"enforce": "baseline", "enforce-version": "x"}, {"enforce-policy": "baseline:latest"}, [], True),
    ],
)
def test_modes_of_pod_security(
    world: type[World], pod: Callable[..., Object], labels: Object, notes: Object, warnings: list[str], refused: bool
) -> None:
    """What is enforced rejects, audit annotates and warn warns of pods that are accepted; a level that is not known is
    the strictest when it is enforced, and none otherwise."""
    w = world(only=["PodSecurity"])
    w.namespace("ns", labels={PREFIX + key: value for key, value in labels.items()})
    if refused:
        error = w.refusal("pods", pod(**HOST_NETWORK))
        assert f'violates PodSecurity "{notes["enforce-policy"]}": host namespaces' in error.message
    else:
        w.run("pods", pod(**HOST_NETWORK))
    assert w.notes == {PREFIX + key: value for key, value in notes.items()}
    assert w.warnings == warnings


@pytest.mark.parametrize(
    ("version", "counted"), [("", "latest"), ("v1.22", "v1.22"), ("v1.23", "v1.23"), ("v1.24", "future")]
)
def test_versions_in_metrics(world: type[World], pod: Callable[..., Object], version: str, counted: str) -> None:
    """Versions after that of the server are counted together."""
    w = world(only=["PodSecurity"])
    labels = {f"{PREFIX}enforce": "baseline", **({f"{PREFIX}enforce-version": version} if version else {})}
    w.namespace("ns", labels=labels)
    w.run("pods", pod())
    (evaluations, *_) = (each.values for each in w.chain.plugins[0].instruments)  # type: ignore[attr-defined]
    assert evaluations == {("allow", "baseline", counted, "enforce", "create", "pod", ""): 1}


def test_pods_in_namespaces_that_are_not_there(world: type[World], pod: Callable[..., Object]) -> None:
    """The namespace is read if the informer does not have it; without one the pod is rejected, which is an error."""
    w = world(only=["PodSecurity"])
    error = w.refusal("pods", pod(), namespace="gone")
    assert (error.code, error.message) == (403, 'pods "p" is forbidden: failed to lookup namespace "gone"')
    *_, failures = (each.values for each in w.chain.plugins[0].instruments)  # type: ignore[attr-defined]
    assert failures == {("true", "create", "pod", ""): 1}


def test_namespaces_that_cannot_be_read(
    world: type[World], pod: Callable[..., Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write fails as the read did."""
    w = world(only=["PodSecurity"])

    async def broken(*args: Any, **more: Any) -> Object:
        raise errors.internal("no store")

    monkeypatch.setattr(w.client, "get", broken)
    error = w.refusal("pods", pod(), namespace="gone")
    assert error.code == 500 and "no store" in error.message


@pytest.mark.parametrize(
    ("before", "after", "warned"),
    [
        ({}, {"enforce": "baseline"}, True),
        ({"enforce": "baseline"}, {"enforce": "baseline"}, False),
        ({"enforce": "restricted"}, {"enforce": "baseline"}, False),
        ({"enforce": "restricted"}, {"enforce": "baseline", "enforce-version": "v1.22"}, True),
        ({"enforce": "baseline"}, {"enforce": "privileged"}, False),
        ({"enforce": "baseline"}, {"enforce": "restricted"}, True),
    ],
)
def test_changed_levels_are_checked_when_they_may_refuse_more(
    world: type[World], before: Object, after: Object, warned: bool
) -> None:
    """Existing pods are not looked at for a lower level of the same version, or one that refuses nothing."""
    w = world(only=["PodSecurity"], configurations={"PodSecurity": {"exemptions": {"runtimeClasses": ["r"]}}})
    controlled = [{"uid": "u", "controller": True}]
    base: Object = {"containers": [{"name": "c", "image": "i"}], **HOST_NETWORK}
    for name, metadata, spec in (
        ("a", {"ownerReferences": controlled}, {}),
        ("b", {"ownerReferences": controlled}, {}),
        ("c", {"ownerReferences": [{"uid": "v", "controller": True}]}, {}),
        ("d", {}, {"runtimeClassName": "r"}),
    ):
        w.put("pods", {"metadata": {"name": name, "namespace": "n", **metadata}, "spec": {**base, **spec}})
    old, new = (
        {"metadata": {"name": "n", "labels": {PREFIX + key: value for key, value in labels.items()}}}
        for labels in (before, after)
    )
    w.run("namespaces", new, old, operation=UPDATE)
    assert [text.partition(":")[0] for text in w.warnings[1:]] == (["a (and 1 other pod)"] if warned else [])


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        (None, {"enforce": "x"}, True),
        ({}, {"enforce": "x"}, True),
        ({"enforce": "y"}, {"enforce": "x"}, False),
        ({}, {"warn-version": "2"}, True),
        ({}, {"enforce": "baseline"}, False),
    ],
)
def test_invalid_labels_of_namespaces(world: type[World], old: Object | None, new: Object, refused: bool) -> None:
    """Invalid levels and versions are refused, unless the namespace had invalid ones before."""
    w = world(only=["PodSecurity"])
    objects = [
        labels if labels is None else {"metadata": {"name": "n", "labels": {PREFIX + k: v for k, v in labels.items()}}}
        for labels in (new, old)
    ]
    operation = CREATE if old is None else UPDATE
    if refused:
        assert w.refusal("namespaces", *objects, operation=operation).code == 422
    else:
        w.run("namespaces", *objects, operation=operation)


@pytest.mark.parametrize(
    ("labels", "counted"),
    [
        ({"enforce": "privileged", "enforce-version": "v1.22"}, [("allow", "privileged", "latest", "enforce")]),
        (
            {"enforce": "privileged", "audit": "baseline", "warn": "restricted", "warn-version": "v1.22"},
            [("allow", "privileged", "latest", "enforce"), ("deny", "baseline", "latest", "audit"), ("deny", "restricted", "v1.22", "warn")],
        ),
        ({"enforce": "baseline", "warn": "baseline"}, [("deny", "baseline", "latest", "enforce")]),
    ],
)  # fmt: skip
def test_evaluations_are_counted(
    world: type[World], pod: Callable[..., Object], labels: Object, counted: list[tuple[str, ...]]
) -> None:
    """By decision, level, version and mode; warnings of a rejected pod are not given."""
    w = world(only=["PodSecurity"])
    w.namespace("ns", labels={PREFIX + key: value for key, value in labels.items()})
    if labels["enforce"] == "baseline":
        w.refusal("pods", pod(**HOST_NETWORK))
    else:
        w.run("pods", pod(**HOST_NETWORK))
    (evaluations, *_) = (each.values for each in w.chain.plugins[0].instruments)  # type: ignore[attr-defined]
    assert evaluations == {(*each, "create", "pod", ""): 1 for each in counted}


def test_namespaces_with_many_pods(world: type[World], pod: Callable[..., Object]) -> None:
    """The first 3000 pods by name are looked at, and the warning says so."""
    w = world(only=["PodSecurity"])
    for number in range(3000):
        w.put("pods", {"metadata": {"name": f"p{number:04}", "namespace": "n"}, "spec": {"containers": []}})
    old, new = (
        {"metadata": {"name": "n", "labels": {f"{PREFIX}enforce": level}}} for level in ("privileged", "baseline")
    )
    w.put("pods", {"metadata": {"name": "p2999", "namespace": "n"}, "spec": {"containers": [], **HOST_NETWORK}})
    w.run("namespaces", new, old, operation=UPDATE)
    assert w.warnings[1:] == ["p2999: host namespaces"]
    w.warnings.clear()
    w.put("pods", {"metadata": {"name": "q", "namespace": "n"}, "spec": {"containers": [], **HOST_NETWORK}})
    w.run("namespaces", new, old, operation=UPDATE)
    assert w.warnings[1:] == [
        "new PodSecurity enforce level only checked against the first 3000 of 3001 existing pods",
        "p2999: host namespaces",
    ]
