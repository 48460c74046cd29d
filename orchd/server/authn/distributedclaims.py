"""Distributed claims of OpenID tokens (OpenID Connect Core 1.0, 5.6.2): fetched from the endpoint in the token, and
accepted if signed by a reachable issuer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchd.errors import quoted
from orchd.server.authn.jose import TokenError, unverified_issuer
from orchd.server.authn.oidcissuer import Fetcher, Issuer, status_line

#: Maximum number of issuers of distributed claims.
_MOST_ISSUERS = 16


class DistributedClaims:
    """Resolves `claim`. `issuer` creates an issuer, whose discovery starts at once."""

    def __init__(self, claim: str, fetch: Fetcher, issuer: Callable[[str], Issuer]) -> None:
        self._claim = claim
        self._fetch = fetch
        self._make_issuer = issuer
        self._issuers: dict[str, Issuer] = {}

    async def resolve(self, claims: dict[str, Any]) -> dict[str, Any]:
        """`claims` with the resolved claim, if they reference it. Raises TokenError."""
        if self._claim in claims or "_claim_names" not in claims:
            return claims
        if "_claim_sources" not in claims:
            raise TokenError("oidc: no claim sources")
        source = (claims["_claim_names"] or {}).get(self._claim)
        if source is None:
            return claims
        endpoint = (claims["_claim_sources"] or {}).get(source)
        if endpoint is None:
            raise TokenError(f"id token _claim_names contained a source {source} missing in _claims_sources")
        url = _member(endpoint, "endpoint")
        if not url:
            return claims
        return {**claims, self._claim: await self._resolve(url, _member(endpoint, "access_token"))}

    async def _resolve(self, url: str, access_token: str) -> Any:
        try:
            token = await self._fetch_claims(url, access_token)
        except TokenError as error:
            raise TokenError(f"while getting distributed claim {quoted(self._claim)}: {error}") from error
        try:
            named = unverified_issuer(token)
        except TokenError as error:
            raise TokenError(
                f"getting untrusted issuer from endpoint {url} failed for claim {quoted(self._claim)}: {error}"
            ) from error
        issuer = self._issuer(named)
        if issuer is None or not issuer.ready:
            raise TokenError(
                f"verifying untrusted issuer {named} failed: verifier not initialized for issuer: {quoted(named)}"
            )
        try:
            claims = await issuer.verified(token)
        except TokenError as error:
            raise TokenError(f"verify distributed claim token: {error}") from error
        if self._claim not in claims:
            raise TokenError(
                f"jwt returned by distributed claim endpoint {quoted(url)} did not contain claim: {self._claim}"
            )
        return claims[self._claim]

    async def _fetch_claims(self, url: str, access_token: str) -> str:
        headers = {"Authorization": f"Bearer {access_token}"} if access_token else {}
        response = await self._fetch(url, headers)
        if not 200 <= response.code <= 226:
            raise TokenError(f"error while getting distributed claim JWT: {status_line(response.code)}")
        return response.data.decode("utf-8", "replace")

    def _issuer(self, url: str) -> Issuer | None:
        """An issuer; a new one is not ready yet. None beyond the maximum number."""
        issuer = self._issuers.get(url)
        if issuer is None and len(self._issuers) < _MOST_ISSUERS and url.startswith("https://"):
            issuer = self._issuers[url] = self._make_issuer(url)
        return issuer


def _member(endpoint: Any, name: str) -> str:
    value = endpoint.get(name) if isinstance(endpoint, dict) else None
    if value is None or isinstance(value, str):
        return value or ""
    raise TokenError(f"oidc: could not parse claim sources: {name} is not a text")
