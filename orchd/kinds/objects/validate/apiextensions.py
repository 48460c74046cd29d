"""Custom resource definitions: names, versions, conversion, columns, subresources, approval of protected groups.

The reference validates an inner form in which what all versions share has moved to the spec, and names paths after it.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from orchd.kinds.objects.validate import admissionregistration, meta
from orchd.kinds.objects.validate.gosyntax import Go, dump
from orchd.kinds.objects.validate.paths import METADATA, SPEC, STATUS, Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.structural import schema as schema_rules
from orchd.kinds.objects.validate.webhooks import client
from orchd.kinds.objects.validate.words import label_1035, subdomain, subdomain_name

Object = dict[str, Any]

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_NOT_WEBHOOK: Final = "should not be set when strategy is not set to Webhook"
APPROVED: Final = "api-approved.{long}.io"


def create(value: Object, report: Report) -> None:
    metadata, spec = value.get("metadata") or {}, value.get("spec") or {}
    _metadata(metadata, spec, report)
    _spec(spec, report)
    _stored(value, report)
    _approval(metadata, spec, report)


def _metadata(metadata: Object, spec: Object, report: Report) -> None:
    wanted = f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}"

    def rule(name: str, prefix: bool) -> list[str]:
        wrong = list(subdomain_name(name, prefix))
        if name != wanted:
            wrong.append('must be spec.names.plural+"."+spec.group')
        return wrong

    meta.create(metadata, report, namespaced=False, name_rule=rule, core=False)


def _spec(spec: Object, report: Report) -> None:
    group, scope = spec.get("group") or "", spec.get("scope") or ""
    if not group:
        report.required(SPEC / "group")
    else:
        wrong = subdomain(group)
        report.invalids(SPEC / "group", group, wrong)
        if not wrong and "." not in group:
            report.invalid(SPEC / "group", group, "should be a domain with at least one dot")
    if not scope:
        report.required(SPEC / "scope")
    elif scope not in ("Cluster", "Namespaced"):
        report.unsupported(SPEC / "scope", scope, ("Cluster", "Namespaced"))
    if spec.get("preserveUnknownFields"):
        key = report.dialect("x-{long}-preserve-unknown-fields")
        why = f"cannot set to true, set {key.replace(report.dialect('x-{long}-'), 'x-')} to true in spec.versions[*].schema instead"
        report.invalid(SPEC / "preserveUnknownFields", True, why)
    versions = spec.get("versions") or []
    _versions(spec.get("versions"), report)
    names = spec.get("names") or {}
    for member in ("plural", "singular", "kind", "listKind"):
        if not names.get(member):
            report.required(SPEC / "names" / member)
    _names(names, SPEC / "names", report)
    if versions and _shared(versions, "schema"):
        _schema(versions[0].get("schema"), SPEC / "validation" / "openAPIV3Schema", report)
    if versions and _shared(versions, "subresources"):
        _subresources(versions[0].get("subresources") or {}, SPEC / "subresources", report)
    if versions and _shared(versions, "additionalPrinterColumns"):
        _columns(versions[0], SPEC / "additionalPrinterColumns", report)
    _conversion(spec.get("conversion") or {}, SPEC / "conversion", report)


def _shared(versions: list[Object], member: str) -> bool:
    return all(v.get(member) == versions[0].get(member) for v in versions)


def _inner(versions: list[Object] | None) -> Go:
    """The versions as they print: what they share is not in them any more."""
    moved = {m for m in ("schema", "subresources", "additionalPrinterColumns") if versions and _shared(versions, m)}
    kept = None if versions is None else [{k: v for k, v in version.items() if k not in moved} for version in versions]
    return dump("[]apiextensions.CustomResourceDefinitionVersion", kept)


def _versions(given: list[Object] | None, report: Report) -> None:
    at, versions = SPEC / "versions", given or []
    for i, version in enumerate(versions):
        here, name = at[i], version.get("name") or ""
        report.invalids(here / "name", name, label_1035(name))
        warning = version.get("deprecationWarning")
        if warning is not None and not version.get("deprecated"):
            report.invalid(here / "deprecationWarning", warning, "can only be set for deprecated versions")
        if ((version.get("schema") or {}).get("openAPIV3Schema")) is None:
            report.required(here / "schema" / "openAPIV3Schema", "schemas are required")
        if not _shared(versions, "schema"):
            _schema(version.get("schema"), here / "schema" / "openAPIV3Schema", report)
        if not _shared(versions, "subresources"):
            _subresources(version.get("subresources") or {}, here / "subresources", report)
        if not _shared(versions, "additionalPrinterColumns"):
            _columns(version, here / "additionalPrinterColumns", report)
    names = [v.get("name") for v in versions]
    if len(set(names)) != len(names):
        report.invalid(at, _inner(given), "must contain unique version names")
    if sum(bool(v.get("storage")) for v in versions) != 1:
        report.invalid(at, _inner(given), "must have exactly one version marked as storage version")
    if versions and names[0]:
        wrong = label_1035(names[0])
        if wrong:
            report.invalid(SPEC / "version", names[0], ",".join(wrong))


def _schema(holder: Object | None, at: Path, report: Report) -> None:
    schema = (holder or {}).get("openAPIV3Schema")
    if schema is not None:
        schema_rules(schema, at, report)


def _names(names: Object, at: Path, report: Report) -> None:
    for member in ("plural", "singular"):
        if names.get(member):
            report.invalids(at / member, names[member], label_1035(names[member]))
    for member in ("kind", "listKind"):
        text = names.get(member) or ""
        wrong = label_1035(text.lower()) if text else ()
        if wrong:
            why = "may have mixed case, but should otherwise match: " + ",".join(wrong)
            report.invalid(at / member, text, why)
    for i, text in enumerate(names.get("shortNames") or ()):
        report.invalids((at / "shortNames")[i], text, label_1035(text))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        report.invalid(at / "listKind", names["listKind"], "kind and listKind may not be the same")
    for i, text in enumerate(names.get("categories") or ()):
        report.invalids((at / "categories")[i], text, label_1035(text))


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


def _conversion(conversion: Object, at: Path, report: Report) -> None:
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
        admissionregistration.review_versions(versions, at / "conversionReviewVersions", report)


def _stored(value: Object, report: Report) -> None:
    stored = (value.get("status") or {}).get("storedVersions") or []
    at = STATUS / "storedVersions"
    if not stored:
        report.invalid(at, dump("[]string", None), "must have at least one stored version")
    versions = (value.get("spec") or {}).get("versions") or []
    names = [v.get("name") for v in versions]
    for i, version in enumerate(stored):
        if version not in names:
            report.invalid(at[i], version, "must appear in spec.versions")
    for i, version in enumerate(versions):
        if stored and version.get("storage") and names[i] not in stored:
            report.invalid(at, _printed(versions, i), f"must have the storage version {names[i]}")


def _printed(versions: list[Object], index: int) -> Go:
    """One of the versions as it prints."""
    moved = {m for m in ("schema", "subresources", "additionalPrinterColumns") if _shared(versions, m)}
    kept = {k: v for k, v in versions[index].items() if k not in moved}
    return dump("apiextensions.CustomResourceDefinitionVersion", kept)


def _approval(metadata: Object, spec: Object, report: Report) -> None:
    """Groups under the project's own domains need a public decision (its enhancement 1111)."""
    dialect = report.dialect
    group = "." + (spec.get("group") or "")
    if not group.endswith((dialect(".{abbr}.io"), dialect(".{long}.io"))):
        return
    key = dialect(APPROVED)
    text = (metadata.get("annotations") or {}).get(key) or ""
    words = f'protected groups must have approval annotation "{key}"'
    see = dialect(", see https://github.com/{long}/enhancements/pull/1111")
    if not text:
        report.required((METADATA / "annotations")[key], words + see)
    elif not text.startswith("unapproved"):
        parts = urlsplit(text)
        if not parts.scheme or not parts.netloc:
            why = f'{words} with either a URL or a reason starting with "unapproved"{see}'
            report.invalid((METADATA / "annotations")[key], text, why)


def update(value: Object, old: Object, report: Report) -> None:
    spec, before = value.get("spec") or {}, old.get("spec") or {}
    meta.update(value.get("metadata") or {}, old.get("metadata") or {}, report, core=False)
    _spec(spec, report)
    if _established(old):
        # A name that is in use stays.
        report.immutable(SPEC / "scope", spec.get("scope"), before.get("scope"))
        report.immutable(SPEC / "names" / "kind", _name(spec, "kind"), _name(before, "kind"))
    report.immutable(SPEC / "group", spec.get("group"), before.get("group"))
    report.immutable(SPEC / "names" / "plural", _name(spec, "plural"), _name(before, "plural"))
    _stored(value, report)
    _approval(value.get("metadata") or {}, spec, report)


def _name(spec: Object, member: str) -> Any:
    return (spec.get("names") or {}).get(member)


def _established(value: Object) -> bool:
    conditions = (value.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "Established" and c.get("status") == "True" for c in conditions)


def update_status(value: Object, old: Object, report: Report) -> None:
    """Anything may be said about stored versions: it is how old ones are given up."""
    meta.update(value.get("metadata") or {}, old.get("metadata") or {}, report, core=False)
