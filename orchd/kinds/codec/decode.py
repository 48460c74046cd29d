"""Decoding of request bodies to objects of the kind that an endpoint expects. Error messages are the reference's.

Checks syntax, apiVersion and kind. The types of fields are checked by `objects.shape`, which raises `cannot_be_handled`
as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd import errors
from orchd.dialect import PROTOBUF_MAGIC
from orchd.kinds.catalog import Catalog, Resource, split_group_version
from orchd.kinds.codec import json_, protobuf, yaml_
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.gotext.values import json_name
from orchd.kinds.ir import Type
from orchd.kinds.objects import shape

_KIND_STRUCT: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
#: Maximum length of a body in messages.
_SHOWN: Final = 30
#: Kinds that exist in every group and version.
_OPTIONS: Final = frozenset(
    ("CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent")
)
#: Kinds of version v1 that every scheme has, as the options.
_UNVERSIONED: Final = frozenset(("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"))
_SELECTOR_OF_FORMER_SCALES: Final = (
    "json: cannot unmarshal string into Go struct field ScaleStatus.status.selector of type map[string]string"
)


class BodyError(ValueError):
    """A body that is not an object with valid apiVersion and kind. The message omits the body."""


class UndecodableError(errors.ApiError):
    """ApiError 400 for a body of the wrong kind or format. `why` is the reason without the description of the body."""

    def __init__(self, message: str, why: str) -> None:
        super().__init__(400, "BadRequest", message)
        self.why = why


#: Scheme names in messages about unknown kinds of bodies, and of delete options.
BODIES: Final = "{abbr}.io/{long}/pkg/api/legacyscheme/scheme.go:30"
OPTIONS: Final = "{abbr}.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
#: That of bodies, from a release on.
_OF_BODIES: Final = (("", BODIES), ("1.30", "pkg/api/legacyscheme/scheme.go:30"))
#: Those of groups that servers of their own have in the reference, from a release on: each knows the kinds of its group
#: alone.
_OF_GROUPS: Final = {
    "apiextensions.{abbr}.io": (("", "{abbr}.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"),),
    "apiregistration.{abbr}.io": (
        ("", "{abbr}.io/{short}-aggregator/pkg/apiserver/scheme/scheme.go:32"),
        ("1.24", "{abbr}.io/{short}-aggregator/pkg/apiserver/scheme/scheme.go:28"),
    ),
}


def parse(data: bytes, form: Form, *, finite: bool = False) -> dict[str, Any]:
    """Parse a JSON or YAML body to an object; ``null`` yields the empty object. Raises BodyError, and with `finite`
    json_.RangeError for a JSON number beyond the range of floats."""
    if form is Form.YAML:
        try:
            value = yaml_.decode(data)
        except yaml_.YAMLError as error:
            raise BodyError(str(error)) from None
    else:
        try:
            value = json_.decode_finite(data) if finite else json_.decode(data)
        except json_.JSONError as error:
            raise BodyError(f"couldn't get version/kind; json parse error: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BodyError(_unmarshal(f"{json_name(value)} into Go value of type {_KIND_STRUCT}"))
    return _require_text_names(value)


def _require_text_names(value: dict[str, Any]) -> dict[str, Any]:
    """Check that apiVersion and kind of an object are strings or absent. Raises BodyError."""
    for name in value:
        if name in ("apiVersion", "kind") and not isinstance(value[name], str):
            if value[name] is not None:
                raise BodyError(_unmarshal(f"{json_name(value[name])} into Go struct field .{name} of type string"))
            value = {k: v for k, v in value.items() if k != name or v is not None}
    if value.get("apiVersion", "").count("/") > 1:
        raise BodyError(f"unexpected GroupVersion string: {value['apiVersion']}")
    return value


def _unmarshal(what: str) -> str:
    return f"couldn't get version/kind; json parse error: json: cannot unmarshal {what}"


def format_body(data: bytes) -> str:
    """Format a body for messages: as text if it begins like a JSON object, else in hexadecimal."""
    if not data:
        return "<empty>"
    more = " ..." if len(data) > _SHOWN else ""
    if data[:1] == b"{":
        return data[:_SHOWN].decode("utf-8", "replace") + more
    return data[:_SHOWN].hex() + more


def unrecognized_body(kind: str, why: str, data: bytes) -> errors.ApiError:
    """ApiError 400 for a body without a readable kind. `kind` is the expected one."""
    message = f"the object provided is unrecognized (must be of type {kind}): {why} ({format_body(data)})"
    return UndecodableError(message, why)


def cannot_be_handled(kind: str, api_version: str, expected: str, why: str) -> errors.ApiError:
    """ApiError 400 for an object of `kind` where `expected` is required, or with fields of the wrong type."""
    version = split_group_version(api_version)[1]
    return UndecodableError(f'{kind} in version "{version}" cannot be handled as a {expected}: {why}', why)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedKind:
    """What the body of an endpoint must be. `any_version` accepts every apiVersion of the kind that the scheme knows
    (options); `scheme` is the scheme name in messages. `finite`: numbers beyond the range of floats are refused, as
    values are stored that have no type."""

    api_version: str
    kind: str
    type: Type
    custom: bool = False
    any_version: bool = False
    finite: bool = False
    scheme: str = BODIES

    @classmethod
    def of(cls, resource: Resource) -> ExpectedKind:
        """An object of a resource, in its version."""
        custom = resource.custom
        finite = custom or bool(resource.row.verbatim)
        return cls(
            api_version=resource.api_version, kind=resource.kind, type=resource.type, custom=custom, finite=finite
        )


def decode_object(
    data: bytes, form: Form, expected: ExpectedKind, *, catalog: Catalog, parsed: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Decode a request body to an object with apiVersion and kind. Raises ApiError 400.

    A missing apiVersion or kind is filled in, except for custom kinds. `parsed` is the result of `parse`, if the body
    has been parsed already.
    """
    if form is Form.PROTOBUF:
        return _decode_protobuf(data, catalog, expected)
    api_version, kind = expected.api_version, expected.kind
    try:
        obj = parse(data, form, finite=expected.finite) if parsed is None else parsed
    except BodyError as error:
        raise unrecognized_body(kind, str(error), data) from None
    except json_.RangeError as error:
        raise cannot_be_handled(kind, api_version, kind, str(error)) from None
    if expected.custom:
        _check_custom(obj, data, form, api_version, kind)
        return obj
    actual = _version_and_kind(obj, api_version, kind)
    if actual != (api_version, kind):
        _check_type(catalog, actual, expected, obj)
    if "kind" not in obj or "apiVersion" not in obj or not obj["kind"] or not obj["apiVersion"]:
        rest = {k: v for k, v in obj.items() if k not in ("kind", "apiVersion")}
        return {"kind": actual[1], "apiVersion": actual[0], **rest}
    return obj


