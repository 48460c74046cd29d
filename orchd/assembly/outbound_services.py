"""Collaborators of authenticators and authorizers that call external services."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from twisted.internet.interfaces import IReactorTime

from orchd.server.authn.metrics import JwtMetrics, TokenCacheMetrics
from orchd.server.authn.oidc import TokenServices
from orchd.server.authz.metrics import WebhookMetrics
from orchd.server.outbound.reviews import SECONDS, ConfigurationFile, Evaluated, Limits, Observe, RemoteReviews
from orchd.server.outbound.webhooks import WebhookClient
from orchd.txkit.compute_thread import ComputeThread


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerServices:
    """Collaborators of authenticators that verify the tokens of issuers. `calls` are clients by the egress type of an
    issuer's configuration; `wall` is epoch seconds; `compute` evaluates long expressions."""

    reactor: IReactorTime
    wall: Callable[[], float]
    calls: Mapping[str, WebhookClient]
    token_cache: TokenCacheMetrics
    metrics: JwtMetrics
    compute: ComputeThread

    def for_tokens(self, background: Callable[[Coroutine[Any, Any, object], str], object]) -> TokenServices:
        """The collaborators of one authenticator, whose issuer discovery is run by `background`."""
        return TokenServices(reactor=self.reactor, wall=self.wall, background=background, compute=self.compute)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundServices:
    """HTTP, `wall` (epoch seconds), randomness and metrics; `compute` evaluates long expressions."""

    reactor: IReactorTime
    calls: WebhookClient
    wall: Callable[[], float]
    random: Random
    token_cache: TokenCacheMetrics
    token_reviews: Observe
    access_reviews: Observe
    webhook_metrics: WebhookMetrics
    issuers: IssuerServices
    compute: ComputeThread

    def reviews(
        self,
        path: str,
        *,
        observe: Observe = lambda code, seconds: None,
        evaluated: Evaluated = lambda result, seconds: None,
        timeout: float = SECONDS,
    ) -> RemoteReviews:
        """The review service of a client configuration file. Raises ValueError naming the file."""
        return RemoteReviews(
            self.calls,
            ConfigurationFile(path, self.reactor.seconds),
            self.reactor,
            random=self.random,
            observe=observe,
            evaluated=evaluated,
            limits=Limits(timeout=timeout),
        )
