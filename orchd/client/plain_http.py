"""Plain HTTP requests with `treq` over an agent of the caller, which decides about connections, TLS and limits.

A server gets no more than the caller says, and no more of its response is used than is bounded: no redirect is
followed, no cookie kept, no compressed body asked for or expanded, and no URL rewritten.
"""

from __future__ import annotations

from http.cookiejar import CookieJar
from typing import Any

from hyperlink import EncodedURL
from treq.client import HTTPClient
from twisted.internet.defer import Deferred
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgent, IBodyProducer, IResponse
from zope.interface import implementer

from orchd.client.streams import read_body
from orchd.txkit.tls_client import BytesBodyProducer


class _NoCookies(CookieJar):
    def add_cookie_header(self, request: Any) -> None:
        """Sends none."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        """Keeps none."""


#: Newer releases of treq annotate a subclass, which older ones do not have, and accept any jar.
_NO_COOKIES: Any = _NoCookies()


class _Verbatim(EncodedURL):
    """A URL that is sent as written: normalization refuses IPv6 addresses and escapes further characters."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def to_uri(self) -> _Verbatim:
        return self

    def to_text(self, with_password: bool = False) -> str:
        return self._text


@implementer(IAgent)
class _Identity:
    """Neither asks for compression nor tells `treq` of it, so that bodies are delivered, and bounded, as they were
    sent."""

    def __init__(self, agent: IAgent) -> None:
        self._agent = agent

    def request(
        self, method: bytes, uri: bytes, headers: Headers | None = None, bodyProducer: IBodyProducer | None = None
    ) -> Deferred[IResponse]:
        assert headers is not None, "treq passes its own"
        headers.removeHeader(b"accept-encoding")
        sent: Deferred[IResponse] = self._agent.request(method, uri, headers, bodyProducer)
        return sent.addCallback(_as_sent)


def _as_sent(response: IResponse) -> IResponse:
    response.headers.removeHeader(b"content-encoding")
    return response


async def exchange(
    agent: IAgent, reactor: Any, method: str, url: str, headers: Headers, body: bytes | None, limit: int
) -> tuple[IResponse, bytes]:
    """The response and its body. Raises ApiError 500 for a body of more than `limit` bytes, ValueError for an invalid
    URL, and the failures of `agent`. The caller limits the time; cancelling aborts the connection."""
    response = await HTTPClient(_Identity(agent), _NO_COOKIES, BytesBodyProducer).request(
        method, _Verbatim(url), headers=headers, data=body, cookies=_NO_COOKIES, allow_redirects=False, unbuffered=True,
        reactor=reactor,
    )  # fmt: skip
    return response, await read_body(response, limit)