def _version_and_kind(meta: Mapping[str, Any], api_version: str, kind: str) -> tuple[str, str]:
    """apiVersion and kind of a body, by default the expected ones."""
    version = meta.get("apiVersion") or ""
    return (api_version if version in ("", "/") else version), meta.get("kind") or kind


def _check_custom(obj: Mapping[str, Any], data: bytes, form: Form, api_version: str, kind: str) -> None:
    if not obj.get("kind"):
        body_text = data.decode("utf-8", "replace") if form is Form.JSON else json_.encode(obj).decode()
        raise cannot_be_handled(kind, api_version, kind, f"Object 'Kind' is missing in '{body_text}'")
    if obj.get("apiVersion", "") != api_version:
        raise _wrong_version(obj.get("apiVersion", ""), api_version)


def _wrong_version(version: str, expected: str) -> errors.ApiError:
    return errors.bad_request(
        f"the API version in the data ({version}) does not match the expected API version ({expected})"
    )


def _check_type(
    catalog: Catalog, actual: tuple[str, str], expected: ExpectedKind, obj: dict[str, Any] | None = None
) -> None:
    """Raise ApiError 400 unless the `actual` apiVersion and kind are acceptable for the `expected` ones. Members of
    `obj` that do not fit its actual kind take precedence."""
    api_version, kind = actual
    is_served = kind not in _OPTIONS or expected.scheme == OPTIONS or _is_registered(catalog, api_version, kind)
    if expected.any_version and kind == expected.kind and is_served:
        return
    why = foreign(catalog, actual, (expected.api_version, expected.kind), expected.type, expected.scheme)
    served = catalog.kind(api_version, kind)
    if obj is not None and served is not None and not served.custom and expected.scheme != OPTIONS:
        try:
            shape.canonical(obj, served.type)
        except shape.ShapeError as error:
            why = str(error)
    if why:
        raise cannot_be_handled(kind, api_version, expected.kind, why)
    raise _wrong_version(api_version, expected.api_version)


def foreign(
    catalog: Catalog, actual: tuple[str, str], expected: tuple[str, str], type_: Type, scheme: str = BODIES
) -> str:
    """The reason why `actual` is not a version of the `expected` kind, "" if it is."""
    api_version, kind = actual
    group = split_group_version(api_version)[0]
    elsewhere = False
    for name, schemes in _OF_GROUPS.items():
        if scheme == BODIES and catalog.dialect(name) == split_group_version(expected[0])[0]:
            scheme = catalog.release.choose(schemes)
            elsewhere = group != catalog.dialect(name) and not _of_every_scheme(group, kind)
    if scheme == BODIES:
        scheme = catalog.release.choose(_OF_BODIES)
    if scheme == OPTIONS or elsewhere or not _is_registered(catalog, api_version, kind):
        return f'no kind "{kind}" is registered for version "{api_version}" in scheme "{catalog.dialect(scheme)}"'
    actual_kind, expected_kind = catalog.kind(api_version, kind), catalog.kind(*expected)
    same = kind == expected[1] and (
        (actual_kind is not None and expected_kind is not None and actual_kind.key == expected_kind.key)
        or group == split_group_version(expected[0])[0]
        or catalog.may_have_moved(group, split_group_version(expected[0])[0])
    )
    if same:
        return ""
    version = split_group_version(api_version)[1]
    return f"converting ({version}.{kind}) to ({internal_package(type_)}.{expected[1]}): unknown conversion"


