"""Conversion webhooks of custom kinds (specification, "Webhook conversion"): ConversionReview requests and
responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, Final, Protocol

import orjson

from orchd.dialect import Dialect
from orchd.errors import ApiError, quoted
from orchd.kinds import fields
from orchd.kinds.catalog import Resource
from orchd.kinds.gotext.values import go_type
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.schema_check.findings import aggregate
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.meta import annotation_rules
from orchd.kinds.objects.validate.paths import METADATA
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import labels as label_rules
from orchd.kinds.release import SPECIFICATION, Release
from orchd.server.outbound.webhooks import WebhookError
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Distribution, Instrument, ObservedCounter

#: Timeout of a conversion in seconds.
SECONDS = 30.0
_GROUP = "apiextensions.{abbr}.io"
_SPOKEN = ("v1", "v1beta1")
#: Members of metadata that a webhook may change; others are restored.
_ITS_OWN = ("labels", "annotations")


class Posts(Protocol):
    """Posts documents to webhooks (`orchd.server.outbound.webhooks`)."""

    async def post(self, where: Mapping[str, Any], document: Any, seconds: float) -> dict[str, Any]: ...


def _version(api_version: str) -> str:
    return api_version.rpartition("/")[2]


#: Bucket upper bounds in seconds of calls, and the first release that measures them.
_CALLS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60)
_CALLS_SINCE: Final = "1.29"


class ConversionWebhook:
    """Converts objects of kinds with a conversion webhook. `uid` makes random UUIDs."""

    def __init__(
        self, webhooks: Posts, dialect: Dialect, uid: Callable[[], str], release: Release = SPECIFICATION
    ) -> None:
        self._webhooks = webhooks
        self._dialect = dialect
        self._settings = ObjectSettings(dialect=dialect)
        self._uid = uid
        self._seconds = Distribution(
            "apiserver_crd_webhook_conversion_duration_seconds",
            "Duration of webhook conversions in seconds, by definition, versions and result.",
            exponential(0.001, 2, 15),
            ("crd_name", "from_version", "to_version", "succeeded"),
        )
        labels = ("result", "failure_type")
        self._calls = Distribution(
            "apiserver_conversion_webhook_duration_seconds",
            "Duration of calls of conversion webhooks in seconds, by result and type of failure.",
            _CALLS,
            labels,
        )
        later = (
            self._calls,
            ObservedCounter(
                "apiserver_conversion_webhook_request_total",
                "Calls of conversion webhooks, by result and type of failure.",
                self._calls.totals,
                labels,
            ),
        )
        #: Metrics.
        self.instruments: tuple[Instrument, ...] = (self._seconds, *(later if release.includes(_CALLS_SINCE) else ()))

    async def __call__(self, resource: Resource, objects: Sequence[Object], to: str) -> list[Object]:
        """Convert the objects, all of `resource`'s kind, to the version with apiVersion `to`. Raises ApiError 500."""
        outdated = [obj for obj in objects if obj["apiVersion"] != to]
        if not outdated:
            return list(objects)
        try:
            converted = iter(await self._convert(resource, outdated, to))
        except _BadResponseError as error:
            if len(outdated) == 1:
                raise ApiError(500, "", str(error)) from error
            # The reference converts one object per call. Find the invalid object, so that its error text can be
            # reproduced.
            converted = iter([await self._alone(resource, obj, to) for obj in outdated])
        return [obj if obj["apiVersion"] == to else next(converted) for obj in objects]

    async def _alone(self, resource: Resource, obj: Object, to: str) -> Object:
        try:
            return (await self._convert(resource, [obj], to))[0]
        except _BadResponseError as error:
            raise ApiError(500, "", str(error)) from error

    async def _convert(self, resource: Resource, objects: list[Object], to: str) -> list[Object]:
        """Raises ApiError 500 for failed calls, and `_BadResponseError`."""
        began, succeeded, trouble = perf_counter(), False, "call_failure"
        try:
            converted = await self._convert_all(resource, objects, to)
            succeeded, trouble = True, ""
            return converted
        except _BadResponseError as error:
            trouble = error.sort
            raise
        finally:
            result = ("success", "") if succeeded else ("failure", f"conversion_webhook_{trouble}")
            self._calls.observe(perf_counter() - began, *result)
            labels = f"{resource.plural}.{resource.group}", _version(objects[0]["apiVersion"]), _version(to)
            self._seconds.observe(perf_counter() - began, *labels, "true" if succeeded else "false")

    async def _convert_all(self, resource: Resource, objects: list[Object], to: str) -> list[Object]:
        source = f"conversion webhook for {objects[0]['apiVersion']}, Kind={resource.kind}"
        try:
            converted = await self._ask(resource.converter or {}, objects, to)
        except WebhookError as error:
            raise ApiError(500, "", f"{source} failed: {error}") from error
        except _BadReviewError as error:
            raise _BadResponseError(f"{source} failed: {error}", "malformed_response_failure") from error
        if len(converted) != len(objects):
            why = f"{source} returned {len(converted)} objects, expected {len(objects)}"
            raise _BadResponseError(why, "partial_response_failure")
        return [self._check(obj, new, to, source) for obj, new in zip(objects, converted, strict=True)]

    async def _ask(self, webhook: Mapping[str, Any], objects: list[Object], to: str) -> list[Any]:
        version = next((v for v in webhook.get("conversionReviewVersions") or () if v in _SPOKEN), "")
        if not version:
            raise _BadReviewError("webhook does not accept known ConversionReview versions")
        uid, api_version = self._uid(), f"{self._dialect(_GROUP)}/{version}"
        document = {
            "kind": "ConversionReview",
            "apiVersion": api_version,
            "request": {"uid": uid, "desiredAPIVersion": to, "objects": objects},
            "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
        }
        reply = await self._webhooks.post(webhook.get("clientConfig") or {}, document, SECONDS)
        response = reply.get("response")
        if not isinstance(response, dict):
            raise _BadReviewError("no response provided")
        if version == "v1":
            if (reply.get("apiVersion"), reply.get("kind")) != (api_version, "ConversionReview"):
                actual = f"{reply.get('apiVersion') or '/'}, Kind={reply.get('kind') or ''}"
                raise _BadReviewError(
                    f"expected webhook response of {api_version}, Kind=ConversionReview, got {actual}"
                )
            if response.get("uid", "") != uid:
                raise _BadReviewError(
                    f"expected response.uid={quoted(uid)}, got {quoted(str(response.get('uid', '')))}"
                )
        result = response.get("result") or {}
        if not isinstance(result, dict):
            raise _BadReviewError(f"response.result is of type {go_type(result)}")
        if result.get("status") != "Success":
            why = result.get("message") or f"response.result.status was '{result.get('status', '')}', not 'Success'"
            raise _BadReviewError(why)
        converted = response.get("convertedObjects")
        return converted if isinstance(converted, list) else []

    def _check(self, obj: Object, new: Any, to: str, source: str) -> Object:
        """Check a converted object and restore its metadata. Raises `_BadResponseError`."""
        if not isinstance(new, dict) or not new.get("kind"):
            raise _BadResponseError(f"Object 'Kind' is missing in '{orjson.dumps(new).decode()}'")
        at_first = f"{source} returned invalid object at index 0"
        if new.get("apiVersion") != to:
            raise _BadResponseError(
                f"{at_first}: invalid groupVersion (expected {to}, received {new.get('apiVersion') or ''})"
            )
        if new["kind"] != obj["kind"]:
            raise _BadResponseError(f"{at_first}: invalid kind (expected {obj['kind']}, received {new['kind']})")
        before, after = fields.metadata(obj), new.get("metadata")
        returned = after if isinstance(after, dict) else {}
        for member, named in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
            if returned.get(member, "") != before.get(member, ""):
                why = f"must have the same {named}: {before.get(member, '')} != {returned.get(member, '')}"
                raise _BadResponseError(f"{source} returned invalid object: {why}")
        wrong = self._wrong_metadata(before, new)
        if wrong:
            raise _BadResponseError(f"{source} returned invalid metadata: {wrong}")
        kept = {key: value for key, value in before.items() if key not in _ITS_OWN}
        return {**new, "metadata": {**kept, **{key: returned[key] for key in _ITS_OWN if returned.get(key)}}}

    def _wrong_metadata(self, before: Object, new: Object) -> str:
        if "metadata" not in new:
            return "missing metadata in converted object"
        after = new["metadata"]
        if not isinstance(after, dict):
            return f"invalid metadata of type {go_type(after)} in converted object"
        for member in _ITS_OWN:
            value = after.get(member)
            if value is None:
                continue
            if not isinstance(value, dict):
                return f"invalid metadata.{member} of type {go_type(value)} in converted object"
            for key, text in value.items():
                if not isinstance(text, str):
                    return f"metadata.{member}[{key}] must be a string, but is {go_type(text)} in converted object"
            if value != (before.get(member) or {}):
                report = Report(self._settings)
                if member == "labels":
                    label_rules(value, METADATA / "labels", report)
                else:
                    annotation_rules(value, METADATA / "annotation", report)
                if report.causes:
                    return aggregate(report.causes)
        return ""


class _BadReviewError(Exception):
    """A malformed ConversionReview."""


class _BadResponseError(Exception):
    """A malformed ConversionReview response, with the reference's message. `sort` is its type in metrics."""

    def __init__(self, text: str, sort: str = "invalid_converted_object_failure") -> None:
        super().__init__(text)
        self.sort = sort
