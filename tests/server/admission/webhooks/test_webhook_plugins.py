"""The webhook plugins, with scripted webhooks."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from orchd.client.interfaces import ResourceRef
from orchd.config.choices import DEFAULT_ADMISSION_PLUGINS
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.catalog import Resource, builtin_catalog
from orchd.kinds.jsonvalues import Object, ObjectView
from orchd.kinds.users import User
from orchd.server.admission.builtin import NAMES, make_chain
from orchd.server.admission.interfaces import WebhookServices
from orchd.server.admission.webhooks import matching
from orchd.server.admission.webhooks.patched_kind import same_kind
from orchd.server.admission.webhooks.reviews import denial
from orchd.server.outbound.webhooks import WebhookError
from orchd.testing.doubles.results import result_of
from orchd.txkit.compute_thread import LARGE, ComputeThread
from orchd.txkit.coroutines import start
from tests.server.admission.conftest import World, admit_review, validate_review

CATALOG = builtin_catalog(ORCH)
GROUP = "admissionregistration.{abbr}.io"
RULES = [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]


class Webhooks:
    """Responses by the URL's path: a response, an error, or a function of the request."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[str, Object]] = []

    async def post(self, where: Any, document: Any, seconds: Any, credentials: Any = None) -> Any:
        request = document["request"]
        self.asked.append((where["url"], request))
        answer = self.answers[where["url"]]
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Deferred):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        around = answer.pop("review", {})
        return {**document, "request": None, "response": {"uid": request["uid"], "allowed": True, **answer}, **around}


def patch(*operations: Any) -> Object:
    return {"patchType": "JSONPatch", "patch": base64.b64encode(orjson.dumps(operations)).decode()}


def append(tag: str) -> Callable[[Object], Object]:
    """A webhook that appends its tag to an annotation."""

    def answer(request: Object) -> Object:
        meta = request["object"]["metadata"]
        old = (meta.get("annotations") or {}).get("order", "")
        return patch({"op": "add", "path": "/metadata/annotations", "value": {"order": old + tag}})

    return answer


async def _unchanged(resource: Resource, objects: Sequence[Object]) -> Sequence[Object]:
    return objects


class Play(World):
    """A world with both webhook plugins enabled. `counted` has the labels of observed calls."""

    def __init__(self) -> None:
        super().__init__(only=("NamespaceLifecycle",))
        self.webhooks = Webhooks()
        self.serving = True
        self.counted: list[tuple[Any, ...]] = []
        services = WebhookServices(
            client=self.webhooks,
            uid=lambda: "00000000-0000-4000-8000-000000000000",
            to_working=lambda resource, obj: obj,
            translate=_unchanged,
            serving=lambda: self.serving,
            observe=lambda *labels: self.counted.append(labels[:3] + labels[4:]),
        )
        self.context = replace(self.context, outbound=replace(self.context.outbound, webhooks=services))
        self.chain = make_chain(self.context, [n for n in NAMES if n in DEFAULT_ADMISSION_PLUGINS])

    def hooks(self, kind: str, *given: Object) -> None:
        """Configure webhooks of a kind, "mutating" or "validating"."""
        webhooks = [
            {
                "name": f"{hook['clientConfig']['url']}.example.com", "rules": RULES, "sideEffects": "None",
                "admissionReviewVersions": ["v1"], **hook,
            }
            for hook in given
        ]  # fmt: skip
        self.put(f"{kind}webhookconfigurations", {"metadata": {"name": "c"}, "webhooks": webhooks}, group=GROUP)


@pytest.fixture
def play() -> Play:
    return Play()


def hook(url: str, answer: Any, play: Play, **more: Any) -> Object:
    play.webhooks.answers[url] = answer
    return {"clientConfig": {"url": url}, **more}


SECRET: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "ns"}}


