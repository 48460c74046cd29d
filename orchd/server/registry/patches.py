"""JSON patches, merge patches and strategic merge patches, applied to an object of the requested version."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from orchd.kinds import bounds, nested
from orchd.kinds.canonical import canonicalize
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec import decode, json_
from orchd.kinds.codec.mediatype import MERGE_PATCH, STRATEGIC_PATCH
from orchd.kinds.gotext.values import plain
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import shape, strict
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.patch import decode_result, json_patch, merge_patch, patch_errors, strategic
from orchd.kinds.release import Release
from orchd.kinds.strictness import Strictness
from orchd.server.registry.operations import Patch
from orchd.values import value_class

_TEXT: Final = Type("string")


@value_class(kw_only=True)
class PatchRules:
    """One patch, for objects of one resource.

    `make` applies it to an object in the requested version; `quote` makes the text by which errors quote a result that
    does not match the type: the object, or the patch itself. `repeated` returns strict decoding errors of the patch,
    `unknown` those of a result. All may raise ApiError: a patch is parsed only once the object exists."""

    #: True for a strategic merge patch.
    typed: bool
    make: Callable[[Object], Object]
    quote: Callable[[Object], str]
    repeated: Callable[[], list[str]]
    unknown: Callable[[Object], list[str]]

    @classmethod
    def of(cls, patch: Patch, resource: Resource, release: Release) -> PatchRules:
        """The rules of the patch's media type."""
        type, data = resource.type, patch.data
        custom, strategic_ = shape.is_custom(type), patch.media_type == STRATEGIC_PATCH
        if strategic_:
            make: Callable[[Object], Object] = partial(
                _strategic, data, resource, release.choose(strategic.NEW_MEMBERS)
            )
        else:
            make = partial(
                _apply_merge if patch.media_type == MERGE_PATCH else _apply_operations, data, patch.strictness
            )
        listed, located = strategic_ or patch.media_type == MERGE_PATCH, patch.strictness.located
        unknown: Callable[[Object], list[str]] = partial(strict.names, type=type, located=located)
        if custom or strategic_:
            unknown = partial(strict.paths, type=type, metadata=located)
        return cls(
            typed=strategic_,
            make=make,
            quote=partial(_plain, data) if strategic_ else _as_json,
            repeated=partial(_repeated_members if listed else _repeated_in_operations, data, located=located),
            unknown=unknown,
        )


def apply_patch(
    patch: Patch,
    resource: Resource,
    live: Object,
    catalog: Catalog,
    settings: ObjectSettings,
    earlier: Object | None = None,
) -> Object:
    """`live`, in the version of `resource`, after the patch, with canonical shape and defaults, which parts of
    `earlier` have. Raises ApiError 400 or 422."""
    rules = PatchRules.of(patch, resource, settings.release)
    raw = rules.make(live)
    if raw is not live:
        try:
            text = json_.encode(raw)
        except TypeError:
            # The result is nested too deeply.
            raise patch_errors.rejection() from None
        bounds.check_json(text, bounds.MAX_OBJECT_VALUES)
    named = _recognize(rules, resource, catalog, raw)
    changed = canonicalize(
        named, resource, settings, earlier, refuse=lambda why: patch_errors.unusable_result(rules.quote(raw), why)
    )
    if raw is not live and json_.may_be_out_of_range(patch.data):
        why = nested.out_of_range(changed)
        if why:
            raise patch_errors.unusable_result(rules.quote(raw), why)
    if patch.strictness.checks:
        why = patch.strictness.refusal([*rules.repeated(), *rules.unknown(raw)])
        if why:
            raise patch_errors.unusable_result(rules.quote(raw), why)
    return changed


def _recognize(rules: PatchRules, resource: Resource, catalog: Catalog, raw: Object) -> Object:
    """The result as an object of its endpoint's kind. Raises ApiError 422 for another kind."""
    if rules.typed:
        # This patch was applied to the fields of a type, which exclude apiVersion and kind.
        return {**raw, "apiVersion": resource.api_version, "kind": resource.kind}
    try:
        obj: Object = decode.patched_object(
            raw,
            catalog=catalog,
            api_version=resource.api_version,
            kind=resource.kind,
            type_=resource.type,
            custom=resource.custom,
        )
        return obj
    except decode.BodyError as error:
        raise patch_errors.unusable_result(rules.quote(raw), str(error)) from None


def _plain(data: bytes, result: Object) -> str:
    return plain(strategic.parse(data))


def _as_json(result: Object) -> str:
    # The reference sorts the members of a patched object, whose parts keep their order.
    return json_.encode(dict(sorted(result.items()))).decode()


def _repeated_members(data: bytes, *, located: bool) -> list[str]:
    return strict.duplicates(json_.decode_members(data), located=located)


def _repeated_in_operations(data: bytes, *, located: bool) -> list[str]:
    return json_patch.problems(json_.decode_members(data), located=located)


def _strategic(data: bytes, resource: Resource, new: strategic.NewMember, live: Object) -> Object:
    result = strategic.apply(live, data, resource.type, new)
    try:
        for name in ("kind", "apiVersion"):
            decode_result.restore(result.get(name), _TEXT)
        restored: Object = decode_result.restore(result, resource.type)
    except decode_result.RestoreError as error:
        raise patch_errors.unusable_result(_plain(data, live), str(error)) from None
    return restored


def _apply_merge(data: bytes, strictness: Strictness, live: Object) -> Object:
    if strictness.checks:
        merge_patch.check(data)
    return merge_patch.apply(live, data)


def _apply_operations(data: bytes, strictness: Strictness, live: Object) -> Object:
    if strictness.checks:
        json_patch.check(data)
    edited: Object = json_patch.apply(live, data)
    return edited
