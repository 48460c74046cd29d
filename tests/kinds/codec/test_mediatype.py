"""Content negotiation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.dialect import DIALECTS, KUBERNETES, ORCH
from orchd.errors import ApiError
from orchd.kinds.codec.mediatype import (
    Form,
    body_form,
    check_route,
    media_types,
    negotiate,
    negotiate_error,
    patch_type,
    wants_pretty,
)

PROTO = ORCH.protobuf
META = ORCH.meta_group
ALL = "only the following media types are accepted: application/json, application/yaml, " + PROTO
EARLY = "406: Not Acceptable"


@pytest.mark.parametrize(
    ("accept", "form", "content_type"),
    [
        ("", Form.JSON, "application/json"),
        ("*/*", Form.JSON, "application/json"),
        ("application/json; charset=utf-8", Form.JSON, "application/json"),
        ("application/yaml", Form.YAML, "application/yaml"),
        (PROTO, Form.PROTOBUF, PROTO),
        ("text/html, application/json", Form.JSON, "application/json"),
        ("text/html, */*", Form.JSON, "application/json"),
        ("application/json;q=0.2, application/yaml;q=0.9", Form.YAML, "application/yaml"),
        ("application/yaml;q=0", Form.YAML, "application/yaml"),
        (PROTO + ", application/json", Form.PROTOBUF, PROTO),
        ("*/*, application/yaml", Form.YAML, "application/yaml"),
        ("application/unknown, application/json", Form.JSON, "application/json"),
        ("application/json;stream=watch", Form.JSON, "application/json"),
        (PROTO + ";stream=watch", Form.PROTOBUF, PROTO),
        ("application/json;as=Nonsense;g=" + META + ";v=v1, application/json", Form.JSON, "application/json"),
    ],
)
def test_accept_clause_selection(accept: str, form: Form, content_type: str) -> None:
    """The best clause that can be served is selected; the order breaks ties; more specific types come first."""
    media_type = negotiate(accept, dialect=ORCH)
    assert (media_type.form, media_type.content_type, media_type.as_) == (form, content_type, "")


@pytest.mark.parametrize(
    ("accept", "message"),
    [
        ("application/*", EARLY),
        ("text/html", EARLY),
        ("///", EARLY),
        ("APPLICATION/JSON", EARLY),
        (f"application/json;as=Nonsense;g={META};v=v1", ALL),
        (f"application/json;as=Table;g={META};v=v9", ALL),
        ("application/json;as=Table;g=other.io;v=v1", ALL),
        (f"{PROTO};as=Table;g={META};v=v1", ALL),
        ("application/json;stream=other", ALL),
        ("application/yaml;stream=watch", ALL),
    ],
)
def test_unacceptable_media_types_are_406(accept: str, message: str) -> None:
    """Types that cannot be served are 406 with one of the reference's two messages."""
    with pytest.raises(ApiError) as caught:
        negotiate(accept, dialect=ORCH)
    assert (caught.value.code, caught.value.reason, caught.value.message) == (406, "NotAcceptable", message)


@pytest.mark.parametrize("dialect", DIALECTS.values())
def test_table_and_metadata_media_types(dialect: object) -> None:
    """Tables are available as JSON and YAML, partial metadata in every format; an endpoint may offer neither."""
    assert dialect in (ORCH, KUBERNETES)
    d = ORCH if dialect is ORCH else KUBERNETES
    table = f"application/json;as=Table;v=v1;g={d.meta_group}"
    media_type = negotiate(table + ",application/json", dialect=d)
    assert (media_type.as_, media_type.api_version) == ("Table", d.meta_group + "/v1")
    assert negotiate(table + ",application/json", dialect=d, table=False).as_ == ""
    partial = f"{d.protobuf};as=PartialObjectMetadata;v=v1beta1;g={d.meta_group}"
    assert negotiate(partial, dialect=d).version == "v1beta1"
    assert negotiate(partial, dialect=d, custom=True).as_ == "PartialObjectMetadata"


def test_media_types_of_custom_kinds() -> None:
    """Custom kinds accept ranges of types, have no protobuf encoding, and name what they accept."""
    assert negotiate("application/*", dialect=ORCH, custom=True).content_type == "application/json"
    for accept in (PROTO, "text/html", "application/cbor"):
        with pytest.raises(ApiError) as refused:
            negotiate(accept, dialect=ORCH, custom=True)
        assert refused.value.message == (
            f"only the following media types are accepted: application/json, application/yaml, {PROTO}"
        )


