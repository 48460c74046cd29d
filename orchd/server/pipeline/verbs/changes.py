"""Applies JSON patches, merge patches and strategic merge patches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from orchd.kinds import bounds
from orchd.kinds.catalog import Resource
from orchd.kinds.codec import decode, json_
from orchd.kinds.codec.mediatype import MERGE_PATCH, STRATEGIC_PATCH
from orchd.kinds.objects import shape, strict
from orchd.kinds.patch import decode_result, gotext, json_patch, merge_patch, patch_errors, strategic
from orchd.server.pipeline.verbs.context import VerbContext
from orchd.server.pipeline.verbs.strictness import Strictness
from orchd.server.registry.interfaces import Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One patch, for objects of one resource.

    `make` applies it to an object in the requested version; `shown` makes the text by which errors quote a result that
    does not match the type: the object, or the patch itself. `repeated` returns strict decoding errors of the patch,
    `unknown` those of a result. All may raise ApiError: a patch is parsed only once the object exists."""

    resource: Resource
    strictness: Strictness
    #: True for a strategic merge patch.
    typed: bool
    make: Callable[[Object], Object]
    shown: Callable[[Object], str]
    repeated: Callable[[], list[str]]
    unknown: Callable[[Object], list[str]]

    @classmethod
    def of(cls, sent: str, data: bytes, resource: Resource, strictness: Strictness) -> Change:
        """The change for a patch of the media type `sent`."""
        type = resource.type
        custom = shape.is_custom(type)
        unknown = partial(strict.paths if custom or sent == STRATEGIC_PATCH else strict.names, type=type)
        if sent == STRATEGIC_PATCH:
            make: Callable[[Object], Object] = partial(_strategic, data, resource)
            repeated = partial(_repeated, data)
        elif sent == MERGE_PATCH:
            make, repeated = partial(_merged, data, strictness), partial(_repeated, data)
        else:
            make, repeated = partial(_edited, data, strictness), partial(_repeated_in_operations, data)
        return cls(
            resource=resource,
            strictness=strictness,
            typed=sent == STRATEGIC_PATCH,
            make=make,
            shown=partial(_plain, data) if sent == STRATEGIC_PATCH else _as_json,
            repeated=repeated,
            unknown=unknown,
        )

    def apply(self, tools: VerbContext, live: Object) -> Object:
        """Apply: returns the changed object, with canonical shape and defaults. Raises ApiError 400 or 422."""
        raw = self.make(live)
        if raw is not live:
            try:
                text = json_.encode(raw)
            except TypeError:
                # The result is nested too deeply.
                raise patch_errors.rejected() from None
            bounds.check_json(text)
        changed = tools.canonicalize(self._recognized(tools, raw), self.resource, patched=lambda: self.shown(raw))
        if self.strictness.looks:
            why = self.strictness.refusal([*self.repeated(), *self.unknown(raw)])
            if why:
                raise patch_errors.unusable_result(self.shown(raw), why)
        return changed

    def _recognized(self, tools: VerbContext, raw: Object) -> Object:
        """The result as an object of its endpoint's kind. Raises ApiError 422 for another kind."""
        resource = self.resource
        if self.typed:
            # This patch was applied to the fields of a type, which exclude apiVersion and kind.
            return {**raw, "apiVersion": resource.api_version, "kind": resource.kind}
        try:
            found: Object = decode.patched_object(
                raw,
                catalog=tools.catalog(),
                api_version=resource.api_version,
                kind=resource.kind,
                type_=resource.type,
                custom=resource.custom,
            )
            return found
        except decode.BodyError as error:
            raise patch_errors.unusable_result(self.shown(raw), str(error)) from None


def _plain(data: bytes, result: Object) -> str:
    return gotext.plain(strategic.parse(data))


def _as_json(result: Object) -> str:
    return json_.encode(result).decode()


def _repeated(data: bytes) -> list[str]:
    return strict.duplicates(json_.decode_members(data))


def _repeated_in_operations(data: bytes) -> list[str]:
    return json_patch.problems(json_.decode_members(data))


def _strategic(data: bytes, resource: Resource, live: Object) -> Object:
    try:
        restored: Object = decode_result.restore(strategic.apply(live, data, resource.type), resource.type)
    except decode_result.RestoreError as error:
        raise patch_errors.unusable_result(_plain(data, live), str(error)) from None
    return restored


def _merged(data: bytes, strictness: Strictness, live: Object) -> Object:
    if strictness.looks:
        merge_patch.check(data)
    return merge_patch.apply(live, data)


def _edited(data: bytes, strictness: Strictness, live: Object) -> Object:
    if strictness.looks:
        json_patch.check(data)
    edited: Object = json_patch.apply(live, data)
    return edited