def error_of(play: Play, **more: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        play.run("configmaps", SECRET, **more)
    return caught.value


def test_no_webhook_is_called_without_configurations(play: Play) -> None:
    """Without configurations no webhook is called."""
    assert play.run("configmaps", SECRET) is SECRET
    assert play.webhooks.asked == []


def test_large_patches_are_applied_in_another_thread(play: Play) -> None:
    """A large patch is parsed and applied away from the reactor, a small one at once."""
    called: list[Any] = []

    async def in_thread(function: Any, *arguments: Any) -> Any:
        called.append(function)
        return function(*arguments)

    play.context = replace(play.context, runtime=replace(play.context.runtime, compute=ComputeThread(in_thread)))
    play.chain = make_chain(play.context, [n for n in NAMES if n in DEFAULT_ADMISSION_PLUGINS])
    labels = {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}
    play.hooks("mutating", hook("small", lambda request: patch(labels), play))
    assert play.run("configmaps", SECRET)["metadata"]["labels"] == {"a": "b"}
    assert not called
    large = {"op": "add", "path": "/data", "value": {"k": "v" * LARGE}}
    play.hooks("mutating", hook("large", lambda request: patch(large), play))
    assert play.run("configmaps", SECRET)["data"] == {"k": "v" * LARGE}
    assert len(called) == 3


class Slow(Clock):
    """Time passes with each look at it; `turn` runs what was due before it."""

    def turn(self) -> None:
        due, self.calls = self.calls, []
        for call in due:
            call.called = 1
            call.func(*call.args, **call.kw)

    def seconds(self) -> float:
        self.rightNow += 0.001
        return float(self.rightNow)


@pytest.mark.parametrize("kind", ["mutating", "validating"])
@pytest.mark.parametrize("selector", [{}, {"matchLabels": {"no": "such"}}])
def test_thousands_of_webhooks_let_others_run(play: Play, kind: str, selector: Object) -> None:
    """Webhooks are matched and called in several turns of the reactor. A cancelled request calls no more of them."""
    clock = Slow()
    play.context = replace(play.context, runtime=replace(play.context.runtime, reactor=clock))
    play.chain = make_chain(play.context, [n for n in NAMES if n in DEFAULT_ADMISSION_PLUGINS])
    play.hooks(kind, *(hook(f"h{number}", {}, play, objectSelector=selector) for number in range(50)))

    def begin() -> Any:
        review = play.review("configmaps", SECRET)
        run = admit_review if kind == "mutating" else validate_review
        return start(run(play.chain, review))

    done = begin()
    turns = 0
    while not done.called:
        clock.turn()
        turns += 1
    assert turns > (18 if kind == "validating" and not selector else 8)
    assert len(play.webhooks.asked) == (0 if selector else 50)


def test_cancelled_requests_call_no_more_webhooks(play: Play) -> None:
    """If a request ends while its webhooks are being called, those calls are cancelled and others not made."""
    clock = Slow()
    cancelled: list[Any] = []
    play.context = replace(play.context, runtime=replace(play.context.runtime, reactor=clock))
    play.chain = make_chain(play.context, [n for n in NAMES if n in DEFAULT_ADMISSION_PLUGINS])
    waiting: list[Deferred[Object]] = [Deferred(cancelled.append) for _ in range(50)]
    play.hooks("validating", *(hook(f"h{number}", waiting[number], play) for number in range(50)))
    done = start(validate_review(play.chain, play.review("configmaps", SECRET)))
    while len(play.webhooks.asked) < 10:
        clock.turn()
    calls = len(play.webhooks.asked)
    done.cancel()
    errors: list[Any] = []
    done.addErrback(errors.append)
    clock.turn()
    assert errors[0].check(CancelledError)
    assert len(cancelled) == len(play.webhooks.asked) == calls < 50


def test_webhooks_are_reinvoked_after_later_changes(play: Play) -> None:
    """Webhooks with reinvocation policy IfNeeded are called again after a later change; each round has an audit
    annotation."""
    play.hooks(
        "mutating",
        hook("a", append("a"), play, reinvocationPolicy="IfNeeded"),
        hook("b", append("b"), play),
        hook("c", append("c"), play, reinvocationPolicy="IfNeeded"),
    )
    after = play.run("configmaps", SECRET)
    assert after["metadata"]["annotations"] == {"order": "abcac"}
    assert [url for url, _ in play.webhooks.asked] == ["a", "b", "c", "a", "c"]


def test_all_validating_webhooks_are_called(play: Play) -> None:
    """The response has the first rejection in order; the other webhooks are called all the same."""
    play.hooks(
        "validating",
        hook("a", {}, play),
        hook("b", {"allowed": False, "status": {"code": 418, "message": "no way"}}, play),
        hook("c", {"allowed": False}, play),
    )
    error = error_of(play)
    assert (error.code, error.message) == (418, 'admission webhook "b.example.com" denied the request: no way')
    assert [url for url, _ in play.webhooks.asked] == ["a", "b", "c"]
    assert ("b.example.com", "validating", "CREATE", True, "no_error", 418) in play.counted


@pytest.mark.parametrize(("code", "answered"), [(399, 400), (999, 999), (1000, 400), (2**40, 400), ("x", 400)])
def test_denial_has_a_code_of_http(code: Any, answered: int) -> None:
    """The code of a denial is used if HTTP has one like it."""
    assert denial("a.example.com", {"message": "no", "code": code}).code == answered


def test_failure_policy_decides_about_failed_calls(play: Play) -> None:
    """A failed call rejects the write, unless the failure policy is Ignore."""
    trouble = WebhookError('Post "https://x": EOF')
    play.hooks("validating", hook("a", trouble, play, failurePolicy="Ignore"))
    assert play.run("configmaps", SECRET) is SECRET
    play.hooks("validating", hook("a", trouble, play, failurePolicy="Fail"))
    error = error_of(play)
    assert error.code == 500
    assert error.message == (
        'Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: Post "https://x": EOF'
    )


@pytest.mark.parametrize(
    ("kind", "answer", "message"),
    [
        ("validating", {"uid": "zz"}, "expected response.uid="),
        (
            "validating",
            patch({"op": "add", "path": "/a", "value": 1}),
            "validating webhook may not return response.patch",
        ),
        ("mutating", {"patch": "W10="}, "webhook returned response.patch but not response.patchType"),
        ("mutating", {"patchType": "JSONPatch"}, "webhook returned response.patchType but not response.patch"),
        ("mutating", {"patchType": "JSONPatch", "patch": "!!"}, "illegal base64 data at input byte 0"),
        ("mutating", {"allowed": "true"}, "json: cannot unmarshal string into Go struct field"),
        (
            "mutating",
            patch({"op": "test", "path": "/metadata/name", "value": "z"}),
            "testing value /metadata/name failed: test failed",
        ),
        ("mutating", patch({"op": "replace", "path": "/metadata", "value": "z"}), "Internal error occurred: "),
        ("mutating", patch({"op": "replace", "path": "", "value": []}), "Internal error occurred: "),
        (
            "mutating",
            {**patch({"op": "remove", "path": "/metadata/name"}), "patchType": "X"},
            'unsupported patch type "X"',
        ),
    ],
)
def test_invalid_responses_are_errors(play: Play, kind: str, answer: Any, message: str) -> None:
    """Invalid responses are internal errors with the reference's messages."""
    play.hooks(kind, hook("a", answer, play))
    error = error_of(play)
    assert error.code == 500
    assert message in error.message


@pytest.mark.parametrize(
    ("accepted", "around", "problem"),
    [
        ("v1", {"kind": "Other"}, "failed to call webhook: converting (v1.Other) to (v1.AdmissionReview): unknown conversion"),
        ("v1", {"apiVersion": ORCH("admission.{abbr}.io/v1beta1")},
         "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion"),
        ("v1", {"apiVersion": ""}, "received invalid webhook response: "
         f"expected webhook response of {ORCH('admission.{abbr}.io/v1')}, Kind=AdmissionReview, got /, Kind=AdmissionReview"),
        ("v1", {"kind": ""}, "received invalid webhook response: "
         f"expected webhook response of {ORCH('admission.{abbr}.io/v1')}, Kind=AdmissionReview, got "
         f"{ORCH('admission.{abbr}.io/v1')}, Kind="),
        ("v1", {"response": None}, "received invalid webhook response: webhook response was absent"),
        ("v1", {"response": []}, "failed to call webhook: json: cannot unmarshal array into Go struct field "
         "AdmissionReview.response of type v1.AdmissionResponse"),
        ("v1", {}, ""),
        ("v1beta1", {"apiVersion": "", "kind": ""}, ""),
        ("v1beta1", {"response": {"uid": "other", "allowed": True}}, ""),
        ("v2", {}, "webhook does not accept known AdmissionReview versions (v1, v1beta1)"),
    ],
)  # fmt: skip
def test_responses_are_reviews_of_the_version(play: Play, accepted: str, around: Object, problem: str) -> None:
    """A response is an AdmissionReview of the version that was sent; of v1beta1 it need not say so."""
    play.hooks("validating", hook("a", {"review": around}, play, admissionReviewVersions=[accepted]))
    if problem:
        message = error_of(play).message
        assert message == f'Internal error occurred: failed calling webhook "a.example.com": {problem}'
    else:
        play.run("configmaps", SECRET)


@pytest.mark.parametrize(
    ("answer", "policy", "rejected", "error", "code"),
    [
        ({}, "Fail", False, "no_error", 0),
        ({"allowed": False}, "Fail", True, "no_error", 400),
        ({"allowed": False, "status": {"code": 418}}, "Ignore", True, "no_error", 418),
        ({"allowed": False, "status": {"code": 500, "reason": "InternalError"}}, "Fail", True, "apiserver_internal_error", 500),
        (WebhookError("x", code=503), "Fail", True, "calling_webhook_error", 503),
        (WebhookError("x", code=503), "Ignore", False, "calling_webhook_error", 503),
        (WebhookError("x"), "Ignore", False, "calling_webhook_error", 0),
        ({"uid": "other"}, "Ignore", False, "calling_webhook_error", 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["mutating", "validating"])
def test_calls_are_counted_by_their_outcome(
    play: Play, kind: str, answer: Any, policy: str, rejected: bool, error: str, code: int
) -> None:
    """A call is counted as rejecting the write or not, with the type of the error and the status of HTTP."""
    play.hooks(kind, hook("a", answer, play, failurePolicy=policy))
    if rejected:
        error_of(play)
    else:
        play.run("configmaps", SECRET)
    label = {"mutating": "admit"}.get(kind, kind)
    assert play.counted == [("a.example.com", label, "CREATE", rejected, error, code)]


def _condition(expression: str) -> Object:
    return {"matchConditions": [{"name": "c", "expression": expression}]}


@pytest.mark.parametrize(
    ("expression", "policy", "called", "refused", "observed"),
    [
        ("object.metadata.name == 'c'", "Fail", True, False, []),
        ("request.operation == 'UPDATE'", "Fail", False, False, [(0, True)]),
        ("object.spec.x == 1", "Fail", False, True, [(1, False)]),
        ("object.spec.x == 1", "Ignore", False, False, [(1, True)]),
    ],
)
@pytest.mark.parametrize("kind", ["mutating", "validating"])
def test_conditions_of_a_webhook(
    play: Play, kind: str, expression: str, policy: str, called: bool, refused: bool, observed: Any
) -> None:
    """A webhook is called for writes that meet its conditions. After an error of a condition the write is rejected, or
    the webhook is not called, by its failure policy."""
    seen: list[Any] = []
    play.context = replace(play.context, observe_conditions=lambda *observed: seen.append(observed))
    play.chain = make_chain(play.context, [n for n in NAMES if n in DEFAULT_ADMISSION_PLUGINS])
    play.hooks(kind, hook("a", {}, play, failurePolicy=policy, **_condition(expression)))
    if refused:
        assert error_of(play).code == 403
    else:
        play.run("configmaps", SECRET)
    assert bool(play.webhooks.asked) is called
    labels = ("a.example.com", "webhook", {"mutating": "admit"}.get(kind, kind), "CREATE")
    assert [(errors, excluded, names) for errors, _, excluded, names in seen] == [(*each, labels) for each in observed]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("users: [{name: a, user: {token: t}}]", ""),
        ("users: [{name: a, user: {tokn: t}}]", "users[0].user.tokn"),
        ("users: [", "not YAML"),
        (None, "No such file"),
    ],
)
def test_credentials_for_webhooks_are_read_at_the_start(tmp_path: Path, text: str | None, problem: str) -> None:
    """The start fails with the name of a file that cannot be used."""
    play, file = Play(), tmp_path / "credentials"
    if text is not None:
        file.write_text(text)
    key = ORCH("{short}ConfigFile")
    settings = {"MutatingAdmissionWebhook": {key: str(file)}}
    if not problem:
        make_chain(play.context, ["MutatingAdmissionWebhook"], configurations=settings)
        return
    with pytest.raises(ValueError, match=re.escape(f"{key}: {file}: ")) as caught:
        make_chain(play.context, ["MutatingAdmissionWebhook"], configurations=settings)
    assert problem in str(caught.value)
    with pytest.raises(ValueError, match="must be an absolute file path"):
        make_chain(play.context, ["MutatingAdmissionWebhook"], configurations={"MutatingAdmissionWebhook": {key: "x"}})


@pytest.mark.parametrize("kind", ["mutating", "validating"])
def test_writes_wait_for_the_webhooks(play: Play, kind: str) -> None:
    """Until the configurations are known, writes are rejected, other than those of the server during its start."""
    ref = ResourceRef(ORCH(GROUP), "v1", f"{kind}webhookconfigurations")
    play.informers.informer(ref).synced = False
    assert error_of(play).message == 'configmaps "c" is forbidden: not yet ready to handle request'
    play.serving = False
    play.run("configmaps", SECRET, user=User(name="system:apiserver"))


def _patch(path: str, value: Any) -> Object:
    return {"op": "replace", "path": path, "value": value}


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (_patch("/kind", "Secret"), "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        (_patch("/kind", "x" * 9), 'no kind "xxxxxxxxx" is registered for version "v1" in scheme'),
        (_patch("/apiVersion", "v2"), 'no kind "ConfigMap" is registered for version "v2" in scheme'),
        (_patch("/kind", 7), "json: cannot unmarshal number into Go struct field .kind of type string"),
        (_patch("/apiVersion", {}), "json: cannot unmarshal object into Go struct field .apiVersion of type string"),
        (_patch("", [1]), "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value"),
        (_patch("", {"kind": "Secret", "apiVersion": "v1"}), "converting (v1.Secret) to (core.ConfigMap)"),
    ],
)
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_patch_cannot_change_kind_or_version(play: Play, operation: str, message: str, policy: Any) -> None:
    """The failure policy does not apply, since the webhook has responded."""
    play.hooks("mutating", hook("a", patch(operation), play, failurePolicy=policy))
    error = error_of(play)
    assert error.code == 500 and message in error.message


