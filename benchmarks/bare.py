"""A bare twisted.web resource over TLS that responds with 2 KB: its CPU time per GET is the unit "bare" of the
benchmarks.

Run as ``python -m benchmarks.bare CERTIFICATE KEY``; prints the port when it listens.
"""

from __future__ import annotations

import sys
from typing import Any

from twisted.internet import reactor as installed
from twisted.internet.ssl import DefaultOpenSSLContextFactory
from twisted.web.resource import Resource
from twisted.web.server import Request, Site

BODY = b'{"kind":"Bare","data":"' + b"x" * 2000 + b'"}\n'


reactor: Any = installed


class Bare(Resource):
    isLeaf = True

    def render_GET(self, request: Request) -> bytes:
        request.setHeader(b"content-type", b"application/json")
        return BODY


def main() -> None:
    certificate, key = sys.argv[1:]
    # twisted.web's constructors are not annotated.
    make: Any = Bare
    site = Site(make(), timeout=None)
    contexts = DefaultOpenSSLContextFactory(key, certificate)
    port = reactor.listenSSL(0, site, contexts, interface="127.0.0.1")
    print(port.getHost().port, flush=True)
    reactor.run()


if __name__ == "__main__":
    main()