def patched_object(
    obj: dict[str, Any], *, catalog: Catalog, api_version: str, kind: str, type_: Type, custom: bool
) -> dict[str, Any]:
    """Check apiVersion and kind of a patched object. Raises BodyError if the patch changed the kind.

    Like in the reference, a built-in object without apiVersion is decoded as the internal version, in which no field
    name matches: the result is empty. For custom objects, validation reports the missing member (ApiError 422).
    """
    if obj.get("apiVersion") == api_version and obj.get("kind") == kind:
        return obj
    obj = _require_text_names(obj)
    if custom:
        if not obj.get("kind"):
            raise BodyError(f"Object 'Kind' is missing in '{json_.encode(obj).decode()}'")
        _check_names(obj, api_version, kind)
    actual = obj.get("apiVersion") or "", obj.get("kind") or kind
    if not actual[0]:
        return {"kind": kind, "apiVersion": api_version}
    why = "" if actual == (api_version, kind) else foreign(catalog, actual, (api_version, kind), type_)
    if why:
        raise BodyError(why)
    status = obj.get("status")
    if kind == "Scale" and actual[0] != api_version and isinstance(status, dict) and status.get("selector"):
        # Former versions of Scale have a map instead of text there.
        raise BodyError(_SELECTOR_OF_FORMER_SCALES)
    return {**obj, "kind": kind, "apiVersion": api_version}


def _check_names(obj: Mapping[str, Any], api_version: str, kind: str) -> None:
    """Raise ApiError 422 if a custom object does not have the apiVersion and kind of its definition."""
    causes = []
    for name, expected in (("kind", kind), ("apiVersion", api_version)):
        name_ = obj.get(name) or ""
        if name_ != expected:
            message = f"Invalid value: {errors.quoted(name_)}: must be {expected}"
            causes.append(errors.Cause("FieldValueInvalid", message, name))
    group = split_group_version(obj.get("apiVersion") or "")[0]
    metadata = obj.get("metadata")
    called = metadata.get("name") if isinstance(metadata, dict) else ""
    raise errors.invalid(group, obj["kind"], called if isinstance(called, str) else "", causes)


def internal_package(type_: Type) -> str:
    """Package of the internal version of a built-in type in messages: ``core`` for Secret."""
    package = type_.name.partition("/")[0]
    return {"events": "core", "meta": "v1"}.get(package, package)


def _of_every_scheme(group: str, kind: str) -> bool:
    return kind in _OPTIONS or (not group and kind in _UNVERSIONED)


def _is_registered(catalog: Catalog, api_version: str, kind: str) -> bool:
    """True if `kind` is registered in a version. Includes lists and options."""
    group, version = split_group_version(api_version)
    served = catalog.in_version(group, version)
    if not served:
        return catalog.had(api_version, kind)
    if _of_every_scheme(group, kind) or (not group and kind == "List"):
        return True
    names = {r.kind for r in served} | {r.list_kind for r in served}
    names.update(
        s.kind for r in served for s in r.subresources.values() if (s.group, s.version) in (("", ""), (group, version))
    )
    return kind in names or catalog.had(api_version, kind)


def _decode_protobuf(data: bytes, catalog: Catalog, expected: ExpectedKind) -> dict[str, Any]:
    api_version, kind = expected.api_version, expected.kind
    if not data:
        raise unrecognized_body(kind, "empty data", data)
    if data[:4] != PROTOBUF_MAGIC:
        prefix = " ".join(str(b) for b in PROTOBUF_MAGIC)
        raise unrecognized_body(
            kind, f"provided data does not appear to be a protobuf message, expected prefix [{prefix}]", data
        )
    if len(data) == 4:
        raise unrecognized_body(kind, "empty body", data)
    try:
        envelope = protobuf.open_envelope(data)
    except protobuf.ProtobufError as error:
        raise unrecognized_body(kind, str(error), data) from None
    actual = _version_and_kind({"apiVersion": envelope.api_version, "kind": envelope.kind}, api_version, kind)
    if expected.custom:
        raise cannot_be_handled(
            actual[1],
            actual[0],
            kind,
            "object *unstructured.Unstructured does not implement the protobuf marshalling interface and cannot "
            "be decoded from a protobuf message",
        )
    if actual[0].count("/") > 1:
        raise unrecognized_body(kind, f"unexpected GroupVersion string: {actual[0]}", data)
    if actual != (api_version, kind):
        _check_type(catalog, actual, expected)
    try:
        fields = protobuf.decode_message(envelope.raw, expected.type)
    except protobuf.ProtobufError as error:
        raise cannot_be_handled(actual[1], actual[0], kind, str(error)) from None
    return {"kind": actual[1], "apiVersion": actual[0], **fields}
