"""Validation against recorded responses of the reference: codes, causes and messages.

Only cases that validation alone decides are compared; those that need admission, allocation, storage or another request
are tested elsewhere. Printed with ``-s``: every case that differs, and the rate by kind.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from orchd import errors
from orchd.dialect import ORCH
from orchd.kinds.catalog import Catalog, Resource, builtin_catalog, package_of
from orchd.kinds.objects import default, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch
from tests.kinds.objects.validate import validate_prepared as prepared

SETTINGS = ObjectSettings(dialect=ORCH, allow_privileged=True)
#: Minimum of cases that agree in code and causes, and of those that agree in the message too. Never lowered.
FLOOR_CAUSES = 993
FLOOR_MESSAGES = 993

_PATH = re.compile(
    r"/(?:api/(?P<v>[^/]+)|apis/(?P<g>[^/]+)/(?P<gv>[^/]+))/(?:namespaces/(?P<ns>[^/]+)/)?(?P<rest>[^?]+)"
)
#: Responses of other parts of the server, by their message.
_ELSEWHERE = re.compile(
    r"Options\.meta|the server rejected our request|is invalid: patch:|provided port is (not in the valid range|already)"
    r"|failed to allocate IP|not configured (on this cluster|for dual-stack)|metadata\.labels\[pod-security|must be specified for an update"
)
#: Kinds of cases that exercise the machinery around validation.
_AREAS = (
    "options",
    "body",
    "routing",
    "list",
    "patch",
    "apply",
    "fieldValidation",
    "PodSecurity",
    "webhook",
    "CustomResource",
    "delete",
    "auth",
    "expired",
    "update",
    "create",
    "Scale",
)
#: Cases that depend on a step between defaults and validation that this test does not run.
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


def _cases(facts: dict[str, Any], catalog: Catalog) -> Iterator[Case]:
    for recorded in facts["cases"]:
        raw = json.loads(json.dumps(recorded).replace('"<csr>"', json.dumps(prepared.signing_request())))
        request, answer = raw["req"], raw["ans"]
        if (
            request["m"] not in ("POST", "PUT")
            or answer.get("code") not in (200, 201, 422)
            or raw["id"].split("/")[0] in _AREAS
        ):
            continue
        if "body_note" in request or "<pem>" in json.dumps(request) or raw["id"] in _DIFFERENT:
            continue
        if raw["id"].startswith("plugin:") or raw.get("server") or _ELSEWHERE.search(answer.get("message", "")):
            continue
        found = _resource(request["p"], catalog)
        if found is None:
            continue
        resource, namespace, name, sub = found
        if request["m"] == "POST":
            if isinstance(request.get("body"), dict) and request.get("ct", "application/json") == "application/json":
                new = _complete(request["body"], resource, namespace, sub, catalog)
                if new is not None:
                    yield Case(raw, _posted_kind(resource, sub, catalog), new, None, sub)
            continue
        old = _live(raw, resource, namespace, name, catalog)
        if old is None:
            continue
        body = copy.deepcopy(old)
        for path, value in request.get("live_with", {}).items():
            _set(body, path, value)
        for path in raw.get("req", {}).get("removed", ()):
            _set(body, path, None)
        if "body" in request:
            body = request["body"]
        completed = _shaped(body, resource)
        if completed is not None:
            yield Case(raw, resource, prepared.update(completed, old, resource, sub), old, sub)


def _posted_kind(resource: Resource, sub: str, catalog: Catalog) -> Resource:
    """The kind of a body that is posted to a resource or to its subresource."""
    if not sub:
        return resource
    described = resource.subresources[sub]
    package = package_of(described.group or resource.group, described.version or resource.version)
    return catalog.body_kind(package, described.kind)


def _resource(path: str, catalog: Catalog) -> tuple[Resource, str, str, str] | None:
    match = _PATH.match(path)
    if match is None:
        return None
    rest = match["rest"].split("/")
    namespace = match["ns"] or ""
    resource = catalog.resource(match["g"] or "", match["v"] or match["gv"], rest[0])
    if resource is None and namespace:
        # A namespace itself: its path looks like that of a resource inside it.
        resource, rest = catalog.resource("", "v1", "namespaces"), ["namespaces", namespace, *rest]
        namespace = ""
    if resource is None:
        return None
    return resource, namespace, rest[1] if len(rest) > 1 else "", "/".join(rest[2:])


def _shaped(body: dict[str, Any], resource: Resource) -> dict[str, Any] | None:
    try:
        return default.apply(shape.canonical(body, resource.type), resource, SETTINGS)
    except (errors.ApiError, ValueError):
        return None


def _complete(
    body: dict[str, Any], resource: Resource, namespace: str, sub: str, catalog: Catalog
) -> dict[str, Any] | None:
    if sub == "token":
        kind = catalog.type("authentication/v1.TokenRequest")
        return default.fill(shape.canonical(body, kind), kind, SETTINGS)
    if sub:
        return body
    out = _shaped(body, resource)
    return None if out is None else prepared.create(out, resource, namespace)


def _live(
    raw: dict[str, Any], resource: Resource, namespace: str, name: str, catalog: Catalog
) -> dict[str, Any] | None:
    """The object that the requests before the case have stored under the name, None if they cannot be replayed here."""
    live: dict[str, Any] | None = None
    for step in raw.get("setup", ()):
        found = _resource(step["p"], catalog)
        if found is None or found[0] is not resource:
            continue
        body = step.get("body")
        if step["m"] == "POST" and isinstance(body, dict) and not found[3]:
            if (body.get("metadata") or {}).get("name") == name:
                live = _complete(body, resource, namespace, "", catalog)
                live = live and prepared.allocate(live, resource)
        elif found[2] == name and live is not None:
            if step["m"] == "PUT":
                changed = copy.deepcopy(live)
                if body is not None:
                    changed = body
                for path, value in step.get("live_with", {}).items():
                    _set(changed, path, value)
                live = _shaped(changed, resource)
            elif step["m"] == "PATCH" and step.get("ct") == "application/merge-patch+json":
                live = _shaped(_merged(live, body), resource)
            else:
                return None
    return live


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    out = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = _merged(out.get(key), value)
    return out


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
    return _DUMP.sub("(<ptr>)", text).replace(prepared.UID, "<uid>")


def _compare(case: Case) -> tuple[bool, bool, str]:
    """Whether code and causes agree, whether the message agrees, and a report if not."""
    if case.old is None:
        causes = dispatch.validate_create(case.new, case.resource, SETTINGS)
    else:
        causes = dispatch.validate_update(case.new, case.old, case.resource, SETTINGS, subresource=case.sub)
    wanted = [tuple(c) for c in case.answer.get("causes", ())]
    got = [(c.reason, c.field) for c in causes]
    same = Counter(wanted) == Counter(got) and (case.answer["code"] == 422) == bool(causes)
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


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return builtin_catalog(ORCH)


def test_causes_and_messages_are_the_recorded_ones(reference: Callable[[str], Any], catalog: Catalog) -> None:
    """Validation finds the reference's causes with its messages in at least as many cases as before."""
    total: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    messages: Counter[str] = Counter()
    for case in _cases(reference("validation"), catalog):
        same, told, text = _compare(case)
        total[case.kind] += 1
        causes[case.kind] += same
        messages[case.kind] += told
        if not told:
            sys.stdout.write("\n" + text)
    for kind, count in total.most_common():
        sys.stdout.write("\n" + f"{kind}: {causes[kind]}/{messages[kind]} of {count}")
    sys.stdout.write("\n" + f"all: {causes.total()}/{messages.total()} of {total.total()}")
    assert causes.total() >= FLOOR_CAUSES
    assert messages.total() >= FLOOR_MESSAGES
