"""Conversion of custom objects by a webhook (specification, "Webhook conversion"): ConversionReview and its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from orchd.dialect import Dialect
from orchd.errors import ApiError, quoted
from orchd.kinds.catalog import Resource, split_group_version
from orchd.server.webhookclient import WebhookError

Object = dict[str, Any]

#: Seconds that a conversion may take.
SECONDS = 30.0
_GROUP = "apiextensions.{abbr}.io"
_SPOKEN = ("v1", "v1beta1")
#: Members of metadata that a webhook may change; the others stay what they were.
_ITS_OWN = ("labels", "annotations")


class Posts(Protocol):
    """Posts documents to webhooks (`orchd.server.webhookclient`)."""

    async def post(self, where: Mapping[str, Any], document: Any, seconds: float) -> dict[str, Any]: ...


class Conversion:
    """Converts objects of kinds whose definitions name a webhook. `uid` makes random UUIDs."""

    def __init__(self, webhooks: Posts, dialect: Dialect, uid: Callable[[], str]) -> None:
        self._webhooks = webhooks
        self._dialect = dialect
        self._uid = uid

    async def __call__(self, resource: Resource, objects: Sequence[Object], to: str) -> list[Object]:
        """The objects, all of `resource`'s kind, in the version with apiVersion `to`. Raises ApiError 500."""
        wanted = [obj for obj in objects if obj["apiVersion"] != to]
        if not wanted:
            return list(objects)
        source = f"{wanted[0]['apiVersion']}, Kind={resource.kind}"
        try:
            given = iter(await self._asked(resource.converter or {}, wanted, to))
        except (WebhookError, _BadReviewError) as error:
            raise ApiError(500, "", f"conversion webhook for {source} failed: {error}") from error
        found = list(given)
        if len(found) != len(wanted):
            raise ApiError(
                500, "", f"conversion webhook for {source} returned {len(found)} objects, expected {len(wanted)}"
            )
        converted = iter(
            _checked(obj, new, to, source, index) for index, (obj, new) in enumerate(zip(wanted, found, strict=True))
        )
        return [obj if obj["apiVersion"] == to else next(converted) for obj in objects]

    async def _asked(self, webhook: Mapping[str, Any], objects: list[Object], to: str) -> list[Any]:
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
        answer = await self._webhooks.post(webhook.get("clientConfig") or {}, document, SECONDS)
        response = answer.get("response")
        if not isinstance(response, dict):
            raise _BadReviewError("no response provided")
        if version == "v1":
            if (answer.get("apiVersion"), answer.get("kind")) != (api_version, "ConversionReview"):
                found = f"{answer.get('apiVersion') or '/'}, Kind={answer.get('kind') or ''}"
                raise _BadReviewError(f"expected webhook response of {api_version}, Kind=ConversionReview, got {found}")
            if response.get("uid", "") != uid:
                raise _BadReviewError(f"expected response.uid={quoted(uid)}, got {quoted(str(response.get('uid', '')))}")
        result = response.get("result") or {}
        if result.get("status") != "Success":
            why = result.get("message") or f"response.result.status was '{result.get('status', '')}', not 'Success'"
            raise _BadReviewError(why)
        converted = response.get("convertedObjects")
        return converted if isinstance(converted, list) else []


class _BadReviewError(Exception):
    """An answer that is none."""


def _checked(obj: Object, new: Any, to: str, source: str, index: int) -> Object:
    """A converted object with the metadata that it must keep. Raises ApiError 500."""

    def wrong(why: str) -> ApiError:
        where = f"conversion webhook for {source} returned invalid"
        return ApiError(500, "", f"{where} converted object at index {index}: {why}")

    if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
        raise wrong("missing metadata")
    if new.get("apiVersion") != to:
        expected, received = (split_group_version(str(text))[1] for text in (to, new.get("apiVersion") or ""))
        raise wrong(f"invalid groupVersion (expected {expected}, received {received})")
    if new.get("kind") != obj["kind"]:
        raise wrong(f"must have the same kind: {new.get('kind')} != {obj['kind']}")
    before, after = obj.get("metadata") or {}, new["metadata"]
    for member in ("name", "namespace", "uid"):
        if after.get(member, "") != before.get(member, ""):
            named = "UID" if member == "uid" else member
            raise wrong(f"must have the same {named}: {before.get(member, '')} != {after.get(member, '')}")
    kept = {key: value for key, value in before.items() if key not in _ITS_OWN}
    return {**new, "metadata": {**kept, **{key: after[key] for key in _ITS_OWN if after.get(key)}}}
