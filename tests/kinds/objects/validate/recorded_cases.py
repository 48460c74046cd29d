"""Recorded requests as inputs of validation, and the comparison of its errors with the recorded answers.

Only requests that validation alone decides are cases; those that need admission, allocation, storage or another request
are tested elsewhere.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from orchd import errors
from orchd.dialect import ORCH
from orchd.kinds import gates
from orchd.kinds.catalog import Resource, builtin_catalog, package_of
from orchd.kinds.objects import default, feature_gates, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch
from orchd.kinds.patch import merge_patch, strategic
from orchd.kinds.release import SPECIFICATION, Release
from tests.kinds.objects.validate import validate_prepared as prepared

_PATH = re.compile(
    r"/(?:api/(?P<v>[^/]+)|apis/(?P<g>[^/]+)/(?P<gv>[^/]+))/(?:namespaces/(?P<ns>[^/]+)/)?(?P<rest>[^?]+)"
)
#: Responses of other parts of the server, by their message.
_ELSEWHERE = re.compile(
    r"Options\.meta|the server rejected our request|is invalid: patch:|provided port is (not in the valid range|already)"
    r"|failed to allocate IP|not configured (on this cluster|for dual-stack)|metadata\.labels\[pod-security|must be specified for an update"
)
#: Kinds of cases that exercise the machinery around validation.
_AREAS = frozenset(
    "options body routing list patch apply fieldValidation PodSecurity webhook CustomResource delete auth expired update "
    "create Scale List Watch Delete Removed Apply Create CR".split()
)
#: Cases that depend on a step between defaults and validation that is not replayed.
_DIFFERENT = frozenset(
    (
        "Pod/sc-seccomp-localhost-abs",  # profiles are copied from fields to annotations first
        "TokenRequest/name-mismatch",  # the default lifetime
        "Secret/too-large",
        "ConfigMap/too-large",  # recorded without their megabytes
        "Service/mixed-protocol-lb",  # node ports are taken first, and shown
        "StatefulSet/pvcRetention-gate-off",  # gates have their say first
        "Service/ipFamilies-change",  # families are looked at alone, before addresses are handed out
        "HorizontalPodAutoscaler/behavior-policies-empty",  # an empty list is not an absent one
    )
)
#: Go values, addresses and differences that cannot be reproduced exactly.
_DUMP = re.compile(r"\(<ptr>\)|\(0xc[0-9a-f]+\)")


class Case:
    """A recorded request, the object that it would store, and the response."""

    def __init__(
        self, raw: dict[str, Any], resource: Resource, new: dict[str, Any], old: dict[str, Any] | None, sub: str
    ) -> None:
        self.id: str = raw["id"]
        self.kind = self.id.split("/")[0]
        self.answer = raw["ans"]
        self.resource = resource
        self.new = new
        self.old = old
        self.sub = sub


def changed_cases(facts: dict[str, Any], changes: dict[str, Any]) -> list[dict[str, Any]]:
    """The recorded cases of the specification's release with the answers of another one."""
    answers = {change["id"]: change["ans"] for change in changes["changed_answers"] if "control" not in change}
    unknown = {change["id"] for change in changes["changed_answers"]} - set(answers)
    unknown.update(changes["changed_answers_not_compared"])
    return [
        {**case, "ans": answers.get(case["id"], case["ans"])} for case in facts["cases"] if case["id"] not in unknown
    ]


