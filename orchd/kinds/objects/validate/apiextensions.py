"""Validation of custom resource definitions: names, versions, conversion, columns, subresources, approval of protected
groups.

The reference validates an internal form in which what all versions share is in the spec; paths in errors are those of
that form.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.crd.conditions import authority_error, is_established
from orchd.kinds.gotext.structs import dump
from orchd.kinds.gotext.values import GoText
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import Reworded, by_release, reworded, since
from orchd.kinds.objects.schema_check.definitions.approval import check as check_approval
from orchd.kinds.objects.schema_check.definitions.options import (
    Options,
    beta,
    has_defaults,
    has_extensions,
    options_after,
)
from orchd.kinds.objects.schema_check.definitions.schema import check as schema_rules
from orchd.kinds.objects.schema_check.definitions.schema import internal_schema, is_fine
from orchd.kinds.objects.validate import admissionregistration, meta
from orchd.kinds.objects.validate.names import label_1035, subdomain, subdomain_name
from orchd.kinds.objects.validate.paths import SPEC, STATUS, Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectable_fields import validate_selectable_fields
from orchd.kinds.objects.validate.webhooks import client

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_NOT_WEBHOOK: Final = "should not be set when strategy is not set to Webhook"


def create(value: Object, report: Report, *, old_form: bool = False) -> None:
    """Validate a new definition. `old_form`: it was sent in v1beta1, which has weaker rules."""
    metadata, spec = fields.metadata(value), fields.spec(value)
    _metadata(value, spec, report)
    _spec(spec, report, beta(None, (), report.dialect) if old_form else Options(), known_reviews=True)
    _status(value, report)
    _stored_versions(value, report)
    if not old_form:
        check_approval(metadata, spec, report)
        _preserves(spec, report)


def _metadata(value: Object, spec: Object, report: Report) -> None:
    expected = f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}"

    def rule(name: str, prefix: bool) -> list[str]:
        wrong = list(subdomain_name(name, prefix))
        if name != expected:
            wrong.append('must be spec.names.plural+"."+spec.group')
        return wrong

    meta.create(value, report, namespaced=False, name_rule=rule, core=False)


def _preserves(spec: Object, report: Report) -> None:
    if spec.get("preserveUnknownFields"):
        words = "cannot set to true, set {} to true in spec.versions[*].schema instead"
        why = reworded(
            words.format("x-preserve-unknown-fields"),
            ("1.35", words.format(report.dialect("x-{long}-preserve-unknown-fields"))),
        )
        report.invalid(SPEC / "preserveUnknownFields", True, why)


def _schema_of(version: Object) -> Any:
    return (version.get("schema") or {}).get("openAPIV3Schema")


def _spec(spec: Object, report: Report, options: Options, *, known_reviews: bool) -> None:
    """`known_reviews`: a conversion webhook must accept a review version that this server supports."""
    group, scope = spec.get("group") or "", spec.get("scope") or ""
    if not group:
        report.required(SPEC / "group")
    else:
        wrong = subdomain(group)
        if wrong:
            report.invalid(SPEC / "group", group, ",".join(wrong))
        elif "." not in group:
            report.invalid(SPEC / "group", group, "should be a domain with at least one dot")
    if not scope:
        report.required(SPEC / "scope")
    elif scope not in ("Cluster", "Namespaced"):
        report.unsupported(SPEC / "scope", scope, ("Cluster", "Namespaced"))
    versions = spec.get("versions") or []
    options = _schemas_there(spec, versions, report, options)
    _versions(spec.get("versions"), report, options)
    names = spec.get("names") or {}
    for member in ("plural", "singular", "kind", "listKind"):
        if not names.get(member):
            report.required(SPEC / "names" / member)
    _names(names, SPEC / "names", report)
    if versions and _is_shared(versions, "schema"):
        any_status = any(_serves_status(v) for v in versions)
        _schema(versions[0], SPEC / "validation" / "openAPIV3Schema", report, options, status=any_status)
    if versions and _is_shared(versions, "subresources"):
        _subresources(versions[0].get("subresources") or {}, SPEC / "subresources", report)
    if versions and _is_shared(versions, "additionalPrinterColumns"):
        _columns(versions[0], SPEC / "additionalPrinterColumns", report)
    if versions and _is_shared(versions, "schema") and _is_shared(versions, "selectableFields"):
        validate_selectable_fields(versions[0], _schema_of(versions[0]), SPEC / "selectableFields", report)
    conversion = spec.get("conversion") or {}
    if spec.get("preserveUnknownFields") and conversion.get("strategy") not in (None, "None"):
        why = "must be None if spec.preserveUnknownFields is true"
        report.invalid(SPEC / "conversion" / "strategy", conversion["strategy"], why)
    if spec.get("conversion") is not None:
        _conversion(conversion, SPEC / "conversion", report, known_reviews=known_reviews)


def _schemas_there(spec: Object, versions: list[Object], report: Report, options: Options) -> Options:
    """Report versions without a schema. Returns the options, extended by what the schemas require."""
    preserve = bool(spec.get("preserveUnknownFields"))
    schemas = [_schema_of(version) for version in versions]
    shared = bool(versions) and schemas[0] is not None and _is_shared(versions, "schema")
    for i, version in enumerate(() if shared else versions):
        if schemas[i] is not None:
            continue
        here = (SPEC / "versions")[i] / "schema" / "openAPIV3Schema"
        if options.schemas:
            report.required(here, reworded("schemas are required", ("1.35", "")))
        elif not preserve and version.get("served"):
            report.required(here, "because otherwise all fields are pruned")
    if options.no_defaults is None and any(map(has_defaults, schemas)):
        options = replace(options, structural=True)
        if preserve:
            why = "must be false in order to use defaults in the schema"
            report.invalid(SPEC / "preserveUnknownFields", True, why)
    if not preserve or any(has_extensions(schema, report.dialect) for schema in schemas):
        options = replace(options, structural=True)
    return options


#: Members that the reference keeps once where all versions share them.
_MOVABLE: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def _is_shared(versions: list[Object], member: str) -> bool:
    return all((v.get(member) or None) == (versions[0].get(member) or None) for v in versions)


def _serves_status(version: Object) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _inner(versions: list[Object] | None, dialect: Dialect) -> GoText:
    """The versions as messages print them."""
    moved = _moved(versions or [])
    printed = None if versions is None else [_printed(each, moved, dialect) for each in versions]
    return dump("[]apiextensions.CustomResourceDefinitionVersion", printed)


def _moved(versions: list[Object]) -> set[str]:
    """The members that the reference does not keep in the versions, since all of them share it."""
    return {member for member in _MOVABLE if versions and _is_shared(versions, member)}


def _printed(version: Object, moved: set[str], dialect: Dialect) -> Object:
    """A version with the fields of the reference's internal type, without the members that were moved."""
    kept = {k: v for k, v in version.items() if k not in moved}
    schema = (kept.get("schema") or {}).get("openAPIV3Schema")
    return kept if schema is None else {**kept, "schema": {"openAPIV3Schema": internal_schema(schema, dialect)}}


