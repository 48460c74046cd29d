"""Credentials of a client: tokens and passwords for headers, certificates for the TLS handshake."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from orchd.errors import ApiError
from orchd.pki.clientconfig import ClientConfig, Impersonation
from orchd.pki.url_users import basic_authorization
from orchd.txkit.file_reloading import FileReloader

#: Seconds between checks of a token file.
TOKEN_AGE = 60.0
#: Characters of header names besides letters and digits (RFC 7230).
_TOKEN_CHARACTERS = "!#$&'*+-.^_`|~"


class CredentialError(ApiError):
    """No credentials are available. A 401, so that callers can treat it like a response of the server."""

    def __init__(self, why: str) -> None:
        super().__init__(401, "Unauthorized", f"getting credentials: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecCredential:
    """Credentials returned by a program. `expires` is in seconds since the epoch, None for never."""

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class Credential:
    """Credentials of one request: the Authorization header ("" for none) and the client certificate and key (b"" for
    none). `source` is the result of an exec plugin, if they are from one."""

    authorization: str
    certificate: bytes
    key: bytes
    source: ExecCredential | None = None


class ITokenSource(Protocol):
    """Returns a valid bearer token (`orchd.client.account_tokens`)."""

    async def __call__(self) -> str: ...

    def refused(self) -> None: ...


class IExecCredentials(Protocol):
    """The credentials of an exec plugin (`orchd.client.exec_plugin`)."""

    async def get(self) -> ExecCredential: ...

    def refused(self, credential: ExecCredential) -> None: ...


class Credentials:
    """The credentials of one client configuration; a token file is reloaded when it changes. `bearer` overrides them
    all; a token or password of the configuration overrides an exec plugin."""

    def __init__(
        self,
        config: ClientConfig,
        seconds: Callable[[], float],
        plugin: IExecCredentials | None,
        bearer: ITokenSource | None = None,
    ) -> None:
        self._config = config
        self._bearer = bearer
        self._seconds = seconds
        has_own = config.token or config.token_file or config.username or config.password
        self._plugin = None if has_own else plugin
        self._file: FileReloader[str] | None = None

    async def get(self, config: ClientConfig) -> Credential:
        """Credentials for one request; `config` has the current certificates. Raises CredentialError."""
        if self._bearer is not None:
            return Credential(f"Bearer {await self._bearer()}", b"", b"")
        if self._plugin is not None:
            credentials = await self._plugin.get()
            certificate, key = (
                (credentials.certificate, credentials.key)
                if credentials.certificate
                else (config.certificate, config.key)
            )
            return Credential(_bearer(credentials.token) if credentials.token else "", certificate, key, credentials)
        return Credential(self._header(), config.certificate, config.key)

    def refused(self, credential: Credential) -> None:
        """The server responded with 401: check the token file, and renew other tokens before the next request."""
        if self._file is not None:
            self._file.check()
        if self._bearer is not None:
            self._bearer.refused()
        if credential.source is not None:
            assert self._plugin is not None
            self._plugin.refused(credential.source)

    def _header(self) -> str:
        config = self._config
        token = self._token_of(config.token_file) if config.token_file else config.token
        if token:
            return _bearer(token)
        if config.username or config.password:
            return basic_authorization(config.username, config.password)
        return ""

    def _token_of(self, path: str) -> str:
        """The contents of the token file, or the configuration's own token until the file can be read. Raises
        CredentialError without either."""
        if self._file is None:
            try:
                self._file = FileReloader(
                    f"the token file {path}",
                    lambda: _read_token(path),
                    lambda: (path,),
                    clock=self._seconds,
                    interval=TOKEN_AGE,
                )
            except ValueError as error:
                if self._config.token:
                    return self._config.token
                raise CredentialError(str(error)) from None
        return self._file()


def _bearer(token: str) -> str:
    """The header of a token. Raises CredentialError for one that a header cannot hold; the error does not show it."""
    if not (token.isascii() and token.isprintable()):
        raise CredentialError("the token has characters other than those of printable ASCII")
    return f"Bearer {token}"


def _read_token(path: str) -> str:
    try:
        token = Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ValueError(f"failed to read token file {path!r}: {error.strerror}") from error
    if not token:
        raise ValueError(f"read empty token from file {path!r}")
    return token


def impersonation_headers(impersonation: Impersonation | None) -> Sequence[tuple[str, str]]:
    """The impersonation headers of every request, () without impersonation."""
    if impersonation is None:
        return ()
    out = [("Impersonate-User", impersonation.user)]
    if impersonation.uid:
        out.append(("Impersonate-Uid", impersonation.uid))
    out += [("Impersonate-Group", group) for group in impersonation.groups]
    for key, values in impersonation.extra:
        out += [(f"Impersonate-Extra-{quote(key, safe=_TOKEN_CHARACTERS)}", value) for value in values]
    return out
