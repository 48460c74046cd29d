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
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
_PATH = _UNRESERVED | frozenset("$&+,/:;=@")
#: What an escaped path may have besides.
_PATH_ENCODED = _PATH | frozenset("!'()*[]%")
_HOST = _UNRESERVED | frozenset("!$&'()*+,;=:[]<>\"")
#: Characters that are escaped at a stretch.
_PIECE = 1 << 16
#: An escape, which may be invalid, or text without escapes.
_UNESCAPED = re.compile(r"%.{0,2}|[^%]+", re.DOTALL)
_HEX = re.compile(r"[0-9A-Fa-f]{2}", re.ASCII)


class _Bad(ValueError):
    """Text is no URL."""


def _unescape(text: str, *, host: bool = False) -> str:
    """Return a text with escapes resolved. Raises `_Bad`."""
    if "%" not in text and not host:
        return text
    unescaped = bytearray()
    for match in _UNESCAPED.finditer(text):
        part = match.group()
        if part[0] != "%":
            for character in part if host else "":
                if character < "\x80" and character not in _HOST:
                    raise _Bad(f"invalid character {quote(character)} in host name")
            unescaped += part.encode("utf-8", "surrogatepass")
            continue
        digits = part[1:]
        if not _HEX.fullmatch(digits) or (host and digits < "8" and digits != "25"):
            raise _Bad(f"invalid URL escape {quote(part)}")
        unescaped.append(int(digits, 16))
    return unescaped.decode("utf-8", "surrogateescape")


def _escape(text: str, plain: frozenset[str]) -> str:
    table: dict[int, str] = {}
    for character in set(text) - plain:
        table[ord(character)] = "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
    # In pieces: no other thread runs during the translation of one.
    return "".join(text[at : at + _PIECE].translate(table) for at in range(0, len(text), _PIECE))


class URL(Opaque):
    """A parsed URL."""

    __slots__ = ("escaped_path", "fragment", "host", "opaque", "query", "scheme", "user")
    cel_type: Type = URL_TYPE
    class_name = "cel.URL"
    data_name = "*url.URL"

    def __init__(self, text: str) -> None:
        """Parse a text that begins with a scheme or a slash. Raises `_Bad`."""
        self.fragment = ""
        self.user: str | None = None
        self.host: str | None = None
        self.opaque = ""
        self.escaped_path = ""
        if any(character < " " or character == "\x7f" for character in text):
            raise _Bad("net/url: invalid control character in URL")
        if not text:
            raise _Bad("empty url")
        self.scheme, self.query = "", ""
        if text == "*":
            self.escaped_path = "*"
            return
        match = _SCHEME.match(text)
        rest = text
        if match is not None:
            if not match.group():
                raise _Bad("missing protocol scheme")
            self.scheme = match.group().lower()
            rest = text[match.end() + 1 :]
        rest, _, self.query = rest.partition("?")
        if not rest.startswith("/"):
            if not self.scheme:
                raise _Bad("invalid URI for request")
            self.opaque = rest
            return
        if rest.startswith("//") and (self.scheme or not rest.startswith("///")):
            rest = self._authority(rest[2:])
        path = _unescape(rest)
        default = _escape(path, _PATH)
        self.escaped_path = rest if rest != default and set(rest) <= _PATH_ENCODED else default

    def _authority(self, rest: str) -> str:
        """Read user and host, and return the rest of the text."""
        authority, slash, path = rest.partition("/")
        user, at, host = authority.rpartition("@")
        self.host = _host(host)
        if at:
            if not _USER.fullmatch(user):
                raise _Bad("net/url: invalid userinfo")
            self.user = user
            _unescape(user)
        return slash + path

    @property
    def hostname(self) -> str:
        host = self.host or ""
        if host.startswith("[") and "]" in host:
            return host[1 : host.index("]")]
        return host.rpartition(":")[0] if ":" in host else host

    @property
    def port(self) -> str:
        host = self.host or ""
        if host.startswith("["):
            return host.rpartition("]")[2].removeprefix(":")
        return host.rpartition(":")[2] if ":" in host else ""

    def __str__(self) -> str:
        text = f"{self.scheme}:" if self.scheme else ""
        if self.opaque:
            text += self.opaque
        else:
            if self.host is not None:
                text += f"//{f'{self.user}@' if self.user is not None else ''}{_escape(self.host, _HOST)}"
            text += self.escaped_path
        if self.query:
            text += f"?{self.query}"
        return text + (f"#{self.fragment}" if self.fragment else "")

    def equals(self, other: Value, meter: Meter) -> bool:
        if not isinstance(other, URL):
            raise no_overload()
        return str(self) == str(other)

    def wire(self, spell: Callable[[str], str]) -> dict[str, str]:
        return {"url": str(self)}


def _host(host: str) -> str:
    """Return host and port with escapes resolved. Only an address of IPv6 may have brackets. Raises `_Bad`."""
    if "[" in host[1:]:
        raise _Bad("invalid IP-literal")
    if host.startswith("["):
        inside, bracket, port = host[1:].rpartition("]")
        if not bracket:
            raise _Bad("missing ']' in host")
        if not _PORT.fullmatch(port):
            raise _Bad(f"invalid port {quote(port)} after host")
        address, percent, zone = inside.partition("%25")
        literal = _unescape(address, host=True) + _unescape(percent + zone)
        failure = literal_failure(literal)
        if failure is not None:
            raise _Bad(failure)
        return f"[{literal}]{port}"
    port = host[host.rfind(":") :] if ":" in host else ""
    if not _PORT.fullmatch(port):
        raise _Bad(f"invalid port {quote(port)} after host")
    return _unescape(host, host=True)


def url_failure(text: str) -> str | None:
    """Say why a text is no URL of a request, None if it is one."""
    try:
        URL(text)
    except _Bad as error:
        return f"parse {quote(text)}: {error}"
    return None


def parse_url(text: str) -> URL:
    """Return the URL of a text. Raises `EvaluationError`."""
    failure = url_failure(text)
    if failure is not None:
        raise EvaluationError(f"URL parse error during conversion from string: {failure}")
    head, mark, fragment = text.partition("#")
    url = URL(head if mark and head else text)
    url.fragment = fragment
    return url


def parse_query(query: str) -> dict[str, list[str]]:
    """Return values by name; what cannot be read is left out."""
    values: dict[str, list[str]] = {}
    for part in query.split("&"):
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
        _part("getHost", "url_get_host", lambda url: url.host or ""),
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