def test_patch_to_another_kind_of_a_group(play: Play) -> None:
    """The message has the version without its group, and the internal group of the kind."""
    play.hooks("mutating", hook("a", patch(_patch("/kind", "StatefulSet")), play))
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "ns"}}
    with pytest.raises(ApiError) as caught:
        play.run("deployments", deployment, group="apps")
    assert "converting (v1.StatefulSet) to (apps.Deployment): unknown conversion" in caught.value.message


@pytest.mark.parametrize("member", ["kind", "apiVersion"])
@pytest.mark.parametrize("value", ["", None])
def test_patch_of_a_built_in_kind_may_remove_kind_and_version(play: Play, member: Any, value: Any) -> None:
    """For built-in kinds they follow from the endpoint."""
    play.hooks("mutating", hook("a", patch(_patch(f"/{member}", value), _patch("/data", {"k": "v"})), play))
    config_map = play.run("configmaps", SECRET)
    assert (config_map["kind"], config_map["apiVersion"], config_map["data"]) == ("ConfigMap", "v1", {"k": "v"})


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"kind": "Other"}, 422, 'kind: Invalid value: "Other": must be ConfigMap'),
        ({"apiVersion": "v2"}, 422, 'apiVersion: Invalid value: "v2": must be v1'),
        ({"kind": ""}, 500, "Object 'Kind' is missing in '"),
    ],
)
def test_patch_of_a_custom_kind_must_keep_kind_and_version(play: Play, changes: Any, code: Any, message: str) -> None:
    """Validation rejects custom objects without kind and apiVersion."""
    review = play.review("configmaps", SECRET)
    custom = replace(review.resource, custom=True)
    with pytest.raises(ApiError) as caught:
        same_kind({**SECRET, **changes}, review, custom, CATALOG)
    assert caught.value.code == code and message in caught.value.message


