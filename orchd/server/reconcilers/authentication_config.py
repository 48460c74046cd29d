"""CA bundles of clients and front proxies: reloaded when their files change, and published in a config map for
extension API servers (specification, "Extension API server authentication").
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from orchd.client.interfaces import IClient, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.pki.certificates import chain_pem, load_chain
from orchd.pki.verify import ClientVerifier
from orchd.server.authn.frontproxy import FrontProxy
from orchd.server.authn.x509 import ClientCertificates
from orchd.txkit.background import Background
from orchd.txkit.file_reloading import FileReloader
from orchd.txkit.log import Logger

#: Seconds between checks of the files and of the config map, which others may change or delete.
_EVERY, _KEEP = 10.0, 60.0
#: Attempts after a lost race: several servers may write the config map at once.
_ATTEMPTS = 5
#: Certificates that expired within this time are still published, to tolerate clock skew.
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
_UIDS = "requestheader-uid-headers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorities:
    """CA bundles of clients and of front proxies: files by flag ("" without one), their initial contents, `own` (the
    PEM of this server's CA, always trusted for clients), and the front-proxy lists of the config map, by key."""

    files: Mapping[str, str]
    read: Mapping[str, bytes]
    own: bytes
    proxy_lists: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bundles:
    """Bundles as PEM by flag, and their verifiers; `proxies` is None without front proxies."""

    pem: Mapping[str, bytes]
    clients: ClientVerifier
    proxies: ClientVerifier | None


class CaBundlePublisher:
    """Reloads CA bundles when their files change, passes them to the authenticators, and publishes them in the config
    map that extension API servers read."""

    _log = Logger()

    def __init__(
        self,
        dialect: Dialect,
        client: IClient,
        authorities: Authorities,
        certificates: ClientCertificates,
        front_proxy: FrontProxy | None,
        *,
        clock: IReactorTime,
        wall: Callable[[], float],
    ) -> None:
        self._dialect = dialect
        self._files = dict(authorities.files)
        self._initial = dict(authorities.read)
        self._own = authorities.own
        self._proxy_lists = authorities.proxy_lists
        self._certificates, self._front_proxy = certificates, front_proxy
        self._client = client
        self._wall = wall
        self._bundles = FileReloader("CA bundles", self._load, lambda: filter(None, self._files.values()))
        self._background = Background()
        self._polling, self._publishing = LoopingCall(self.reload), LoopingCall(self.publish_soon)
        self._polling.clock = self._publishing.clock = clock

    async def start(self) -> None:
        """Begin to watch the files, if any, and the config map."""
        if any(self._files.values()):
            self._polling.start(_EVERY, now=False)
        self._publishing.start(_KEEP, now=False)

    async def stop(self) -> None:
        for loop in (self._polling, self._publishing):
            if loop.running:
                loop.stop()
        await self._background.stop()

    def publish_soon(self) -> None:
        """Publish in the background, unless a publication is running."""
        if not self._background:
            self._background.add(self._try_to_publish(), "publishing authorities for extension API servers")

    async def _try_to_publish(self) -> None:
        try:
            await self.publish()
        except ApiError as error:
            self._log.warn("failed to publish CA bundles for extension API servers: {error}", error=error.message)

    def reload(self) -> None:
        """Read changed files again, pass them to the authenticators and publish them."""
        if not self._bundles.check():
            return
        bundles = self._bundles.value
        self._certificates.replace_authorities(bundles.clients)
        if bundles.proxies is not None and self._front_proxy is not None:
            self._front_proxy.replace_authorities(bundles.proxies)
        self.publish_soon()

    def _load(self) -> _Bundles:
        contents = {
            flag: Path(name).read_bytes() if name else self._initial[flag] for flag, name in self._files.items()
        }
        return _Bundles(
            pem=contents,
            clients=ClientVerifier(chain_pem(*load_chain(contents["client-ca-file"])) + self._own),
            proxies=ClientVerifier(contents[_BUNDLES[1]]) if self._files[_BUNDLES[1]] else None,
        )

    def data(self) -> dict[str, str]:
        """This server's data for the config map."""
        contents = self._bundles.value.pem
        out = {"client-ca-file": contents["client-ca-file"].decode("utf-8", "replace")}
        if self._files["requestheader-client-ca-file"]:
            out["requestheader-client-ca-file"] = contents["requestheader-client-ca-file"].decode("utf-8", "replace")
            out |= {key: _encode_list(texts) for key, texts in self._proxy_lists.items()}
        return out

    async def publish(self) -> None:
        """Merge this server's part into the config map. Raises ApiError."""
        for attempt in range(_ATTEMPTS):
            try:
                await self._write()
                return
            except ApiError as error:
                if error.code != 409 or attempt == _ATTEMPTS - 1:
                    raise

    async def _write(self) -> None:
        namespace = self._dialect.system_namespace
        config_map: Object | None
        try:
            config_map = await self._client.get(_CONFIG_MAPS, namespace, _NAME)
        except ApiError as error:
            if error.code != 404:
                raise
            config_map = None
        published = (config_map or {}).get("data") or {}
        data = combine(published, self.data(), now=datetime.fromtimestamp(self._wall(), UTC))
        if config_map is None:
            new = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": _NAME, "namespace": namespace},
                "data": data,
            }
            await self._client.create(_CONFIG_MAPS, namespace, new)
        elif data != published:
            await self._client.update(_CONFIG_MAPS, namespace, _NAME, {**config_map, "data": data})


def _encode_list(texts: Sequence[str]) -> str:
    return json.dumps(list(texts), separators=(",", ":"), ensure_ascii=False)


def combine(published: Mapping[str, str], own: Mapping[str, str], *, now: datetime) -> dict[str, str]:
    """Merge the data of several servers: the union of lists, and bundles without expired certificates; lists only
    together with front-proxy CAs. Invalid values are ignored."""

    def values(key: str) -> list[str]:
        return [source[key] for source in (published, own) if key in source]

    bundles = {key: _bundle(values(key), now) for key in _BUNDLES}
    out = {key: bundle for key, bundle in bundles.items() if bundle}
    if "requestheader-client-ca-file" in out:
        # Of user IDs only where a server has such headers.
        lists = (*_LISTS, *((_UIDS,) if values(_UIDS) else ()))
        out |= {key: _encode_list(_union(values(key))) for key in lists}
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
