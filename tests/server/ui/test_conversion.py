"""YAML for the page: the conversion endpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from orchd.errors import ApiError
from orchd.kinds.users import User
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.ui.conversion import ConversionStage
from orchd.testing.doubles.server import BytesBody, make_server, run, user
from tests.server.pipeline.test_headers import ask, send


async def at_once(size: int, function: Callable[[bytes], bytes], argument: bytes) -> bytes:
    return function(argument)


def posted(body: bytes, form: str, *, method: str = "POST", remote: str = "127.0.0.1", known: str = "alice") -> Request:
    request = ask(method, "/ui/yaml", content_type=form)
    request.headers = {"content-type": (form,)}
    request.body = BytesBody(body)
    request.user = User(name=known)
    request.credentials = replace(request.credentials, remote=remote)
    return request


def converted(request: Request, *, local: bool = True) -> Response:
    return send(ConversionStage(at_once, limit=1000, local=local), request)[0]


@pytest.mark.parametrize(("form", "body", "answer"), [
    ("application/json", b'{"b": "1", "a": [{}]}', b'b: "1"\na:\n- {}\n'),
    ("application/json; charset=utf-8", b"null", b"null\n"),
    ("application/yaml", b"a: yes\nb: 0x1F\nc: <\n", b'{"a":true,"b":31,"c":"\\u003c"}'),
    ("application/yaml", b"# nothing\n", b"null"),
])  # fmt: skip
def test_each_form_is_answered_in_the_other(form: str, body: bytes, answer: bytes) -> None:
    """JSON is answered in YAML with its order of keys, YAML in JSON; no cache keeps the text."""
    response = converted(posted(body, form))
    assert response.body == answer and ("Cache-Control", "no-store") in list(response.headers)
    assert {response.content_type, form.partition(";")[0]} == {"application/json", "application/yaml"}


@pytest.mark.parametrize(("request_", "code", "message"), [
    (posted(b"a: 1\na: 2\n", "application/yaml"), 400, 'yaml: line 2: key "a" already set in map'),
    (posted(b"a: 1\n---\nb: 2\n", "application/yaml"), 400, "yaml: line 2: more than one document"),
    (posted(b"a: &x [1]\nb: *x\n", "application/yaml"), 400, "yaml: line 2: aliases are not supported here"),
    (posted(b"[" * 400 + b"]" * 400, "application/yaml"), 400, "nested too deeply"),
    (posted(b"[" * 400 + b"]" * 400, "application/json"), 400, "nested too deeply"),
    (posted(b"[" + b"1," * 200_001 + b"1]", "application/json"), 413, "values"),
    (posted(b"{", "application/json"), 400, ""),
    (posted(b"a", "text/plain"), 415, "application/yaml"),
    (posted(b"", "application/yaml", method="GET"), 405, ""),
    (posted(b"a: 1", "application/yaml", known="system:anonymous"), 401, ""),
])  # fmt: skip
def test_refusals_have_the_headers_of_the_page(request_: Request, code: int, message: str) -> None:
    """What is no value, or would lose or multiply something, is refused; for YAML with its line."""
    with pytest.raises(ApiError) as caught:
        converted(request_)
    assert caught.value.code == code and message in caught.value.message
    assert caught.value.headers["X-Frame-Options"] == "DENY"


def test_other_machines_are_answered_where_they_get_the_page() -> None:
    """With --ui=auto the path does not exist for them."""
    assert converted(posted(b"a: 1", "application/yaml", remote="10.1.2.3")).body == b"answer"
    assert converted(posted(b"a: 1", "application/yaml", remote="10.1.2.3"), local=False).body == b'{"a":1}'


def test_large_texts_are_converted_aside() -> None:
    """The size is that of the text, by which it is decided where to convert it."""
    sizes = []

    async def compute(size: int, function: Callable[[bytes], bytes], argument: bytes) -> bytes:
        sizes.append(size)
        return b"compute"

    stage = ConversionStage(compute, limit=100_000, local=True)
    assert send(stage, posted(b"x" * 70_000, "application/yaml"))[0].body == b"compute" and sizes == [70_000]


def test_the_server_converts_for_every_authenticated_user(tmp_path: Path) -> None:
    """A user without any permission may convert; with --ui=false nobody may."""
    for flag, code in (("--ui=auto", 200), ("--ui=false", 403)):
        server = make_server(tmp_path / flag, flag)
        request = posted(b"a: 1", "application/yaml")
        request.user = user("alice", "people")
        response = run(server.server.pipeline.handle(request))
        assert response.code == code
        if code == 200:
            assert isinstance(response.body, bytes) and orjson.loads(response.body) == {"a": 1}
        server.stop()