def test_watch_media_types() -> None:
    """Watch events are available as JSON and protobuf only."""
    assert negotiate("", dialect=ORCH, watch=True).content_type == "application/json"
    assert negotiate(PROTO, dialect=ORCH, watch=True).content_type == PROTO + ";stream=watch"
    with pytest.raises(ApiError) as caught:
        negotiate("application/yaml", dialect=ORCH, watch=True)
    assert caught.value.message == (
        f"only the following media types are accepted: application/json;stream=watch, {PROTO};stream=watch"
    )
    with pytest.raises(ApiError) as caught:
        negotiate(f"{PROTO};as=Table;g={ORCH.meta_group};v=v1", dialect=ORCH, watch=True)
    assert (
        caught.value.message
        == f"only the following media types are accepted: application/json, application/yaml, {PROTO}"
    )


def test_status_falls_back_to_json() -> None:
    """A Status has the requested format if it is available, otherwise indented JSON."""
    assert negotiate_error("application/yaml", dialect=ORCH).form is Form.YAML
    assert negotiate_error(PROTO, dialect=ORCH).form is Form.PROTOBUF
    for accept in ("text/html", f"application/json;as=Table;g={META};v=v1"):
        media_type = negotiate_error(accept, dialect=ORCH)
        assert media_type.form is Form.JSON and media_type.pretty


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("", Form.JSON),
        ("application/json; charset=utf-8", Form.JSON),
        ("Application/JSON", Form.JSON),
        ("application/yaml", Form.YAML),
        (PROTO, Form.PROTOBUF),
        ("application/json;", Form.JSON),
        (KUBERNETES.protobuf, Form.PROTOBUF),
    ],
)
def test_content_type_of_bodies(header: str, form: Form) -> None:
    """Content-Type selects the format of a body; the default is JSON."""
    assert body_form(header, dialect=ORCH) is form


@pytest.mark.parametrize(
    "header", ["application/xml", "text/plain", ";;;", "application/merge-patch+json", "application/json; x"]
)
def test_unsupported_content_type_is_415(header: str) -> None:
    """Any other type is 415; the message lists the accepted types."""
    with pytest.raises(ApiError) as caught:
        body_form(header, dialect=ORCH)
    assert caught.value.code == 415
    assert caught.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(media_types(ORCH))
    )


def test_patch_content_types() -> None:
    """A patch has one of four types, with parameters, perhaps in a list."""
    assert patch_type("application/merge-patch+json; charset=utf-8") == "application/merge-patch+json"
    assert patch_type("text/plain, application/apply-patch+yaml") == "application/apply-patch+yaml"
    for header, apply in (("application/json", True), ("", True), ("application/apply-patch+yaml", False)):
        with pytest.raises(ApiError) as caught:
            patch_type(header, apply=apply)
        assert caught.value.message == "415: Unsupported Media Type"


@pytest.mark.parametrize(
    "header",
    [
        *("", ";", "*/*", "text/plain", "application/json", "application/strategic-merge-patch+json"),
        *("application/merge-patch+json ; charset=utf-8", "application/json-patch+json, application/merge-patch+json"),
    ],
)
def test_other_patch_content_types_of_custom_kinds(header: str) -> None:
    """Custom kinds have three of the types and accept no list of them; the error names them."""
    assert patch_type("application/merge-patch+json; charset=utf-8", custom=True) == "application/merge-patch+json"
    supported = "application/json-patch+json, application/merge-patch+json"
    for apply, accepted in ((False, supported), (True, f"{supported}, application/apply-patch+yaml")):
        with pytest.raises(ApiError) as caught:
            patch_type(header, custom=True, apply=apply)
        assert caught.value.message == (
            f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        )
    with pytest.raises(ApiError):
        patch_type("application/apply-patch+yaml", custom=True, apply=False)


def test_pretty_printing_default() -> None:
    """The `pretty` parameter decides; without it browsers and command-line clients get indented responses."""
    assert wants_pretty("1", "") and wants_pretty("true", "x")
    assert not wants_pretty("0", "curl/7") and not wants_pretty("nonsense", "curl/7")
    assert wants_pretty("", "curl/7.80") and wants_pretty("", "Mozilla/5.0 (X11)") and not wants_pretty("", "x/1")


@given(st.text(alphabet='application/json*;,=q0.1 asgv "\\', max_size=60) | st.text(max_size=30))
def test_any_accept_header_is_served_or_refused(text: str) -> None:
    """Any Accept header is served or raises ApiError."""
    for call in (
        lambda: negotiate(text, dialect=ORCH),
        lambda: negotiate_error(text, dialect=ORCH),
        lambda: body_form(text, dialect=ORCH),
        lambda: patch_type(text),
        lambda: check_route(text, ("a/b",)),
    ):
        try:
            call()
        except ApiError as error:
            assert error.code in (406, 415)
