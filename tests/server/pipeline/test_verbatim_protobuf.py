"""Data of controller revisions in protobuf: its text is kept in both directions."""

from __future__ import annotations

from typing import Any

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_types
from orchd.kinds.codec import protobuf
from orchd.testing.doubles.server import run

URL = "/apis/apps/v1/namespaces/default/controllerrevisions"
TYPE = builtin_types(ORCH).get("apps/v1.ControllerRevision")


def test_text_of_data_survives_protobuf(server: Any) -> None:
    """A revision that was created as JSON with blanks can be replaced in protobuf by what a GET returned."""
    text = b'{"kind":"ControllerRevision","apiVersion":"apps/v1","metadata":{"name":"r"},"revision":1,"data":{"a" : { "b": 1 }}}'
    media_type = server.dialect("application/vnd.{long}.protobuf")
    assert run(server.request("POST", URL, body=text)).code == 201
    body = run(server.request("GET", f"{URL}/r", headers={"Accept": media_type})).body
    assert protobuf.raw_text(body, TYPE, "data") == b'{"a" : { "b": 1 }}'
    replaced = run(server.request("PUT", f"{URL}/r", body=body, headers={"Content-Type": media_type}))
    assert replaced.code == 200
    changed = body.replace(b'"b": 1', b'"b" :1')
    assert run(server.request("PUT", f"{URL}/r", body=changed, headers={"Content-Type": media_type})).code == 422
