"""Request heads are parsed strictly where parsers could disagree, otherwise as in the reference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.server.http.request_head import (
    CHUNKED,
    MAX_LINES,
    MAX_PARAMETERS,
    MAX_PATH,
    MAX_QUERY,
    BadHead,
    parse_fields,
    parse_line,
    parse_query,
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"GET / HTTP/1.1", ("GET", "/", "/", {}, True)),
        (b"GET /a%20b%2Fc?x=1&x=2&y&z=%26+ HTTP/1.1",
         ("GET", "/a b/c", "/a%20b%2Fc", {"x": ("1", "2"), "y": ("",), "z": ("& ",)}, True)),
        (b"FROB //a//b/ HTTP/1.0", ("FROB", "//a//b/", "//a//b/", {}, False)),
        (b"get /a HTTP/1.1", ("get", "/a", "/a", {}, True)),
        (b"GET https://host:1/a?b=c HTTP/1.1", ("GET", "/a", "/a", {"b": ("c",)}, True)),
        (b"OPTIONS * HTTP/1.1", ("OPTIONS", "*", "*", {}, True)),
        (b"CONNECT /a HTTP/1.1", ("CONNECT", "/a", "/a", {}, True)),
        (b"CONNECT host:1 HTTP/1.1", ("CONNECT", "", "", {}, True)),
        (b"GET /%00%C3%A4 HTTP/1.1", ("GET", "/\0\u00e4", "/%00%C3%A4", {}, True)),
    ],
)  # fmt: skip
def test_request_line_parsing(line: bytes, expected: tuple[object, ...]) -> None:
    """A request line gives the method, the decoded and the raw path, and every value of the query."""
    got = parse_line(line)
    assert (got.method, got.path, got.raw_path, got.query, got.modern) == expected


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"", 400),
        (b"GET", 400),
        (b"GET /", 400),
        (b"GET /a b HTTP/1.1", 400),
        (b"GET  / HTTP/1.1", 400),
        (b"GET a HTTP/1.1", 400),
        (b"GET /%zz HTTP/1.1", 400),
        (b"GET /\x01 HTTP/1.1", 400),
        (b"G(T / HTTP/1.1", 400),
        (b"PRI * HTTP/2.0", 505),
        (b"GET / http/1.1", 400),
        (b"\x16\x03\x01\x02", 400),
    ],
)
def test_invalid_request_lines(line: bytes, code: int) -> None:
    """Request lines that are not of HTTP/1 are rejected."""
    with pytest.raises(BadHead) as caught:
        parse_line(line)
    assert caught.value.code == code


def test_invalid_query_pairs_are_ignored() -> None:
    """Query pairs with an invalid escape or a semicolon are ignored."""
    assert parse_query(b"a=%zz&b=1;c=2&d=3&&=4") == {"d": ["3"], "": ["4"]}


@pytest.mark.parametrize(
    ("value", "taken"), [(b"gzip", True), (b"br, gzip ,x", True), (b"gzip;q=1", False), (b"GZIP", False), (b"*", False)]
)
def test_gzip_must_be_named(value: bytes, taken: bool) -> None:
    """gzip must be listed explicitly to be used."""
    assert parse_fields(b"Host: h\r\nAccept-Encoding: " + value, modern=True).gzip is taken


def test_header_field_parsing() -> None:
    """Names become lower case, values keep their order, surrounding white space is stripped."""
    got = parse_fields(b"Host: h\r\nX-A:1 \r\nx-a:\t2\r\nEmpty:", modern=True)
    assert got.headers == {"host": ("h",), "x-a": ("1", "2"), "empty": ("",)}
    assert (got.length, got.keep_alive, got.expects_continue, got.gzip) == (0, None, False, False)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (b"Content-Length: 5", (5, None)),
        (b"Content-Length: 5\r\nContent-Length: 5", (5, None)),
        (b"Transfer-Encoding: Chunked", (CHUNKED, None)),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 5", (CHUNKED, False)),
        (b"Connection: Close", (0, False)),
        (b"Connection: upgrade, keep-alive", (0, True)),
    ],
)
def test_body_framing(block: bytes, expected: tuple[int, bool | None]) -> None:
    """The headers determine the body's length and whether the connection closes."""
    got = parse_fields(b"Host: h\r\n" + block, modern=True)
    assert (got.length, got.keep_alive) == expected


