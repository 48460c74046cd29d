"""The audit record of one request, and its events (audit API group, kind Event)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final

import orjson
from zope.interface import implementer

from orchd.dialect import Dialect
from orchd.kinds.codec import yaml_
from orchd.kinds.jsonvalues import Object, without_managed_fields
from orchd.kinds.times import microtime
from orchd.kinds.users import User
from orchd.server.admission.interfaces import PATCH_ANNOTATION
from orchd.server.pipeline.audit.policy import LEVELS, RECEIVED, REQUEST, RESPONSE, Rule
from orchd.server.pipeline.interfaces import IArrival, IBody, Request, Response, whole

_AGENT = 1024
#: Maximum size in bytes of a body that is parsed as a Status.
_STATUS_BEGINS = 100
_CUT = "...TRUNCATED"


@implementer(IBody)
class RecordedFields:
    """A body that records the decoded object, for audit levels that include the request object."""

    def __init__(self, body: IBody) -> None:
        self._body = body
        self.value = body.value
        self.data = b""

    @property
    def length(self) -> int | None:
        length: int | None = self._body.length
        return length

    @property
    def arrival(self) -> IArrival | None:
        arrival: IArrival | None = self._body.arrival
        return arrival

    async def read(self, limit: int) -> bytes:
        self.data = await self._body.read(limit)
        return self.data

    async def piece(self) -> bytes:
        """Bodies that are forwarded are no objects of this server: nothing is recorded."""
        piece: bytes = await self._body.piece()
        return piece


#: The members of a Status body that events of the specification's release repeat: those of bounded size.
STATUS_MEMBERS: Final = ("status", "reason")
#: Those that events repeat, by release.
STATUS_MEMBERS_BY_RELEASE: Final = (("", STATUS_MEMBERS), ("1.25", (*STATUS_MEMBERS, "message", "details")))


class Record:
    """The attributes of a request that rules match. `user` is the authenticated user, None without one."""

    def __init__(self, dialect: Dialect, request: Request, rule: Rule, user: User | None, received: float) -> None:
        self.rule = rule
        self._dialect = dialect
        self._request = request
        self._user = user
        self._received = microtime(received)
        self._body: RecordedFields | None = None
        if rule.level >= REQUEST:
            body = self._body = RecordedFields(request.body)
            request.body = body

    def event(self, stage: str, now: float, status: Object | None = None, response: Any = None) -> Object:
        """The event of a stage. `status` is the response status, `response` the response object."""
        request, level = self._request, self.rule.level
        out: Object = {
            "kind": "Event",
            "apiVersion": self._dialect("audit.{abbr}.io/v1"),
            "level": LEVELS[level],
            "auditID": request.trace.audit_id,
            "stage": stage,
            "requestURI": request.uri(),
            "verb": "" if request.info is None else request.info.verb,
            "user": {} if self._user is None else self._user.as_json(),
        }
        if request.impersonator is not None and request.user is not None:
            out["impersonatedUser"] = request.user.as_json()
        addresses = source_addresses(request)
        if addresses:
            out["sourceIPs"] = addresses
        agent = request.header("user-agent")
        if agent:
            out["userAgent"] = agent if len(agent) <= _AGENT else agent[:_AGENT] + _CUT
        ended = stage != RECEIVED
        reference = self._reference(ended)
        if reference:
            out["objectRef"] = reference
        if status is not None:
            out["responseStatus"] = status
        if ended and level >= REQUEST:
            sent = self._request_object()
            if sent is not None:
                out["requestObject"] = self._represent(sent)
        if ended and level >= RESPONSE and response is not None:
            out["responseObject"] = self._represent(response)
        out["requestReceivedTimestamp"] = self._received
        out["stageTimestamp"] = self._received if not ended else microtime(now)
        if ended and request.trace.annotations:
            out["annotations"] = self._annotations()
        return out

    def _annotations(self) -> dict[str, str]:
        """Annotations sorted by key; without those that show parts of objects where the level excludes objects."""
        hidden = "" if self.rule.level >= REQUEST else self._dialect(PATCH_ANNOTATION)
        items = sorted(self._request.trace.annotations.items())
        return {key: text for key, text in items if not hidden or not key.startswith(hidden)}

    def _reference(self, ended: bool) -> Object:
        """The objectRef of the request: from its URL, or from its object once that has been read."""
        info = self._request.info
        if info is None or not info.is_resource:
            return {}
        metadata: Mapping[str, Any] = {}
        if ended and isinstance(self._request.trace.body, dict):
            metadata = self._request.trace.body.get("metadata") or {}
        members = {
            "resource": info.resource,
            "namespace": info.namespace or metadata.get("namespace", ""),
            "name": info.name or metadata.get("name", ""),
            "uid": metadata.get("uid", ""),
            "apiGroup": info.group,
            "apiVersion": info.version,
            "resourceVersion": metadata.get("resourceVersion", ""),
            "subresource": info.subresource,
        }
        return {name: text for name, text in members.items() if text}

    def _request_object(self) -> Any:
        """The request object as decoded; for a patch the body."""
        info = self._request.info
        if self._request.trace.body is not None or info is None or info.verb != "patch":
            return self._request.trace.body
        data = self._body.data if self._body is not None else b""
        return _patch(data) if data else None

    def _represent(self, obj: Any) -> Any:
        return strip_managed_fields(obj) if self.rule.omits_managed_fields else obj


def status_of(code: int, response: Any = None, members: Sequence[str] = STATUS_MEMBERS) -> Object:
    """The responseStatus of a response; of a Status body, only `members`."""
    out: Object = {"metadata": {}}
    if isinstance(response, dict) and response.get("kind") == "Status" and response.get("apiVersion") == "v1":
        out.update((name, response[name]) for name in members if response.get(name) or response.get(name) == {})
    out["code"] = code
    return out


def recorded_response(response: Response, *, with_body: bool) -> Any:
    """The object in a response, None for a stream, a body that is not JSON, and a document without a kind. Unless
    `with_body`, only a Status is parsed, since it holds the outcome: parsing large objects is expensive."""
    if response.stream is not None or not response.content_type.startswith("application/json"):
        return None
    body = response.body
    if not with_body and not (isinstance(body, bytes) and b'"Status"' in body[:_STATUS_BEGINS]):
        return None
    recorded = _json(whole(body))
    return recorded if isinstance(recorded, dict) and "kind" in recorded else None


def source_addresses(request: Request) -> list[str]:
    """Source addresses: those in proxy headers, in their order, then the peer."""
    addresses = [text.strip() for value in request.headers.get("x-forwarded-for", ()) for text in value.split(",")]
    addresses = [text for text in addresses if _is_address(text)]
    real = request.header("x-real-ip").strip()
    if _is_address(real) and real not in addresses:
        addresses.append(real)
    remote = request.credentials.remote
    if remote and (not addresses or addresses[-1] != remote):
        addresses.append(remote)
    return addresses


def strip_managed_fields(value: Any) -> Any:
    """An object, or a list of them, without metadata.managedFields."""
    if not isinstance(value, dict):
        return value
    out, items = without_managed_fields(value), value.get("items")
    return {**out, "items": [strip_managed_fields(item) for item in items]} if isinstance(items, list) else out


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _json(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def _patch(data: bytes) -> Any:
    """The patch as JSON: apply patches may be YAML."""
    document = _json(data)
    if document is not None:
        return document
    try:
        return yaml_.decode(data)
    except yaml_.YAMLError:
        return None
