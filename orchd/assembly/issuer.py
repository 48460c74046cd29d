"""OpenID discovery of the issuer of service-account tokens, as endpoints."""

from __future__ import annotations

from twisted.logger import Logger

from orchd.assembly.files import ServerFiles
from orchd.config.settings import Settings
from orchd.server.authn.discovery import CONFIGURATION_PATH, KEYS_PATH, configuration, key_set
from orchd.server.pipeline.endpoints.simple import Endpoint, document_endpoint

_log = Logger(namespace="orchd.authn")


def issuer_endpoints(settings: Settings, files: ServerFiles, address: str) -> dict[str, Endpoint]:
    """The discovery document and the keys, by path. None of them for an issuer that OpenID does not know (no https
    URL): its tokens work here and nowhere else. `address` (host and port) is where others reach this server."""
    accounts = settings.authentication.service_accounts
    host = settings.serving.external_hostname
    if host:
        address = host if ":" in host else f"{host}:{settings.serving.port}"
    keys = files.verification_keys
    try:
        document = configuration(accounts.issuers[0], accounts.jwks_uri or f"https://{address}{KEYS_PATH}", keys)
    except ValueError as error:
        _log.warn("no OpenID discovery for service-account tokens: {error}", error=error)
        return {}
    return {
        CONFIGURATION_PATH: document_endpoint(document, content_type="application/json"),
        KEYS_PATH: document_endpoint(key_set(keys), content_type="application/jwk-set+json"),
    }
