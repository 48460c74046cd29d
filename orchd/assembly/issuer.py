"""OpenID discovery endpoints of the service account token issuer."""

from __future__ import annotations

from orchd.assembly.files import ServerFiles
from orchd.config.settings import Settings
from orchd.server.authn.discovery import CONFIGURATION_PATH, KEYS_PATH, configuration, key_set
from orchd.server.pipeline.endpoints.simple import Endpoint, document_endpoint
from orchd.txkit.log import Logger

_log = Logger(namespace="orchd.authn")


def issuer_endpoints(settings: Settings, files: ServerFiles, address: str) -> dict[str, Endpoint]:
    """The discovery document and the key set, by path. Empty when the issuer is not a valid OpenID issuer (no https
    URL): its tokens are valid only in this cluster. `address` (host and port) is the advertised address of this
    server."""
    accounts = settings.authentication.service_accounts
    host = settings.serving.external_hostname
    if host:
        address = host if ":" in host else f"{host}:{settings.serving.port}"
    keys = files.verification_keys
    try:
        document = configuration(accounts.issuers[0], accounts.jwks_uri or f"https://{address}{KEYS_PATH}", keys)
    except ValueError as error:
        _log.warn("OpenID discovery of service account tokens is disabled: {error}", error=error)
        return {}
    return {
        CONFIGURATION_PATH: document_endpoint(document, content_type="application/json", release=settings.release),
        KEYS_PATH: document_endpoint(key_set(keys), content_type="application/jwk-set+json", release=settings.release),
    }
