"""URLs: ``url('https://example.com:80/p?q=1')`` and their parts. A URL begins with a scheme or a slash."""

from __future__ import annotations

import re
from collections.abc import Callable

from orchd.cel.costs import FLAT, Meter, reading
from orchd.cel.declare import Function, Implementation, Library, function, member, overload
from orchd.cel.libraries.network import literal_failure
from orchd.cel.quoting import quote
from orchd.cel.types import BOOL, STRING, VENDOR, Type, list_of, map_of, struct
from orchd.cel.values import EvaluationError, Opaque, Value, no_overload

URL_TYPE = struct(f"{VENDOR}.URL")

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)|(?=:)", re.ASCII)
_PORT = re.compile(r":?|:[0-9]*", re.ASCII)
_USER = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
#: Characters that stand for themselves in a part of a URL; all others are written as escapes.
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
_PATH = _UNRESERVED | frozenset("$&+,/:;=@")
_USER_PLAIN = _UNRESERVED | frozenset("$&+,;=")
_HOST = _UNRESERVED | frozenset("!$&'()*+,;=:[]<>\"")
_FRAGMENT = _UNRESERVED | frozenset("!$&()*+,/:;=?@")
#: What may stand in a path or a fragment as it was written, besides.
_WRITTEN = frozenset("!$&'()*+,;=:@[]%")
#: Characters that are escaped at a stretch.
_PIECE = 1 << 16
#: An escape, which may be invalid, or text without escapes.
_UNESCAPED = re.compile(r"%.{0,2}|[^%]+", re.DOTALL)
_HEX = re.compile(r"[0-9A-Fa-f]{2}", re.ASCII)
#: A query with more parameters has none.
_MAX_PARAMETERS = 10_000


class _Bad(ValueError):
    """Text is no URL."""


def _unescape(text: str, *, host: bool = False, zone: bool = False) -> str:
    """Return a text with escapes resolved.

    In a host, escapes stand for what is not ASCII only; in a zone, for spaces and what may stand in a host. Raises
    `_Bad`.
    """
    if "%" not in text and not host and not zone:
        return text
    unescaped = bytearray()
    for match in _UNESCAPED.finditer(text):
        part = match.group()
        if part[0] != "%":
            for character in part if host or zone else "":
                if character < "\x80" and character not in _HOST:
                    raise _Bad(f"invalid character {quote(character)} in host name")
            unescaped += part.encode("utf-8", "surrogateescape")
            continue
        digits = part[1:]
        if not _HEX.fullmatch(digits) or not _may_be_escaped(digits, host=host, zone=zone):
            cut = part.encode("utf-8", "surrogateescape")[:3]
            raise _Bad(f"invalid URL escape {quote(cut.decode('utf-8', 'surrogateescape'))}")
        unescaped.append(int(digits, 16))
    return unescaped.decode("utf-8", "surrogateescape")


def _may_be_escaped(digits: str, *, host: bool, zone: bool) -> bool:
    if digits == "25":
        return True
    if host:
        return digits >= "8"
    return not zone or chr(int(digits, 16)) in _HOST | {" "}


def _escape(text: str, plain: frozenset[str]) -> str:
    table: dict[int, str] = {}
    for character in set(text) - plain:
        table[ord(character)] = "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
    # In pieces: no other thread runs during the translation of one.
    return "".join(text[at : at + _PIECE].translate(table) for at in range(0, len(text), _PIECE))


def _escaped(written: str, plain: frozenset[str]) -> str:
    """Return a part as it was written if that needs no escapes, otherwise with those that it needs. Raises `_Bad`."""
    resolved = _unescape(written)
    return written if set(written) <= plain | _WRITTEN else _escape(resolved, plain)


class URL(Opaque):
    """A parsed URL, with the parts that functions return and its text."""

    __slots__ = ("_literals", "escaped_path", "host", "query", "scheme", "text", "user")
    cel_type: Type = URL_TYPE
    class_name = "cel.URL"
    data_name = "*url.URL"

    def __init__(self, text: str, *, request: bool = False, literals: bool = True) -> None:
        """Parse a text. That of a request has no fragment, and begins with a scheme or one slash. Without `literals`,
        what stands in brackets need not be an address. Raises `_Bad`."""
        self._literals = literals
        self.scheme, self.host, self.escaped_path, self.query = "", "", "", ""
        #: Name and password with the at sign behind them.
        self.user = ""
        text, fragment = (text, "") if request else text.partition("#")[::2]
        if _CONTROL.search(text):
            raise _Bad("net/url: invalid control character in URL")
        if not text and request:
            raise _Bad("empty url")
        if text == "*":
            self.escaped_path = self.text = "*"
        else:
            self.text = self._parse(text, request=request)
        if fragment:
            self.text += f"#{_escaped(fragment, _FRAGMENT)}"

    def _parse(self, text: str, *, request: bool) -> str:
        """Read all parts, and return the text that they make up."""
        match = _SCHEME.match(text)
        rest = text
        if match is not None:
            if not match.group():
                raise _Bad("missing protocol scheme")
            self.scheme = match.group().lower()
            rest = text[match.end() + 1 :]
        prefix = f"{self.scheme}:" if self.scheme else ""
        rest, mark, self.query = rest.partition("?")
        suffix = mark + self.query
        if not rest.startswith("/"):
            if self.scheme:
                return prefix + rest + suffix
            if request:
                raise _Bad("invalid URI for request")
            if ":" in rest.partition("/")[0]:
                raise _Bad("first path segment in URL cannot contain colon")
        if rest.startswith("//") and (self.scheme or (not request and not rest.startswith("///"))):
            authority, slash, path = rest[2:].partition("/")
            self._authority(authority)
            rest = slash + path
            if self.user or self.host or (rest and self.scheme):
                prefix += f"//{self.user}{_escape(self.host, _HOST)}"
        self.escaped_path = _escaped(rest, _PATH)
        return prefix + self.escaped_path + suffix

    def _authority(self, authority: str) -> None:
        """Read user and host."""
        user, at, host = authority.rpartition("@")
        self.host = _host(host, literals=self._literals)
        if not at:
            return
        if not _USER.fullmatch(user):
            raise _Bad("net/url: invalid userinfo")
        name, colon, password = user.partition(":")
        escaped = (_escape(_unescape(part), _USER_PLAIN) for part in (name, password))
        self.user = colon.join(escaped) + at if colon else next(escaped) + at

    @property
    def hostname(self) -> str:
        if self.host.startswith("[") and "]" in self.host:
            return self.host[1 : self.host.index("]")]
        return self.host.rpartition(":")[0] if ":" in self.host else self.host

    @property
    def port(self) -> str:
        if self.host.startswith("["):
            return self.host.rpartition("]")[2].removeprefix(":")
        return self.host.rpartition(":")[2] if ":" in self.host else ""

    def __str__(self) -> str:
        return self.text

    def equals(self, other: Value, meter: Meter) -> bool:
        if not isinstance(other, URL):
            raise no_overload()
        return self.text == other.text

    def wire(self, spell: Callable[[str], str]) -> dict[str, str]:
        return {"url": self.text}


