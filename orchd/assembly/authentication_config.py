"""Whom this server trusts as authorities of clients and front proxies: read again when the files change, and told to
extension servers in a config map, so that they trust the same (specification, "Extension API server authentication").
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from orchd.assembly.files import ServerFiles
from orchd.assembly.identity import Authentication
from orchd.client.interfaces import IClient, Object, ResourceRef
from orchd.config.settings import Settings
from orchd.errors import ApiError
from orchd.pki.certificates import chain_pem, load_chain
from orchd.pki.verify import ClientVerifier
from orchd.server.http.tls import stamps
from orchd.txkit.background import Background

#: Seconds between looks at the files, and at the config map, which others may change or delete.
_EVERY, _KEEP = 10.0, 60.0
#: Several servers may write the config map at once: a lost race is tried again so often.
_ATTEMPTS = 5
#: Certificates that expired so recently are still passed on: clocks differ.
_SLACK = timedelta(minutes=5)
_CONFIG_MAPS = ResourceRef("", "v1", "configmaps")
_NAME = "extension-apiserver-authentication"
_BUNDLES = ("client-ca-file", "requestheader-client-ca-file")
_LISTS = (
    "requestheader-allowed-names",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    "requestheader-username-headers",
)


class CaBundlePublisher:
    """Keeps what the methods of authentication trust as the files say, and the config map with it."""

    _log = Logger()

    def __init__(
        self,
        settings: Settings,
        files: ServerFiles,
        authentication: Authentication,
        client: IClient,
        *,
        clock: IReactorTime,
        wall: Callable[[], float],
    ) -> None:
        chosen = settings.authentication
        self._dialect = settings.dialect
        self._headers = chosen.front_proxy
        self._names = {"client-ca-file": chosen.client_ca_file, "requestheader-client-ca-file": chosen.front_proxy.ca_file}
        self._given = {
            "client-ca-file": files.client_authorities_given,
            "requestheader-client-ca-file": files.proxy_authorities,
        }
        #: The administrator's own certificate must work whatever other authority is configured.
        self._own = files.made.ca_certificate.read_bytes()
        self._authentication = authentication
        self._client = client
        self._wall = wall
        self._seen = stamps(self._names.values())
        self._background = Background()
        self._polling, self._keeping = LoopingCall(self.look), LoopingCall(self.keep)
        self._polling.clock = self._keeping.clock = clock

    async def start(self) -> None:
        """Watch the files, if there are any, and the config map."""
        if any(self._names.values()):
            self._polling.start(_EVERY, now=False)
        self._keeping.start(_KEEP, now=False)

    async def stop(self) -> None:
        for loop in (self._polling, self._keeping):
            if loop.running:
                loop.stop()
        await self._background.stop()

    def keep(self) -> None:
        """Look after the config map, unless that is being done."""
        if not self._background:
            self._background.add(self._kept(), "telling extension servers whom to trust")

    async def _kept(self) -> None:
        try:
            await self.publish()
        except ApiError as error:
            self._log.warn("extension servers were not told whom to trust: {error}", error=error.message)

    def look(self) -> None:
        """Read the files again if one has changed."""
        found = stamps(self._names.values())
        if found == self._seen:
            return
        try:
            given = {flag: Path(name).read_bytes() if name else self._given[flag] for flag, name in self._names.items()}
            clients = ClientVerifier(chain_pem(*load_chain(given["client-ca-file"])) + self._own)
            proxies = ClientVerifier(given[_BUNDLES[1]]) if self._names[_BUNDLES[1]] else None
        except (OSError, ValueError) as error:
            # A file that is being replaced: what was read before is good until it can be read again.
            self._log.warn("authorities were not reloaded: {error}", error=str(error))
            return
        self._seen, self._given = found, given
        self._authentication.certificates.replace_authorities(clients)
        if proxies is not None and self._authentication.front_proxy is not None:
            self._authentication.front_proxy.replace_authorities(proxies)
        self._log.info("authorities reloaded")
        self.keep()

    def data(self) -> dict[str, str]:
        """What this server has to say in the config map."""
        out = {"client-ca-file": self._given["client-ca-file"].decode("utf-8", "replace")}
        if self._names["requestheader-client-ca-file"]:
            headers = self._headers
            out |= {
                "requestheader-allowed-names": _listed(headers.names),
                "requestheader-client-ca-file": self._given["requestheader-client-ca-file"].decode("utf-8", "replace"),
                "requestheader-extra-headers-prefix": _listed(headers.extra_prefixes),
                "requestheader-group-headers": _listed(headers.group_headers),
                "requestheader-username-headers": _listed(headers.username_headers),
            }
        return out

    async def publish(self) -> None:
        """Make the config map say all that this server and those before it have to say. Raises ApiError."""
        for attempt in range(_ATTEMPTS):
            try:
                await self._write()
                return
            except ApiError as error:
                if error.code != 409 or attempt == _ATTEMPTS - 1:
                    raise

    async def _write(self) -> None:
        namespace = self._dialect.system_namespace
        found: Object | None
        try:
            found = await self._client.get(_CONFIG_MAPS, namespace, _NAME)
        except ApiError as error:
            if error.code != 404:
                raise
            found = None
        said = (found or {}).get("data") or {}
        data = combined(said, self.data(), now=datetime.fromtimestamp(self._wall(), UTC))
        if found is None:
            made = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": _NAME, "namespace": namespace},
                "data": data,
            }
            await self._client.create(_CONFIG_MAPS, namespace, made)
        elif data != said:
            await self._client.update(_CONFIG_MAPS, namespace, _NAME, {**found, "data": data})


def _listed(texts: Sequence[str]) -> str:
    return json.dumps(list(texts), separators=(",", ":"), ensure_ascii=False)


def combined(found: Mapping[str, str], own: Mapping[str, str], *, now: datetime) -> dict[str, str]:
    """What several servers say of themselves as one: lists with what each names, bundles with the certificates of all
    that have not expired; the lists only beside the authorities of proxies. What cannot be read counts for nothing."""

    def values(key: str) -> list[str]:
        return [source[key] for source in (found, own) if key in source]

    bundles = {key: _bundle(values(key), now) for key in _BUNDLES}
    out = {key: bundle for key, bundle in bundles.items() if bundle}
    if "requestheader-client-ca-file" in out:
        out |= {key: _listed(_union(values(key))) for key in _LISTS}
    return out


def _bundle(values: Sequence[str], now: datetime) -> str:
    certificates = {}
    for value in values:
        try:
            certificates.update(dict.fromkeys(load_chain(value.encode())))
        except ValueError:
            continue
    return chain_pem(*(each for each in certificates if each.not_valid_after_utc > now - _SLACK)).decode()


def _union(values: Sequence[str]) -> list[str]:
    texts: dict[str, None] = {}
    for value in values:
        try:
            listed = json.loads(value)
        except ValueError:
            continue
        if isinstance(listed, list):
            texts.update((text, None) for text in listed if isinstance(text, str))
    return list(texts)
