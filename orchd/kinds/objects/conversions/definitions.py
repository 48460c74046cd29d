"""Conversion of CustomResourceDefinitions of v1beta1, in which the spec holds the members that all versions share."""

from __future__ import annotations

from typing import Final

from orchd import errors
from orchd.errors import Cause
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog
from orchd.kinds.jsonvalues import Object

#: Member of the v1beta1 spec -> the corresponding member of a version, and its plural in messages.
_SHARED: Final = (
    ("validation", "schema", "schemas"),
    ("subresources", "subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns", "additionalPrinterColumns"),
)


def from_v1beta1(obj: Object, catalog: Catalog) -> Object:
    """Convert a definition from v1beta1 to v1. Raises ApiError 422 if a member is set in the spec and in versions."""
    spec = dict(fields.spec(obj))
    versions = [_columns(version, "JSONPath", "jsonPath") for version in spec.pop("versions", None) or ()]
    version = spec.pop("version", None)
    if version and not versions:
        versions = [{"name": version, "served": True, "storage": True}]
    shared = {member: spec.pop(member) for member, _, _ in _SHARED if spec.get(member) is not None}
    _check(obj, version, versions, shared, catalog)
    shared = _columns(shared, "JSONPath", "jsonPath")
    inside = {word: shared[member] for member, word, _ in _SHARED if member in shared}
    spec["versions"] = [{**each, **inside} for each in versions] or None
    conversion = dict(spec.get("conversion") or {})
    webhook = {}
    for member, old in (
        ("clientConfig", "webhookClientConfig"),
        ("conversionReviewVersions", "conversionReviewVersions"),
    ):
        value = conversion.pop(old, None)
        if value is not None:
            webhook[member] = value
    if webhook:
        conversion["webhook"] = webhook
    if conversion:
        spec["conversion"] = conversion
    return {**obj, "spec": spec}


def to_v1beta1(obj: Object, catalog: Catalog) -> Object:
    """Convert a definition from v1 to v1beta1."""
    spec = dict(fields.spec(obj))
    versions = [_columns(version, "jsonPath", "JSONPath") for version in spec.get("versions") or ()]
    if versions:
        spec["version"] = versions[0].get("name") or ""
    for member, word, _ in _SHARED:
        if versions and all((each.get(word) or None) == (versions[0].get(word) or None) for each in versions):
            if versions[0].get(word) is not None:
                spec[member] = versions[0][word]
            versions = [{key: value for key, value in each.items() if key != word} for each in versions]
    spec["versions"] = versions or None
    # Set explicitly: the default of v1beta1 is the opposite of that of v1.
    spec["preserveUnknownFields"] = bool(spec.get("preserveUnknownFields"))
    conversion = dict(spec.get("conversion") or {})
    webhook = conversion.pop("webhook", None) or {}
    for member, old in (
        ("clientConfig", "webhookClientConfig"),
        ("conversionReviewVersions", "conversionReviewVersions"),
    ):
        if webhook.get(member) is not None:
            conversion[old] = webhook[member]
    if conversion:
        spec["conversion"] = conversion
    return {**obj, "spec": spec}


def _columns(value: Object, old: str, new: str) -> Object:
    """A version, or the spec, with the path member of its columns renamed."""
    columns = value.get("additionalPrinterColumns")
    if not columns:
        return value
    renamed = [{new if key == old else key: item for key, item in column.items()} for column in columns]
    return {**value, "additionalPrinterColumns": renamed}


def _check(obj: Object, version: str | None, versions: list[Object], shared: Object, catalog: Catalog) -> None:
    causes = []
    for member, word, plural in _SHARED:
        if member in shared and any(each.get(word) for each in versions):
            why = f"top-level and per-version {plural} are mutually exclusive"
            causes.append(Cause("FieldValueForbidden", f"Forbidden: {why}", f"spec.{member}"))
    for member, word, plural in _SHARED:
        first = versions[0].get(word) if versions else None
        if first and member not in shared and all(each.get(word) == first for each in versions):
            why = (
                f"per-version {plural} may not all be set to identical values (top-level {member} should be "
                "used instead)"
            )
            causes.append(Cause("FieldValueInvalid", f"Invalid value: {why}", "spec.versions"))
    if version and versions and versions[0].get("name") != version:
        why = f'Invalid value: "{version}": must match the first version in spec.versions'
        causes.append(Cause("FieldValueInvalid", why, "spec.version"))
    if causes:
        name = fields.metadata(obj).get("name") or ""
        group = catalog.dialect("apiextensions.{abbr}.io")
        raise errors.invalid(group, "CustomResourceDefinition", name, causes)