def _host(host: str, *, literals: bool) -> str:
    """Return host and port with escapes resolved. With `literals`, only an address of IPv6 may have brackets. Raises
    `_Bad`."""
    if literals and "[" in host[1:]:
        raise _Bad("invalid IP-literal")
    if host.startswith("["):
        inside, bracket, port = host[1:].rpartition("]")
        if not bracket:
            raise _Bad("missing ']' in host")
        if not _PORT.fullmatch(port):
            raise _Bad(f"invalid port {quote(port)} after host")
        address, percent, zone = inside.partition("%25")
        literal = _unescape(address, host=True) + _unescape(percent + zone, zone=True)
        failure = literal_failure(literal)
        if literals and failure is not None:
            raise _Bad(failure)
        return f"[{literal}]{port}"
    port = host[host.rfind(":") :] if ":" in host else ""
    if not _PORT.fullmatch(port):
        raise _Bad(f"invalid port {quote(port)} after host")
    return _unescape(host, host=True)


def _failure(text: str, error: _Bad) -> str:
    return f"parse {quote(text)}: {error}"


def url_failure(text: str) -> str | None:
    """Say why a text is no URL of a request, None if it is one."""
    try:
        URL(text, request=True)
    except _Bad as error:
        return _failure(text, error)
    return None


def lenient_url_failure(text: str, *, literals: bool = False) -> str | None:
    """Say why a text is no URL, None if it is one, also without a scheme. Unless `literals`, brackets may hold any
    host, as in older releases."""
    whole, _, fragment = text.partition("#")
    try:
        URL(whole, literals=literals)
    except _Bad as error:
        return _failure(whole, error)
    try:
        _unescape(fragment)
    except _Bad as error:
        return _failure(text, error)
    return None


def parse_url(text: str) -> URL:
    """Return the URL of a text, which is one with and without its fragment. Raises `EvaluationError`."""
    failure = url_failure(text)
    for part in dict.fromkeys([text.partition("#")[0], text]) if failure is None else ():
        try:
            url = URL(part)
        except _Bad as error:
            failure = _failure(part, error)
            break
    if failure is not None:
        raise EvaluationError(f"URL parse error during conversion from string: {failure}")
    return url


def parse_query(query: str) -> dict[str, list[str]]:
    """Return values by name; what cannot be read is left out."""
    values: dict[str, list[str]] = {}
    parts = query.split("&")
    if len(parts) > _MAX_PARAMETERS:
        return values
    for part in parts:
        if not part or ";" in part:
            continue
        name, _, value = part.partition("=")
        try:
            name, value = (_unescape(text.replace("+", " ")) for text in (name, value))
        except _Bad:
            continue
        values.setdefault(name, []).append(value)
    return values


_PARSE = reading(0, sized=True)


def _part(name: str, identifier: str, call: Implementation) -> Function:
    return function(name, member(identifier, [URL_TYPE], STRING, call, cost=FLAT))


LIBRARY = Library(
    name="urls",
    functions=(
        function("url", overload("string_to_url", [STRING], URL_TYPE, parse_url, cost=_PARSE)),
        function("isURL", overload("is_url_string", [STRING], BOOL, lambda text: url_failure(text) is None)),
        _part("getScheme", "url_get_scheme", lambda url: url.scheme),
        _part("getHost", "url_get_host", lambda url: url.host),
        _part("getHostname", "url_get_hostname", lambda url: url.hostname),
        _part("getPort", "url_get_port", lambda url: url.port),
        _part("getEscapedPath", "url_get_escaped_path", lambda url: url.escaped_path),
        function(
            "getQuery",
            member(
                "url_get_query",
                [URL_TYPE],
                map_of(STRING, list_of(STRING)),
                lambda url: parse_query(url.query),
                cost=FLAT,
            ),
        ),
    ),
)