def _versions(listed: list[Object] | None, report: Report, options: Options) -> None:
    at, versions = SPEC / "versions", listed or []
    apart = {m for m in _MOVABLE if versions and not _is_shared(versions, m)}
    for i, version in enumerate(versions):
        here, name = at[i], version.get("name") or ""
        wrong = label_1035(name)
        if wrong:
            report.invalid(here / "name", name, ",".join(wrong))
        _deprecation(version, here / "deprecationWarning", report)
        if "schema" in apart:
            status = _serves_status(version)
            _schema(version, here / "schema" / "openAPIV3Schema", report, options, status=status)
        if "subresources" in apart:
            _subresources(version.get("subresources") or {}, here / "subresources", report)
        if "additionalPrinterColumns" in apart:
            _columns(version, here / "additionalPrinterColumns", report)
        if {"schema", "selectableFields"} & apart:
            validate_selectable_fields(version, _schema_of(version), here / "selectableFields", report)
    names = [v.get("name") for v in versions]
    if len(set(names)) != len(names):
        report.invalid(at, _inner(listed, report.dialect), "must contain unique version names")
    if sum(bool(v.get("storage")) for v in versions) != 1:
        report.invalid(at, _inner(listed, report.dialect), "must have exactly one version marked as storage version")
    if versions and names[0]:
        wrong = label_1035(names[0])
        if wrong:
            report.invalid(SPEC / "version", names[0], ",".join(wrong))


