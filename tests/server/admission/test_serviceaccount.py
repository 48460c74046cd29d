"""ServiceAccount: accounts, tokens and secrets of pods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from orchd import errors
from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.server.admission.builtin import make_chain
from orchd.testing.doubles.results import result_of
from orchd.txkit.compute_thread import LARGE, ComputeThread
from tests.server.admission.conftest import World, admit_review, validate_review


def test_pods_get_a_service_account_and_token(world: type[World], pod: Callable[..., Object]) -> None:
    """A pod gets the default service account, its token in every container and its pull secrets; existing settings
    stay."""
    w = world(only=["ServiceAccount"])
    w.put(
        "serviceaccounts", {"metadata": {"name": "default", "namespace": "ns"}, "imagePullSecrets": [{"name": "pull"}]}
    )
    given = pod(initContainers=[{"name": "i", "image": "i"}])
    spec = w.run("pods", given)["spec"]
    assert spec["serviceAccountName"] == "default" and spec["imagePullSecrets"] == [{"name": "pull"}]
    (volume,) = spec["volumes"]
    assert volume["name"] == ORCH("{short}-api-access-xxxxx")
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    assert volume["projected"] == {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": ORCH("{short}-root-ca.crt"), "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
    }
    mount = {"name": volume["name"], "readOnly": True, "mountPath": ORCH("/var/run/secrets/{long}.io/serviceaccount")}
    for key in ("containers", "initContainers"):
        assert spec[key][0]["volumeMounts"] == [mount]
    assert "volumeMounts" not in given["spec"]["containers"][0]


def test_token_of_large_pods_is_mounted_away_from_the_reactor(world: type[World], pod: Callable[..., Object]) -> None:
    """A pod may have thousands of containers, each of which gets a mount."""
    called: list[str] = []

    async def in_thread(function: Any, *arguments: Any) -> Any:
        called.append(function.__name__)
        return function(*arguments)

    w = world(only=["ServiceAccount"])
    runtime = replace(w.context.runtime, compute=ComputeThread(in_thread))
    chain = make_chain(replace(w.context, runtime=runtime), ["ServiceAccount"])
    w.put("serviceaccounts", {"metadata": {"name": "default", "namespace": "ns"}})
    for size in (LARGE, LARGE + 1):
        review = w.review("pods", pod())
        review.size = size
        result_of(admit_review(chain, review))
        assert review.written["spec"]["volumes"]
    assert len(called) == 1


def test_token_automount_settings(world: type[World], pod: Callable[..., Object]) -> None:
    """The pod's setting overrides the account's; an existing mount at the path is kept."""
    w = world(only=["ServiceAccount"])
    assert "volumes" not in w.run("pods", pod(automountServiceAccountToken=False))["spec"]
    w.put("serviceaccounts", {"metadata": {"name": "q", "namespace": "ns"}, "automountServiceAccountToken": False})
    assert "volumes" not in w.run("pods", pod(serviceAccountName="q"))["spec"]
    assert "volumes" in w.run("pods", pod(serviceAccountName="q", automountServiceAccountToken=True))["spec"]
    own = pod()
    path = ORCH("/var/run/secrets/{long}.io/serviceaccount")
    own["spec"]["containers"][0]["volumeMounts"] = [{"name": "x", "mountPath": path}]
    assert "volumes" not in w.run("pods", own)["spec"]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "s2"}}]},
            'volume with secret.secretName="s2" is not allowed because service account strict does not reference '
            "that secret",
        ),
        (
            {"imagePullSecrets": [{"name": "other"}]},
            'imagePullSecrets[0].name="other" is not allowed because service account strict does not reference '
            "that imagePullSecret",
        ),
        (
            {"initContainers": [{"name": "i", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s2"}}}]}]},
            'init container i with envVar A referencing secret.secretName="s2" is not allowed because service account '
            "strict does not reference that secret",
        ),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s1"}}]}, None),
        ({"volumes": [{"name": "v", "secret": {}}]}, 'volume with secret.secretName="" is not allowed because service account '
         "strict does not reference that secret"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s1"}}, {"name": "w", "secret": {"secretName": "s3"}}]},
         'volume with secret.secretName="s3" is not allowed because service account strict does not reference that secret'),
        ({"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "x"}, {"name": "B", "valueFrom": {
          "secretKeyRef": {"key": "k"}}}]}]}, 'container c with envVar B referencing secret.secretName="" is not allowed '
         "because service account strict does not reference that secret"),
        ({"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s1"}}},
          {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "s2"}}}]}]}, None),
        ({"imagePullSecrets": [{"name": "pull"}, {}]}, 'imagePullSecrets[1].name="" is not allowed because service account '
         "strict does not reference that imagePullSecret"),
        ({"imagePullSecrets": [{"name": "pull"}]}, None),
    ],
)  # fmt: skip
def test_mountable_secrets_can_be_limited(world: type[World], pod: Callable[..., Object], spec: Any, text: str) -> None:
    """With the annotation, pods may use only the account's own secrets."""
    w = world(only=["ServiceAccount"])
    meta = {"name": "strict", "namespace": "ns", "annotations": {ORCH("{long}.io/enforce-mountable-secrets"): "true"}}
    account = {"metadata": meta, "secrets": [{"name": "s1"}], "imagePullSecrets": [{"name": "pull"}]}
    w.put("serviceaccounts", {**account, "automountServiceAccountToken": False})
    given = pod(serviceAccountName="strict", **spec)
    if text is None:
        w.run("pods", given)
    else:
        assert w.refusal("pods", given).message == f'pods "p" is forbidden: {text}'
        # The mutating plugin refuses it already, before the pod is validated.
        with pytest.raises(errors.ApiError, match="is forbidden"):
            result_of(admit_review(w.chain, w.review("pods", given)))


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({}, ""),
        ({"serviceAccountName": "default"}, "service accounts"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "secrets"),
        ({"volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "c"}}]}}]}, ""),
        ({"volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "c"}}, {"serviceAccountToken": {}}]}}]}, "token"),
    ],
)  # fmt: skip
def test_mirror_pods_use_nothing_of_an_account(
    world: type[World], pod: Callable[..., Object], spec: Any, problem: str
) -> None:
    """A mirror pod is left as it is, and refused if it refers to an account, secrets or a token."""
    w = world(only=["ServiceAccount"])
    given = pod(**spec)
    given["metadata"]["annotations"] = {ORCH("{long}.io/config.mirror"): "x"}
    if not problem:
        assert w.run("pods", given) == given
        return
    said = {"token": "use ServiceAccountToken volume projections"}.get(problem, f"reference {problem}")
    assert w.refusal("pods", given).message == f'pods "p" is forbidden: a mirror pod may not {said}'


def test_pods_without_an_account_are_refused(world: type[World], pod: Callable[..., Object]) -> None:
    """When they are validated, and when ephemeral containers are added: the mutating chain gives each one an
    account."""
    message = 'pods "p" is forbidden: no service account specified for pod ns/p'
    before, after = pod(), pod(ephemeralContainers=[{"name": "e"}])
    for review in (
        world(only=["ServiceAccount"]).review("pods", before),
        world(only=["ServiceAccount"], release=NEWEST).review(
            "pods", after, old=before, operation="UPDATE", sub="ephemeralcontainers"
        ),
    ):
        w = world(only=["ServiceAccount"], release=NEWEST)
        with pytest.raises(errors.ApiError) as caught:
            result_of(validate_review(w.chain, review))
        assert caught.value.message == message


@pytest.mark.parametrize("value", ["false", "yes", ""])
def test_secrets_are_limited_by_a_true_annotation_only(
    world: type[World], pod: Callable[..., Object], value: str
) -> None:
    """With another value of the annotation pods may use any secret."""
    w = world(only=["ServiceAccount"])
    meta = {"name": "lax", "namespace": "ns", "annotations": {ORCH("{long}.io/enforce-mountable-secrets"): value}}
    w.put("serviceaccounts", {"metadata": meta, "automountServiceAccountToken": False})
    w.run("pods", pod(serviceAccountName="lax", volumes=[{"name": "v", "secret": {"secretName": "s2"}}]))


def test_pods_of_accounts_that_cannot_be_read(
    world: type[World], pod: Callable[..., Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod is refused if its account does not exist, after one look, and if the account cannot be read."""
    w = world(only=["ServiceAccount"])
    head = 'pods "p" is forbidden: error looking up service account ns/q: '
    assert w.refusal("pods", pod(serviceAccountName="q")).message == head + 'serviceaccount "q" not found'
    assert w.client.calls == [("get", "serviceaccounts", "ns", "q")]
    # A name that is no segment of a path is not looked up.
    refused = w.refusal("pods", pod(serviceAccountName="a/%")).message
    assert refused.endswith("""ns/a/%: invalid resource name "a/%": [may not contain '/' may not contain '%']""")
    assert len(w.client.calls) == 1

    async def broken(*args: Any, **more: Any) -> Object:
        raise errors.internal("no store")

    monkeypatch.setattr(w.client, "get", broken)
    message = w.refusal("pods", pod(serviceAccountName="q")).message
    assert message.startswith(head) and "no store" in message


def test_whole_secrets_are_limited_in_later_releases(world: type[World], pod: Callable[..., Object]) -> None:
    """From 1.30 on secrets whose keys all become variables are limited, too."""
    meta = {"name": "strict", "namespace": "ns", "annotations": {ORCH("{long}.io/enforce-mountable-secrets"): "true"}}
    account = {"metadata": meta, "secrets": [{"name": "s1"}], "automountServiceAccountToken": False}
    for release in (SPECIFICATION, NEWEST):
        w = world(only=["ServiceAccount"], release=release)
        w.put("serviceaccounts", account)
        for secret, allowed in (("s1", True), ("s2", release is SPECIFICATION)):
            one = {"name": "c", "image": "i", "envFrom": [{"secretRef": {"name": secret}}]}
            given = pod(
                serviceAccountName="strict", initContainers=[{"name": "plain"}, {**one, "name": "d"}], containers=[one]
            )
            if allowed:
                w.run("pods", given)
            else:
                assert w.refusal("pods", given).message.startswith(
                    'pods "p" is forbidden: init container d with envFrom referencing secret.secretName="s2" is not allowed'
                )


def test_secrets_of_ephemeral_containers_are_limited_in_later_releases(
    world: type[World], pod: Callable[..., Object]
) -> None:
    meta = {"name": "strict", "namespace": "ns", "annotations": {ORCH("{long}.io/enforce-mountable-secrets"): "true"}}
    container = {"name": "e", "image": "i", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s2"}}}]}
    before = pod(serviceAccountName="strict")
    after = pod(serviceAccountName="strict", ephemeralContainers=[container])
    for release in (SPECIFICATION, NEWEST):
        w = world(only=["ServiceAccount"], release=release)
        w.put("serviceaccounts", {"metadata": meta, "secrets": [{"name": "s1"}]})
        more: dict[str, Any] = {"old": before, "operation": "UPDATE", "sub": "ephemeralcontainers"}
        if release is SPECIFICATION:
            assert w.run("pods", after, **more) == after
        else:
            error = w.refusal("pods", after, **more)
            assert error.code == 500
            assert error.message.startswith('ephemeral container e with envVar A referencing secret.secretName="s2"')
        assert w.run("pods", before, old=before, operation="UPDATE") == before
