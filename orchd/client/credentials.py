"""What a client shows the server to be known: tokens and passwords in headers, certificates in the handshake."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from orchd.client.exec_plugin import CredentialError, ExecCredential, ExecCredentials
from orchd.pki.clientconfig import ClientConfig, Impersonation

#: Seconds for which a token that was read from a file is good.
TOKEN_AGE = 60.0
#: What names of extra headers may have besides letters and digits (RFC 7230).
_TOKEN_CHARACTERS = "!#$&'*+-.^_`|~"


@dataclass(frozen=True, slots=True)
class Credential:
    """For one request: the Authorization header, "" without, and the pair of the connection, b"" without. `source` is
    what an exec plugin gave."""

    authorization: str
    certificate: bytes
    key: bytes
    source: ExecCredential | None = None


class ITokenSource(Protocol):
    """Gives the token of now (`orchd.client.account_tokens`)."""

    async def __call__(self) -> str: ...

    def refused(self) -> None: ...


class Credentials:
    """The credentials of one client configuration, token files read again now and then. `bearer` takes the place of them
    all; a token or password of the configuration goes before an exec plugin."""

    def __init__(
        self,
        config: ClientConfig,
        seconds: Callable[[], float],
        plugin: ExecCredentials | None,
        bearer: ITokenSource | None = None,
    ) -> None:
        self._config = config
        self._bearer = bearer
        self._seconds = seconds
        known = config.token or config.token_file or config.username or config.password
        self._plugin = None if known else plugin
        self._token = config.token
        self._read: float | None = None

    async def get(self, config: ClientConfig) -> Credential:
        """For a request now; `config` has the certificates of now. Raises CredentialError."""
        if self._bearer is not None:
            return Credential(f"Bearer {await self._bearer()}", b"", b"")
        if self._plugin is not None:
            found = await self._plugin.get()
            certificate, key = (found.certificate, found.key) if found.certificate else (config.certificate, config.key)
            return Credential(f"Bearer {found.token}" if found.token else "", certificate, key, found)
        return Credential(self._header(), config.certificate, config.key)

    def refused(self, credential: Credential) -> None:
        """The server answered 401: what may have changed is looked at before the next request."""
        self._read = None
        if self._bearer is not None:
            self._bearer.refused()
        if self._plugin is not None and credential.source is not None:
            self._plugin.refused(credential.source)

    def _header(self) -> str:
        config = self._config
        if config.token_file:
            self._reread(config.token_file)
        if self._token:
            return f"Bearer {self._token}"
        if config.username or config.password:
            return "Basic " + b64encode(f"{config.username}:{config.password}".encode()).decode("ascii")
        return ""

    def _reread(self, path: str) -> None:
        now = self._seconds()
        if self._read is not None and now - self._read <= TOKEN_AGE:
            return
        try:
            token = Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            # A file that is being replaced: the token of before is good until it can be read again.
            if not self._token:
                raise CredentialError(f"failed to read token file {path!r}: {error.strerror}") from None
            token = self._token
        if not token:
            raise CredentialError(f"read empty token from file {path!r}")
        self._token, self._read = token, now


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