class Replay:
    """Makes cases of recorded requests to a release. Objects that cases store remain for later ones."""

    def __init__(self, release: Release = SPECIFICATION) -> None:
        self.catalog: Final = builtin_catalog(ORCH, release)
        self.settings: Final = ObjectSettings(
            dialect=ORCH, allow_privileged=True, release=release, features=gates.defaults(release)
        )
        self._stored: dict[tuple[str, str, str], dict[str, Any]] = {}

    def cases(self, recorded: list[dict[str, Any]]) -> Iterator[Case]:
        for each in recorded:
            raw = json.loads(json.dumps(each).replace('"<csr>"', json.dumps(prepared.signing_request())))
            request, answer = raw["req"], raw["ans"]
            if (
                request["m"] not in ("POST", "PUT", "PATCH")
                or answer.get("code") not in (200, 201, 422)
                or raw["id"].split("/")[0] in _AREAS
            ):
                continue
            if "body_note" in request or "<pem>" in json.dumps(request) or raw["id"] in _DIFFERENT:
                continue
            if raw["id"].startswith("plugin:") or raw.get("server") or _ELSEWHERE.search(answer.get("message", "")):
                continue
            case = self._case(raw)
            if case is not None:
                yield case
                if answer["code"] in (200, 201) and not case.sub:
                    address = self._resource(request["p"])
                    if address is not None:
                        name = (case.new.get("metadata") or {}).get("name") or ""
                        self._stored[address[0].plural, address[1], name] = prepared.allocate(case.new, address[0])

    def _case(self, raw: dict[str, Any]) -> Case | None:
        request = raw["req"]
        address = self._resource(request["p"])
        if address is None:
            return None
        resource, namespace, name, sub = address
        if request["m"] == "POST":
            if not isinstance(request.get("body"), dict) or request.get("ct", "application/json") != "application/json":
                return None
            if sub and sub not in resource.subresources:
                return None
            new = self._complete(request["body"], resource, namespace, sub)
            return None if new is None else Case(raw, self._posted_kind(resource, sub), new, None, sub)
        old = self._live(raw, resource, namespace, name)
        if old is None:
            return None
        body = self._written(old, request, resource)
        completed = None if body is None else self._shaped(body, resource, old)
        if completed is None:
            return None
        return Case(raw, resource, prepared.update(completed, old, resource, sub), old, sub)

    @staticmethod
    def _written(old: dict[str, Any], request: dict[str, Any], resource: Resource) -> dict[str, Any] | None:
        """The body of a PUT, or the result of a PATCH of the stored object `old`; None for other patches."""
        if request["m"] == "PATCH":
            if request.get("ct") == "application/merge-patch+json":
                return merge_patch.merge(old, request["body"])
            if request.get("ct") == "application/strategic-merge-patch+json":
                return strategic.apply(old, request["body"], resource.type)
            return None
        body: dict[str, Any] = copy.deepcopy(old)
        for path, value in request.get("live_with", {}).items():
            _set(body, path, value)
        for path in request.get("removed", ()):
            _set(body, path, None)
        sent: dict[str, Any] = request.get("body", body)
        return sent

    def _posted_kind(self, resource: Resource, sub: str) -> Resource:
        """The kind of a body that is posted to a resource or to its subresource."""
        if not sub:
            return resource
        described = resource.subresources[sub]
        package = package_of(described.group or resource.group, described.version or resource.version)
        return self.catalog.body_kind(package, described.kind)

    def _resource(self, path: str) -> tuple[Resource, str, str, str] | None:
        match = _PATH.match(path)
        if match is None:
            return None
        rest = match["rest"].split("/")
        namespace = match["ns"] or ""
        resource = self.catalog.resource(match["g"] or "", match["v"] or match["gv"], rest[0])
        if resource is None and namespace and not match["g"]:
            # A namespace itself: its path looks like that of a resource inside it.
            resource, rest = self.catalog.resource("", "v1", "namespaces"), ["namespaces", namespace, *rest]
            namespace = ""
        if resource is None:
            return None
        return resource, namespace, rest[1] if len(rest) > 1 else "", "/".join(rest[2:])

    def _shaped(
        self, body: dict[str, Any], resource: Resource, old: dict[str, Any] | None = None
    ) -> dict[str, Any] | None:
        try:
            shaped = default.apply(shape.canonical(body, resource.type), resource, self.settings)
        except (errors.ApiError, ValueError):
            return None
        if self.settings.release == SPECIFICATION:
            return shaped
        return feature_gates.drop_disabled(shaped, old, resource.type, self.settings)

    def _complete(self, body: dict[str, Any], resource: Resource, namespace: str, sub: str) -> dict[str, Any] | None:
        if sub == "token":
            kind = self.catalog.type("authentication/v1.TokenRequest")
            return default.fill(shape.canonical(body, kind), kind, self.settings)
        if sub:
            return body
        out = self._shaped(body, resource)
        return None if out is None else prepared.create(out, resource, namespace, self.settings)

    def _live(self, raw: dict[str, Any], resource: Resource, namespace: str, name: str) -> dict[str, Any] | None:
        """The object that earlier cases and the requests before this one have stored under the name, None if they
        cannot be replayed here."""
        live = self._stored.get((resource.plural, namespace, name))
        for step in raw.get("setup", ()):
            address = self._resource(step["p"])
            if address is None or address[0] is not resource:
                continue
            body = step.get("body")
            if step["m"] == "POST" and isinstance(body, dict) and not address[3]:
                if (body.get("metadata") or {}).get("name") == name:
                    live = self._complete(body, resource, namespace, "")
                    live = live and prepared.allocate(live, resource)
            elif address[2] == name and live is not None:
                written = self._written(live, step, resource)
                live = None if written is None else self._shaped(written, resource, live)
                if live is None:
                    return None
        return live


def _set(obj: Any, path: str, value: Any) -> None:
    """Sets ``a.b[0].c`` or ``a.0.c``; None deletes it."""
    steps = [s for s in re.split(r"\.|\[(\d+)\]", path) if s]
    for i, step in enumerate(steps):
        key: Any = int(step) if isinstance(obj, list) else step
        if i == len(steps) - 1:
            if isinstance(obj, list):
                obj[key : key + 1] = [] if value is None else [value]
            elif value is None:
                obj.pop(key, None)
            else:
                obj[key] = value
            return
        if isinstance(obj, dict) and obj.get(key) is None:
            obj[key] = {}
        obj = obj[key]


def _loose(text: str) -> str:
    """A message without its unpredictable parts."""
    text = re.sub(r"core\.\w+\{\n.*\n  \}\n", "<diff>", text, flags=re.S)
    text = re.sub(r"\n  core\.\w+\{.*", "<diff>", text, flags=re.S)
    text = re.sub(r"(core\.PodTemplateSpec|runtime\.Unknown|v1\.ObjectMeta)\{.*\}: ", r"\1: ", text, flags=re.S)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>", text)
    return _DUMP.sub("(<ptr>)", text).replace(prepared.UID, "<uid>")


def compare(case: Case, settings: ObjectSettings) -> tuple[bool, bool, str]:
    """Whether code and causes agree, whether the message agrees, and a report if not."""
    if case.old is None:
        causes = dispatch.validate_create(case.new, case.resource, settings)
    else:
        causes = dispatch.validate_update(case.new, case.old, case.resource, settings, subresource=case.sub)
    expected = [tuple(c) for c in case.answer.get("causes", ())]
    got = [(c.reason, c.field) for c in causes]
    same = Counter(expected) == Counter(got) and (case.answer["code"] == 422) == bool(causes)
    if not causes:
        return same, same, f"{case.id}: nothing found, wanted {case.answer.get('message', '')[:300]}"
    details = case.answer.get("details") or {}
    text = errors.invalid(details.get("group", ""), details.get("kind", ""), details.get("name", ""), causes).message
    told = _loose(text) == _loose(case.answer.get("message", ""))
    return (
        same,
        same and told,
        f"{case.id}:\n     got {_loose(text)[:600]}\n  wanted {_loose(case.answer.get('message', 'success'))[:600]}\n",
    )
