"""Errors of the reference's parser for invalid URLs (RFC 3986)."""

from __future__ import annotations

import re
from typing import Final

from orchd.kinds.gotext.values import quote

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+\-.]*:").match
_PORT: Final = re.compile(r"(:[0-9]*)?").fullmatch
_ESCAPE: Final = re.compile(r"%[0-9A-Fa-f]{2}").match
_HOST_CHARS: Final = re.compile(r"[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>\"]|[^\x00-\x7f]").match
_USER: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*").fullmatch


def url_error(text: str) -> str:
    """The error of an invalid URL, "" for a valid one."""
    whole, _, fragment = text.partition("#")
    wrong = _syntax_error(whole)
    if wrong:
        return f"parse {quote(whole)}: {wrong}"
    bad = _bad_escape(fragment)
    return f"parse {quote(text)}: {bad}" if bad else ""


def _syntax_error(text: str) -> str:
    if any(c < " " or c == "\x7f" for c in text):
        return "net/url: invalid control character in URL"
    if text == "*":
        return ""
    if text.startswith(":"):
        return "missing protocol scheme"
    scheme = _SCHEME(text)
    rest = (text[scheme.end() :] if scheme else text).partition("?")[0]
    if not rest.startswith("/"):
        if scheme:
            return ""
        if ":" in rest.partition("/")[0]:
            return "first path segment in URL cannot contain colon"
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        user, at, host = authority.rpartition("@")
        wrong = _bad_host(host)
        if not wrong and at and not _USER(user):
            wrong = "net/url: invalid userinfo"
        if not wrong and at:
            wrong = _bad_escape(user)
        if wrong:
            return wrong
        rest = slash + path
    return _bad_escape(rest)


def _bad_host(host: str) -> str:
    if host.startswith("["):
        inner, bracket, after = host.rpartition("]")
        if not bracket:
            return "missing ']' in host"
        if not _PORT(after):
            return f"invalid port {quote(after)} after host"
        host = inner + bracket + after
    elif ":" in host:
        end = host[host.rindex(":") :]
        if not _PORT(end):
            return f"invalid port {quote(end)} after host"
    at = 0
    while at < len(host):
        if host[at] == "%":
            escape = host[at : at + 3]
            # Only a percent sign and bytes beyond ASCII may be escaped in a host.
            if not _ESCAPE(escape) or (escape[1] < "8" and escape != "%25"):
                return f"invalid URL escape {quote(escape)}"
            at += 3
            continue
        if not _HOST_CHARS(host[at]):
            return f"invalid character {quote(host[at])} in host name"
        at += 1
    return ""


def _bad_escape(text: str) -> str:
    at = text.find("%")
    while at >= 0:
        if not _ESCAPE(text, at):
            return f"invalid URL escape {quote(text[at : at + 3])}"
        at = text.find("%", at + 3)
    return ""
