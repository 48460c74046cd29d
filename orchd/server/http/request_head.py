"""Request heads: parses bytes to values (RFC 9112 sections 2 to 6, RFC 9110). Pure.

Strict where lenient parsing enables request smuggling (bare line feeds, folded lines, space before the colon,
conflicting lengths) and lenient where the reference is (any token is a method). An invalid head raises `BadHead` with
the status code and plain text that the reference sends before it closes the connection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote_plus, unquote_to_bytes

from orchd.server.pipeline.query import EMPTY, Query
from orchd.values import value_class

#: Reason phrases as the reference writes them.
PHRASES = {
    100: "Continue", 101: "Switching Protocols", 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content",
    206: "Partial Content", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
    307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict",
    410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Request Entity Too Large",
    414: "Request URI Too Long", 415: "Unsupported Media Type", 416: "Requested Range Not Satisfiable",
    417: "Expectation Failed", 421: "Misdirected Request", 422: "Unprocessable Entity", 429: "Too Many Requests",
    431: "Request Header Fields Too Large", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
    503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
}  # fmt: skip

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([^\x00-\x20\x7f]+) HTTP/([0-9])\.([0-9])")
#: Octets that are invalid in field values: controls except tab.
_CONTROLS = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")
_HOST = re.compile(r"[A-Za-z0-9!$%&'()*+,\-.:;=\[\]_~]*")

#: Maximum number of header lines; more get 431. The reference limits only their size.
MAX_LINES = 2000
#: Maximum number of query parameters; more get 414.
MAX_PARAMETERS = 10_000
#: Maximum length in bytes of a path, and of a query with its escapes; longer ones get 414.
MAX_PATH, MAX_QUERY = 32 << 10, 256 << 10
#: Maximum number of members evaluated in a list-valued header line.
_MEMBERS = 256

#: Length of a body in chunked coding, which is known only at its end.
CHUNKED = -1


class BadHead(Exception):
    """An invalid request head, refused by the connection, which is then closed."""

    def __init__(self, code: int, why: str = "") -> None:
        super().__init__(why or PHRASES[code])
        self.code = code
        #: The body of the response.
        self.text = f"{code} {PHRASES[code]}: {why}" if why else f"{code} {PHRASES[code]}"


@value_class()
class Fields:
    """A header section and values derived from it. `length` is that of the body, CHUNKED for chunked coding."""

    headers: Mapping[str, tuple[str, ...]]
    length: int
    #: None: the default of the HTTP version.
    keep_alive: bool | None
    expects_continue: bool
    gzip: bool


@value_class()
class RequestTarget:
    """The parsed request line. `path` is decoded, `raw_path` is not; `query` keeps all values in order."""

    method: str
    path: str
    raw_path: str
    query: Query
    #: False for HTTP/1.0.
    modern: bool


def parse_fields(block: bytes, *, modern: bool) -> Fields:
    """Parse the header lines between request line and empty line, without the last line end."""
    collected: dict[str, tuple[str, ...]] = {}
    if block:
        if block.count(b"\r\n") >= MAX_LINES:
            raise BadHead(431)
        repeated: dict[str, list[str]] = {}
        for line in block.split(b"\r\n"):
            name, colon, value = line.partition(b":")
            if not colon or _TOKEN.fullmatch(name) is None:
                raise BadHead(400)
            if _CONTROLS.search(value) is not None:
                raise BadHead(400, "invalid header value")
            key = name.decode("ascii").lower()
            text = value.strip(b" \t").decode("utf-8", "replace")
            if key not in collected:
                collected[key] = (text,)
            else:
                repeated.setdefault(key, []).append(text)
        for key, more in repeated.items():
            collected[key] += tuple(more)
    hosts = collected.get("host", ())
    if modern and not hosts:
        raise BadHead(400, "missing required Host header")
    if len(hosts) > 1:
        raise BadHead(400, "too many Host headers")
    if hosts and _HOST.fullmatch(hosts[0]) is None:
        raise BadHead(400, "malformed Host header")
    length, mixed = _length(collected, modern)
    options = _tokens(collected, "connection")
    keep_alive = False if "close" in options or mixed else True if "keep-alive" in options else None
    expect = collected.get("expect", ())
    if modern and expect and expect[0] and not _is_continue(expect):
        raise BadHead(417)
    return Fields(
        headers=collected,
        length=length,
        keep_alive=keep_alive,
        expects_continue=modern and bool(expect) and length != 0,
        gzip=_takes_gzip(collected),
    )


def _is_continue(values: tuple[str, ...]) -> bool:
    return any(value.strip().lower() == "100-continue" for line in values for value in _members(line))


def _tokens(headers: Mapping[str, tuple[str, ...]], name: str) -> set[str]:
    return {token.strip().lower() for line in headers.get(name, ()) for token in _members(line)}


def _members(line: str) -> list[str]:
    """The members of a comma-separated list; those after the first `_MEMBERS` are ignored."""
    return line.split(",", _MEMBERS)[:_MEMBERS]


def _takes_gzip(headers: Mapping[str, tuple[str, ...]]) -> bool:
    """True if the first Accept-Encoding header contains plain gzip without a weight: the reference supports no other
    form."""
    lines = headers.get("accept-encoding") or ("",)
    return any(coding.strip() == "gzip" for coding in _members(lines[0]))


def _length(headers: dict[str, tuple[str, ...]], modern: bool) -> tuple[int, bool]:
    """The length of the body, and whether two headers state it: then the connection is not reused (RFC 9112, 6.1)."""
    codings = headers.get("transfer-encoding", ())
    lengths = headers.get("content-length", ())
    if codings and modern:
        if len(codings) > 1 or codings[0].lower() != "chunked":
            raise BadHead(501, "unsupported transfer encoding")
        return CHUNKED, bool(lengths)
    if not lengths:
        return 0, bool(codings)
    distinct = set(lengths)
    value = lengths[0]
    if len(distinct) > 1 or not (value.isascii() and value.isdigit()) or len(value) > 18:
        raise BadHead(400)
    return int(value), bool(codings)


def parse_line(line: bytes) -> RequestTarget:
    """Parse the request line."""
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise BadHead(400)
    method, target, major, minor = match.groups()
    if major != b"1":
        raise BadHead(505, "unsupported protocol version")
    raw, mark, query = target.partition(b"?")
    if not raw.startswith(b"/"):
        raw = _origin(raw, method)
    if len(raw) > MAX_PATH or len(query) > MAX_QUERY or query.count(b"&") >= MAX_PARAMETERS:
        raise BadHead(414)
    if b"#" in query:
        query = query.partition(b"#")[0]
    return RequestTarget(
        method=method.decode("ascii"),
        path=_decode(raw),
        raw_path=raw.decode("utf-8", "replace"),
        query=Query.of(parse_query(query)) if mark else EMPTY,
        modern=minor != b"0",
    )


def _origin(raw: bytes, method: bytes) -> bytes:
    """The path of a target in absolute, authority or asterisk form (RFC 9112, 3.2)."""
    if raw == b"*":
        return raw
    absolute = _ABSOLUTE.match(raw)
    if absolute is not None:
        return raw[absolute.end() :] or b"/"
    if method == b"CONNECT":
        return b""
    raise BadHead(400)


def _decode(raw: bytes) -> str:
    if b"%" not in raw:
        return raw.decode("utf-8", "replace")
    if _BAD_ESCAPE.search(raw) is not None:
        raise BadHead(400)
    return unquote_to_bytes(raw).decode("utf-8", "replace")


def parse_query(query: bytes) -> dict[str, list[str]]:
    """Parameters with all their values, including blank ones.

    Pairs that cannot be decoded or contain a semicolon are dropped, as in the reference."""
    out: dict[str, list[str]] = {}
    for pair in query.decode("utf-8", "replace").split("&"):
        if not pair or ";" in pair:
            continue
        name, _, value = pair.partition("=")
        if "%" in pair:
            if _BAD_ESCAPE.search(pair.encode()) is not None:
                continue
            name, value = unquote_plus(name), unquote_plus(value)
        elif "+" in pair:
            name, value = name.replace("+", " "), value.replace("+", " ")
        out.setdefault(name, []).append(value)
    return out