def _deprecation(version: Object, at: Path, report: Report) -> None:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        report.invalid(at, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > 256:
        report.invalid(at, warning, "must be <= 256 characters long")
    if not warning:
        report.invalid(at, warning, "must not be an empty string")
    for i, char in enumerate(warning):
        if not char.isprintable():
            why = f"non-printable character found at index {len(warning[:i].encode())}"
            report.invalid(at, warning, f"must only contain printable UTF-8 characters; {why}")
            break


def _schema(version: Object, at: Path, report: Report, options: Options, *, status: bool) -> None:
    schema = _schema_of(version)
    if schema is not None:
        schema_rules(schema, at, report, options, status=status)


def _names(names: Object, at: Path, report: Report) -> None:
    for member in ("plural", "singular"):
        wrong = label_1035(names[member]) if names.get(member) else ()
        if wrong:
            report.invalid(at / member, names[member], ",".join(wrong))
    for member in ("kind", "listKind"):
        text = names.get(member) or ""
        wrong = label_1035(text.lower()) if text else ()
        if wrong:
            why = "may have mixed case, but should otherwise match: " + ",".join(wrong)
            report.invalid(at / member, text, why)
    for i, text in enumerate(names.get("shortNames") or ()):
        wrong = label_1035(text)
        if wrong:
            report.invalid((at / "shortNames")[i], text, ",".join(wrong))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        report.invalid(at / "listKind", names["listKind"], "kind and listKind may not be the same")
    for i, text in enumerate(names.get("categories") or ()):
        wrong = label_1035(text)
        if wrong:
            report.invalid((at / "categories")[i], text, ",".join(wrong))


def _json_path(text: str, at: Path, report: Report) -> bool:
    if not text.startswith("."):
        report.invalid(at, text, "must be a simple json path starting with .")
        return False
    return True


def _subresources(value: Object, at: Path, report: Report) -> None:
    scale = value.get("scale")
    if scale is None:
        return
    for member, head in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        text, here = scale.get(member) or "", at / "scale" / member
        if not text:
            report.required(here)
        elif _json_path(text, here, report) and not text.startswith(head + "."):
            report.invalid(here, text, f"should be a json path under {head}")
    text = scale.get("labelSelectorPath") or ""
    here = at / "scale" / "labelSelectorPath"
    if text and _json_path(text, here, report) and not text.startswith((".spec.", ".status.")):
        report.invalid(here, text, "should be a json path under either .spec or .status")


def _columns(version: Object, at: Path, report: Report) -> None:
    for i, column in enumerate(version.get("additionalPrinterColumns") or ()):
        here = at[i]
        kind, form, path = column.get("type") or "", column.get("format") or "", column.get("jsonPath") or ""
        if not column.get("name"):
            report.required(here / "name")
        if not kind:
            report.required(here / "type", f"must be one of {','.join(_COLUMN_TYPES)}")
        elif kind not in _COLUMN_TYPES:
            report.invalid(here / "type", kind, f"must be one of {','.join(_COLUMN_TYPES)}")
        if form and form not in _COLUMN_FORMATS:
            report.invalid(here / "format", form, f"must be one of {','.join(_COLUMN_FORMATS)}")
        if not path:
            report.required(here / "JSONPath")
        else:
            _json_path(path, here / "JSONPath", report)


def _conversion(conversion: Object, at: Path, report: Report, *, known_reviews: bool) -> None:
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    if not strategy:
        report.required(at / "strategy")
    elif strategy not in ("None", "Webhook"):
        report.unsupported(at / "strategy", strategy, ("None", "Webhook"))
    config, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy != "Webhook":
        if config is not None:
            report.forbidden(at / "webhookClientConfig", _NOT_WEBHOOK)
        if versions:
            report.forbidden(at / "conversionReviewVersions", _NOT_WEBHOOK)
        return
    if config is None:
        report.required(at / "webhookClientConfig", "required when strategy is set to Webhook")
    else:
        client(config, at / "webhookClientConfig", report)
    if not versions:
        report.required(at / "conversionReviewVersions")
    else:
        admissionregistration.review_versions(
            versions, at / "conversionReviewVersions", report, lenient=not known_reviews
        )


def _valid_authority(spec: Object, old: Object, report: Report) -> None:
    """A conversion webhook of an established kind needs a usable caBundle, unless the stored one is not."""
    error = authority_error(spec)
    if error and is_established(old) and not authority_error(fields.spec(old)):
        at = SPEC / "conversion" / "webhookClientConfig" / "caBundle"
        bundle = spec["conversion"]["webhook"]["clientConfig"]["caBundle"]
        report.invalid(at, bundle, f"unable to load root certificates: {error}")


_changed_authority = since("1.31", _valid_authority)


def _status(value: Object, report: Report) -> None:
    _names(fields.status(value).get("acceptedNames") or {}, STATUS / "acceptedNames", report)


def _stored_versions(value: Object, report: Report) -> None:
    stored = fields.status(value).get("storedVersions") or []
    at = STATUS / "storedVersions"
    if not stored:
        report.invalid(at, dump("[]string", None), "must have at least one stored version")
        return
    versions = fields.spec(value).get("versions") or []
    # Every version accounts for one stored version: a repeated storage version has none left.
    remaining = {version: i for i, version in enumerate(stored)}
    for i, version in enumerate(versions):
        name = version.get("name")
        if version.get("storage") and name not in remaining:
            report.invalid(at, _without_storage(versions, i, stored, report), f"must have the storage version {name}")
        remaining.pop(name, None)
    for version, i in remaining.items():
        report.invalid(at[i], version, _still_stored(version))


def _still_stored(version: str) -> Reworded:
    """The errors of the removal of a version in which objects may be stored."""
    return reworded(
        "must appear in spec.versions",
        (
            "1.35",
            f"missing from spec.versions; {version} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {version} and removes {version} from "
            f"status.storedVersions",
        ),
    )


def _print_version(versions: list[Object], index: int, dialect: Dialect) -> GoText:
    """A version as messages print it."""
    printed = _printed(versions[index], _moved(versions), dialect)
    return dump("apiextensions.CustomResourceDefinitionVersion", printed)


def _storage_version(versions: list[Object], index: int, stored: list[str], report: Report) -> GoText:
    return _print_version(versions, index, report.dialect)


def _stored_versions_as_sent(versions: list[Object], index: int, stored: list[str], report: Report) -> GoText:
    return dump("[]string", stored)


#: What the error about a storage version that was not stored prints.
_without_storage = by_release(_storage_version, ("1.35", _stored_versions_as_sent))


def update(value: Object, old: Object, report: Report, *, old_form: bool = False) -> None:
    """Validate a change. `old_form`: the definition was sent in v1beta1."""
    spec, before = fields.spec(value), fields.spec(old)
    meta.update(value, old, report, core=False)
    versions = before.get("versions") or ()
    schemas = [_schema_of(version) for version in versions]
    # A definition that satisfies a rule must continue to.
    fine = all(
        schema is not None and is_fine(schema, report.settings, status=_serves_status(version))
        for schema, version in zip(schemas, versions, strict=True)
    )
    options = Options() if fine else options_after(schemas, report.dialect)
    if old_form:
        options = beta(options, schemas, report.dialect)
    reviews = fields.mapping(before, "conversion", "webhook").get("conversionReviewVersions") or ()
    is_supported = not reviews or not set(reviews).isdisjoint(admissionregistration.REVIEW_VERSIONS)
    _spec(spec, report, options, known_reviews=is_supported)
    _changed_authority(spec, old, report)
    if is_established(old):
        # Names in use are immutable.
        report.immutable(SPEC / "scope", spec.get("scope"), before.get("scope"))
        report.immutable(SPEC / "names" / "kind", _name(spec, "kind"), _name(before, "kind"))
    report.immutable(SPEC / "group", spec.get("group"), before.get("group"))
    report.immutable(SPEC / "names" / "plural", _name(spec, "plural"), _name(before, "plural"))
    _status(value, report)
    _stored_versions(value, report)
    if old_form:
        return
    check_approval(fields.metadata(value), spec, report, fields.metadata(old))
    if not before.get("preserveUnknownFields"):
        _preserves(spec, report)


def _name(spec: Object, member: str) -> Any:
    return (spec.get("names") or {}).get(member)


def update_status(value: Object, old: Object, report: Report) -> None:
    """Validate a change of the status. Stored versions may be removed, which ends migrations."""
    meta.update(value, old, report, core=False)
    _status(value, report)
