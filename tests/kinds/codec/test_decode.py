"""Decoding of request bodies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.dialect import ORCH, PROTOBUF_MAGIC
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, builtin_catalog
from orchd.kinds.codec import protobuf
from orchd.kinds.codec.decode import OPTIONS, ExpectedKind, decode_object, foreign
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.release import NEWEST

CATALOG: Catalog = builtin_catalog(ORCH)
GO = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
SCHEME = ORCH("{abbr}.io/{long}/pkg/api/legacyscheme/scheme.go:30")


def decode(data: bytes, form: Form = Form.JSON, api_version: str = "v1", kind: str = "ConfigMap", **more: Any) -> Any:
    resource = CATALOG.kind(api_version, kind)
    type_ = resource.type if resource else CATALOG.type(f"meta/v1.{kind}")
    expected = ExpectedKind(api_version=api_version, kind=kind, type=type_, **more)
    return decode_object(data, form, expected, catalog=CATALOG)


def error_of(data: bytes, form: Form = Form.JSON, **more: Any) -> str:
    with pytest.raises(ApiError) as caught:
        decode(data, form, **more)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    return caught.value.message


def unrecognized(why: str, shown: str) -> str:
    return f"the object provided is unrecognized (must be of type ConfigMap): {why} ({shown})"


@pytest.mark.parametrize(
    ("data", "why", "shown"),
    [
        (b"", "couldn't get version/kind; json parse error: unexpected end of JSON input", "<empty>"),
        (b"{", "couldn't get version/kind; json parse error: unexpected end of JSON input", "{"),
        (
            b"[]",
            f"couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type {GO}",
            "5b5d",
        ),
        (
            b"5",
            f"couldn't get version/kind; json parse error: json: cannot unmarshal number into Go value of type {GO}",
            "35",
        ),
        (
            b"true",
            f"couldn't get version/kind; json parse error: json: cannot unmarshal bool into Go value of type {GO}",
            "74727565",
        ),
        (
            b'{"apiVersion":"v1","kind":5}',
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
            '{"apiVersion":"v1","kind":5}',
        ),
        (
            b'{"apiVersion":"a/b/c","kind":"ConfigMap"}',
            "unexpected GroupVersion string: a/b/c",
            '{"apiVersion":"a/b/c","kind":" ...',
        ),
        (
            b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c",}}',
            "couldn't get version/kind; json parse error: invalid character '}' looking for beginning of object key string",
            '{"apiVersion":"v1","kind":"Con ...',
        ),
    ],
)
def test_body_without_kind_is_400(data: bytes, why: str, shown: str) -> None:
    """A body without a readable apiVersion and kind is 400; the message quotes its first 30 bytes."""
    assert error_of(data) == unrecognized(why, shown)


def test_invalid_yaml_is_shown_in_hexadecimal() -> None:
    """The error quotes invalid YAML in hexadecimal."""
    assert error_of(b"a: b: c\n  - x", Form.YAML) == unrecognized(
        "yaml: mapping values are not allowed in this context", "613a20623a20630a20202d2078"
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b'{"apiVersion":"v1","kind":"Secret"}',
            'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
        ),
        (
            b'{"apiVersion":"v1","kind":"List"}',
            'List in version "v1" cannot be handled as a ConfigMap: converting (v1.List) to (core.ConfigMap): unknown conversion',
        ),
        (
            b'{"apiVersion":"v1","kind":"ConfigMapList"}',
            'ConfigMapList in version "v1" cannot be handled as a ConfigMap: converting (v1.ConfigMapList) to (core.ConfigMap): unknown conversion',
        ),
        (
            b'{"apiVersion":"v1","kind":"Nope"}',
            f'Nope in version "v1" cannot be handled as a ConfigMap: no kind "Nope" is registered for version "v1" in scheme "{SCHEME}"',
        ),
        (
            b'{"apiVersion":"apps/v1","kind":"ConfigMap"}',
            f'ConfigMap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "apps/v1" in scheme "{SCHEME}"',
        ),
        (
            b'{"apiVersion":"v7"}',
            f'ConfigMap in version "v7" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v7" in scheme "{SCHEME}"',
        ),
    ],
)
def test_object_of_another_kind_is_400(data: bytes, message: str) -> None:
    """An object of another kind is 400; the message says whether the API knows that kind."""
    assert error_of(data) == message


@pytest.mark.parametrize(
    ("actual", "expected", "why"),
    [
        (("apps/v1beta1", "Deployment"), ("apps/v1", "Deployment"), ""),
        (("extensions/v1beta1", "Deployment"), ("apps/v1", "Deployment"), ""),
        (
            ("apps/v1beta2", "StatefulSetList"),
            ("apps/v1", "Deployment"),
            "converting (v1beta2.StatefulSetList) to (apps.Deployment): unknown conversion",
        ),
        (("apps/v1beta1", "DaemonSet"), ("apps/v1", "Deployment"), 'no kind "DaemonSet" is registered'),
    ],
)
def test_kinds_of_former_versions_are_known(actual: tuple[str, str], expected: tuple[str, str], why: str) -> None:
    """An object of a version that ended is one of another version, or cannot be converted."""
    resource = CATALOG.kind(*expected)
    assert resource is not None
    wrong = foreign(CATALOG, actual, expected, resource.type)
    assert wrong.startswith(why) and bool(wrong) == bool(why)


def test_members_that_do_not_fit_another_kind_take_precedence() -> None:
    """The body is decoded as what it says it is before it is converted."""
    body = b'{"kind": "Secret", "apiVersion": "v1", "type": %s}'
    assert error_of(body % b"5").endswith(
        "json: cannot unmarshal number into Go struct field Secret.type of type v1.SecretType"
    )
    assert error_of(body % b'"x"').endswith("converting (v1.Secret) to (core.ConfigMap): unknown conversion")


def test_object_of_another_version_is_refused() -> None:
    """An object in another version of its group is rejected."""
    assert (
        error_of(
            b'{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler"}',
            api_version="autoscaling/v2",
            kind="HorizontalPodAutoscaler",
        )
        == "the API version in the data (autoscaling/v1) does not match the expected API version (autoscaling/v2)"
    )


@pytest.mark.parametrize(
    "data", [b"null", b"{}", b'{"kind":"ConfigMap"}', b'{"apiVersion":"v1"}', b'{"kind":null,"apiVersion":""}']
)
def test_api_version_and_kind_have_defaults(data: bytes) -> None:
    """Endpoints of built-in kinds default apiVersion and kind."""
    assert decode(data) == {"kind": "ConfigMap", "apiVersion": "v1"}


def test_custom_kinds_must_name_version_and_kind() -> None:
    """Endpoints of custom kinds require both and the right apiVersion; the kind is checked later."""
    more: dict[str, Any] = {"api_version": "v1", "kind": "ConfigMap", "custom": True}
    data = b'{"metadata": {"name": "a"}}'
    assert (
        error_of(data, **more)
        == f"""ConfigMap in version "v1" cannot be handled as a ConfigMap: Object 'Kind' is missing in '{data.decode()}'"""
    )
    assert error_of(b'{"kind":"W","apiVersion":"wx.com/v2"}', **more) == (
        "the API version in the data (wx.com/v2) does not match the expected API version (v1)"
    )
    assert decode(b'{"kind":"W","apiVersion":"v1"}', **more) == {"kind": "W", "apiVersion": "v1"}


def test_options_are_accepted_in_any_version() -> None:
    """Options are accepted with any apiVersion that the scheme of bodies knows, and that of options with every one."""
    body = b'{"kind":"DeleteOptions","apiVersion":"%s"}'
    assert decode(body % b"apps/v1", kind="DeleteOptions", any_version=True)["kind"] == "DeleteOptions"
    assert 'no kind "DeleteOptions"' in error_of(body % b"apps/v9", kind="DeleteOptions", any_version=True)
    assert decode(body % b"x/v9", kind="DeleteOptions", any_version=True, scheme=OPTIONS)["apiVersion"] == "x/v9"


@pytest.mark.parametrize(
    ("data", "why", "shown"),
    [
        (b"", "empty data", "<empty>"),
        (PROTOBUF_MAGIC, "empty body", "6b387300"),
        (
            b"hello",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
            "68656c6c6f",
        ),
        (PROTOBUF_MAGIC + b"\x0a\x7f", "unexpected EOF", "6b3873000a7f"),
    ],
)
def test_bytes_without_an_envelope_are_400(data: bytes, why: str, shown: str) -> None:
    """Bytes without a valid protobuf envelope are 400."""
    assert error_of(data, Form.PROTOBUF) == unrecognized(why, shown)


def test_enveloped_objects_are_decoded() -> None:
    """An enveloped object is accepted with its own or the expected apiVersion and kind."""
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"k": "v"}}
    type_ = CATALOG.type("core/v1.ConfigMap")
    assert decode(protobuf.encode(obj, type_), Form.PROTOBUF) == obj
    assert decode(protobuf.envelope("", "", protobuf.encode_message(obj, type_)), Form.PROTOBUF) == obj
    assert "unknown conversion" in error_of(protobuf.encode(obj, type_, kind="Secret"), Form.PROTOBUF)
    assert error_of(protobuf.envelope("v1", "ConfigMap", b"\x0a\x05\x00"), Form.PROTOBUF) == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF'
    )


@given(st.binary(max_size=100), st.sampled_from(Form), st.booleans(), st.booleans())
def test_any_bytes_are_an_object_or_an_api_error(data: bytes, form: Form, custom: bool, magic: bool) -> None:
    """Any bytes decode to an object or raise ApiError, in every format."""
    if magic:
        data = PROTOBUF_MAGIC + data
    try:
        assert isinstance(decode(data, form, kind="Pod", custom=custom), dict)
    except ApiError as error:
        assert error.code == 400


@pytest.mark.parametrize("text", ["1e999", "-1e400", "9" * 400, "1.5e+309"])
def test_numbers_beyond_floats_are_refused(text: str) -> None:
    """A custom object must not have a number beyond the range of a float; the message quotes it."""
    expected = ExpectedKind(api_version="v1", kind="W", custom=True, finite=True, type=CATALOG.type("meta/v1.Status"))
    body = b'{"apiVersion":"v1","kind":"W","spec":{"a":[1e3,%s,1e999]}}' % text.encode()

    def read(data: bytes) -> Any:
        return decode_object(data, Form.JSON, expected, catalog=CATALOG)

    with pytest.raises(ApiError) as caught:
        read(body)
    assert caught.value.message == (
        f'W in version "v1" cannot be handled as a W: json: cannot unmarshal number {text} into Go value of type float64'
    )
    finite = body.replace(text.encode(), b"2").replace(b"1e999", b"1e308")
    assert read(finite)["spec"]["a"][1:] in ([2, 1e308], [2, 2])


@pytest.mark.parametrize(
    ("actual", "said"),
    [
        (("v1", "Pod"), "registered"),
        ((ORCH("apiextensions.{abbr}.io/v1"), "X"), "registered"),
        (("v1", "DeleteOptions"), "unknown conversion"),
        (("v1", "Status"), "unknown conversion"),
        ((ORCH("apiextensions.{abbr}.io/v1"), "CustomResourceDefinition"), ""),
    ],
)
def test_kinds_of_a_group_with_a_server_of_its_own(actual: tuple[str, str], said: str) -> None:
    """The server of definitions knows the kinds of its group and those of all groups, and names its own scheme."""
    catalog = builtin_catalog(ORCH)
    resource = catalog.resource(ORCH("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")
    assert resource is not None
    why = foreign(catalog, actual, (resource.api_version, resource.kind), resource.type)
    assert said in why and bool(said) == bool(why)
    assert ("apiextensions-apiserver" in why) == (said == "registered")


def test_scheme_of_bodies_has_the_name_of_the_release() -> None:
    """From release 1.30 on the reference names the scheme without its module."""
    later = builtin_catalog(ORCH, NEWEST)
    config_map = later.resource("", "v1", "configmaps")
    assert config_map is not None
    with pytest.raises(ApiError, match=r'in scheme "pkg/api/legacyscheme/scheme\.go:30"'):
        decode_object(b'{"apiVersion":"v1","kind":"Nope"}', Form.JSON, ExpectedKind.of(config_map), catalog=later)