def test_dry_run_needs_side_effects_none(play: Play) -> None:
    """A dry run that would call a webhook with side effects is rejected with 400."""
    play.hooks("validating", hook("a", {}, play, sideEffects="Some"))
    error = error_of(play, dry_run=True)
    assert (error.code, error.message) == (400, 'admission webhook "a.example.com" does not support dry run')
    assert play.webhooks.asked == []


def test_namespace_selector_uses_namespace_labels(play: Play) -> None:
    """The selector is applied to the labels of the namespace, for a namespace to its own; cluster-scoped objects always
    match."""
    play.namespace("ns", labels={"team": "a"})
    play.hooks("validating", hook("a", {}, play, namespaceSelector={"matchLabels": {"team": "b"}}))
    play.run("configmaps", SECRET)
    assert play.webhooks.asked == []
    other = {"name": "other", "labels": {"team": "b"}}
    play.run("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": other})
    play.run("nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    assert [request["name"] for _, request in play.webhooks.asked] == ["other", "n"]


def test_webhook_configurations_are_never_sent_to_webhooks(play: Play) -> None:
    """Webhooks are not called for webhook configurations, so that a broken one can be repaired."""
    play.hooks("validating", hook("a", {"allowed": False}, play))
    play.run("validatingwebhookconfigurations", {"metadata": {"name": "x"}}, group=GROUP)
    assert play.webhooks.asked == []


def test_warnings_and_audit_annotations(play: Play) -> None:
    """Warnings are passed on unless a header cannot carry them; audit annotations are prefixed with the webhook's
    name."""
    play.hooks("validating", hook("a", {"warnings": ["w", "", "a\nb"], "auditAnnotations": {"k": "v"}}, play))
    play.run("configmaps", SECRET)
    assert play.warnings == ["w"]
    assert play.notes["a.example.com/k"] == "v"


def test_startup_writes_skip_webhooks(play: Play) -> None:
    """Writes of the server during its start do not depend on webhooks."""
    play.serving = False
    play.hooks("validating", hook("a", {"allowed": False}, play))
    own = play.review("configmaps", SECRET, user=User(name="system:apiserver"))
    result_of(validate_review(play.chain, own))
    assert error_of(play).code == 400


def test_admission_review_fields(play: Play) -> None:
    """The AdmissionReview has the recorded fields."""
    play.hooks("validating", hook("a", {}, play))
    play.run("configmaps", SECRET)
    ((_, request),) = play.webhooks.asked
    kind, resource = (
        {"group": "", "version": "v1", "kind": "ConfigMap"},
        {"group": "", "version": "v1", "resource": "configmaps"},
    )
    assert request == {
        "uid": request["uid"],
        "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
        "name": "c", "namespace": "ns", "operation": "CREATE",
        "userInfo": {"username": "admin", "groups": ["system:masters"]},
        "object": {**SECRET, "metadata": {**SECRET["metadata"], "creationTimestamp": None}},
        "oldObject": None, "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": ORCH("meta.{abbr}.io/v1")},
    }  # fmt: skip