@pytest.mark.parametrize(
    ("block", "code", "text"),
    [
        (b"", 400, "400 Bad Request: missing required Host header"),
        (b"Host: a\r\nHost: b", 400, "400 Bad Request: too many Host headers"),
        (b"Host: a/b", 400, "400 Bad Request: malformed Host header"),
        (b"Host: a\r\nX : 1", 400, "400 Bad Request"),
        (b"Host: a\r\n folded", 400, "400 Bad Request"),
        (b"Host: a\r\nX: a\nY: b", 400, "400 Bad Request: invalid header value"),
        (b"Host: a\r\nX: \x00", 400, "400 Bad Request: invalid header value"),
        (b"Host: a\r\nContent-Length: -1", 400, "400 Bad Request"),
        (b"Host: a\r\nContent-Length: 1\r\nContent-Length: 2", 400, "400 Bad Request"),
        (b"Host: a\r\nContent-Length: +1", 400, "400 Bad Request"),
        (b"Host: a\r\nTransfer-Encoding: gzip, chunked", 501, "501 Not Implemented: unsupported transfer encoding"),
        (b"Host: a\r\nExpect: rain", 417, "417 Expectation Failed"),
    ],
)
def test_ambiguous_header_fields_are_refused(block: bytes, code: int, text: str) -> None:
    """Heads that two parsers could read differently are rejected."""
    with pytest.raises(BadHead) as caught:
        parse_fields(block, modern=True)
    assert (caught.value.code, caught.value.text) == (code, text)


@pytest.mark.parametrize(
    ("value", "takes"), [(b"gzip", True), (b"deflate, gzip", True), (b"gzip;q=0", False), (b"identity", False)]
)
def test_accept_encoding_quality(value: bytes, takes: bool) -> None:
    """Quality values of Accept-Encoding are respected."""
    assert parse_fields(b"Host: h\r\nAccept-Encoding: " + value, modern=True).gzip is takes


@given(st.binary(max_size=200))
def test_any_bytes_are_a_head_or_an_error(data: bytes) -> None:
    """Any bytes give a head or raise BadHead."""
    for read in (parse_line, lambda block: parse_fields(block, modern=True)):
        try:
            read(data)
        except BadHead as bad:
            assert bad.code in (400, 417, 501, 505)


def test_head_size_is_bounded() -> None:
    """Too many header lines or parameters, or too long a path, are rejected before they are parsed."""
    assert len(parse_fields(b"Host: h" + b"\r\na:1" * (MAX_LINES - 1), modern=True).headers["a"]) == MAX_LINES - 1
    with pytest.raises(BadHead) as lines:
        parse_fields(b"Host: h" + b"\r\na:1" * MAX_LINES, modern=True)
    assert len(parse_line(b"GET /?" + b"a&" * (MAX_PARAMETERS - 1) + b"a HTTP/1.1").query["a"]) == MAX_PARAMETERS
    with pytest.raises(BadHead) as parameters:
        parse_line(b"GET /?" + b"a&" * MAX_PARAMETERS + b"a HTTP/1.1")
    with pytest.raises(BadHead) as path:
        parse_line(b"GET " + b"/" * (MAX_PATH + 1) + b" HTTP/1.1")
    with pytest.raises(BadHead) as query:
        parse_line(b"GET /?" + b"a" * (MAX_QUERY + 1) + b" HTTP/1.1")
    codes = [raised.value.code for raised in (lines, parameters, path, query)]
    assert codes == [431, 414, 414, 414]