def test_configurations_are_read_when_their_webhooks_change(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Webhooks are called in the order of the names of their configurations; a configuration is read again only if its
    webhooks have changed."""
    read, hooks_of = list[str](), matching.hooks_of

    def note(configuration: ObjectView) -> list[matching.Hook]:
        read.append(configuration["metadata"]["name"])
        return hooks_of(configuration)

    monkeypatch.setattr(matching, "hooks_of", note)

    def configure(name: str, url: str, **labels: str) -> None:
        play.webhooks.answers[url] = append(url)
        webhook = {"name": f"{url}.example.com", "clientConfig": {"url": url}, "rules": RULES, "sideEffects": "None"}
        made = {
            "metadata": {"name": name, "labels": labels},
            "webhooks": [{**webhook, "admissionReviewVersions": ["v1"]}],
        }
        play.put("mutatingwebhookconfigurations", made, group=GROUP)

    def order() -> Any:
        return play.run("configmaps", SECRET)["metadata"]["annotations"]["order"]

    configure("b", "1")
    configure("a", "2")
    assert order() == "21"
    configure("b", "1", changed="yes")
    assert order() == "21" and read == ["b", "a"]
    configure("b", "3")
    assert order() == "23" and read == ["b", "a", "b"]
    play.informers.informer(ResourceRef(ORCH(GROUP), "v1", "mutatingwebhookconfigurations")).remove("", "a")
    assert order() == "3" and read == ["b", "a", "b"]


def test_annotations_about_mutating_webhooks(play: Play) -> None:
    """By round and position: whether it changed the object, and its patch; or that its failure was ignored."""
    change = patch({"path": "/data", "op": "add", "value": {"k": "v"}})
    same = patch({"op": "replace", "path": "/metadata/name", "value": "c"})
    failing = WebhookError("gone")
    play.hooks(
        "mutating",
        hook("a", change, play),
        hook("b", {}, play),
        hook("d", same, play),
        hook("e", failing, play, failurePolicy="Ignore"),
        hook("h", patch(), play),
    )
    play.hooks("validating", hook("f", {}, play), hook("g", failing, play, failurePolicy="Ignore"))
    play.run("configmaps", SECRET)
    prefix = ORCH("webhook.admission.{abbr}.io/")

    def about(name: str, rest: str) -> str:
        return f'{{"configuration":"c","webhook":"{name}.example.com",{rest}}}'

    assert play.notes == {
        f"mutation.{prefix}round_0_index_0": about("a", '"mutated":true'),
        f"patch.{prefix}round_0_index_0": about(
            "a", '"patch":[{"op":"add","path":"/data","value":{"k":"v"}}],"patchType":"JSONPatch"'
        ),
        f"mutation.{prefix}round_0_index_1": about("b", '"mutated":false'),
        f"mutation.{prefix}round_0_index_2": about("d", '"mutated":false'),
        f"patch.{prefix}round_0_index_2": about(
            "d", '"patch":[{"op":"replace","path":"/metadata/name","value":"c"}],"patchType":"JSONPatch"'
        ),
        f"mutation.{prefix}round_0_index_3": about("e", '"mutated":false'),
        f"failed-open.mutation.{prefix}round_0_index_3": "e.example.com",
        f"failed-open.validating.{prefix}round_0_index_1": "g.example.com",
        f"mutation.{prefix}round_0_index_4": about("h", '"mutated":false'),
    }


@pytest.mark.parametrize(
    ("effects", "dry_run", "called"),
    [
        ("None", True, True), ("NoneOnDryRun", True, True), ("Some", True, False), ("Unknown", True, False),
        ("Some", False, True), ("None", False, True),
    ],
)  # fmt: skip
def test_side_effects_and_dry_runs(play: Play, effects: str, dry_run: bool, called: bool) -> None:
    """A dry run calls no webhook that has side effects then; it is rejected."""
    play.hooks("validating", hook("a", {}, play, sideEffects=effects))
    if called:
        play.run("configmaps", SECRET, dry_run=dry_run)
    else:
        error = error_of(play, dry_run=dry_run)
        assert (error.code, error.message) == (400, 'admission webhook "a.example.com" does not support dry run')
    assert bool(play.webhooks.asked) is called


def test_numbers_that_are_out_of_range(play: Play) -> None:
    """A patch with a number that no object can have is an error."""
    text = b'[{"op": "add", "path": "/data", "value": {"a": 1e999}}]'
    play.hooks("mutating", hook("a", {"patchType": "JSONPatch", "patch": base64.b64encode(text).decode()}, play))
    error = error_of(play)
    assert error.code == 500 and "1e999" in error.message


def test_unexpected_errors_are_raised_as_they_are(play: Play) -> None:
    play.hooks("validating", hook("a", {}, play), hook("b", KeyError("b"), play))
    with pytest.raises(KeyError):
        play.run("configmaps", SECRET)


@pytest.mark.parametrize(("change", "asked"), [("/spec/tolerations", "baa"), ("/metadata/annotations", "ba")])
def test_webhooks_are_reinvoked_after_changes_of_plugins(play: Play, change: str, asked: str) -> None:
    """A webhook that was called after the last change is called again if plugins have changed the object since."""
    metadata = {"name": "p", "annotations": {"x": "y"}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    play.hooks(
        "mutating",
        hook("b", patch({"op": "remove", "path": change}), play),
        hook("a", {}, play, reinvocationPolicy="IfNeeded"),
    )
    stored = play.run("pods", pod)
    assert "".join(url for url, _ in play.webhooks.asked) == asked
    assert len(stored["spec"]["tolerations"]) == 2


def test_time_of_webhooks(play: Play) -> None:
    """Each phase with webhooks tells the request how long they took."""
    times: list[float] = []
    play.run("configmaps", SECRET, webhook_time=times.append)
    assert times == []
    play.hooks("mutating", hook("a", {}, play))
    play.hooks("validating", hook("b", {}, play))
    play.run("configmaps", SECRET, webhook_time=times.append)
    assert len(times) == 2


@pytest.mark.parametrize(("metadata", "name"), [({"name": "n"}, "n"), ({}, "")])
def test_names_of_custom_objects_in_errors(metadata: Object, name: str) -> None:
    """A patch that makes a custom object another kind is invalid."""
    resource: Any = SimpleNamespace(group="g", plural="ps", kind="K", api_version="g/v1", custom=True)
    review: Any = SimpleNamespace(kind=None)
    patched = {"kind": "L", "apiVersion": "g/v1", "metadata": metadata}
    with pytest.raises(ApiError) as refused:
        same_kind(patched, review, resource, CATALOG)
    assert (refused.value.code, (refused.value.details or {}).get("name", "")) == (422, name)
    assert same_kind({**patched, "kind": "K"}, review, resource, CATALOG) == {**patched, "kind": "K"}
