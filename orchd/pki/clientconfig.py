"""Client configuration files: the address of a server and the credentials for it.

YAML of ``kind: Config, apiVersion: v1`` with clusters, users and contexts, the format of stock clients. Only the settings of
one context are read; unknown keys are ignored.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


class ClientConfigError(ValueError):
    """An unusable configuration file. The message names the defect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """One context: a server and the credentials for it. Certificates and keys are PEM bytes, b"" if absent."""

    server: str
    authority: bytes = b""
    certificate: bytes = b""
    key: bytes = b""
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    namespace: str = ""
    insecure: bool = False
    server_name: str = ""
    cluster: str = "default"
    user: str = "default"

    def render(self) -> str:
        """The text of a configuration file with inline certificates (``...-data``)."""
        cluster = _present(
            {
                "server": self.server,
                "certificate-authority-data": _encoded(self.authority),
                "insecure-skip-tls-verify": self.insecure,
                "tls-server-name": self.server_name,
            }
        )
        user = _present(
            {
                "client-certificate-data": _encoded(self.certificate),
                "client-key-data": _encoded(self.key),
                "token": self.token,
                "tokenFile": self.token_file,
                "username": self.username,
                "password": self.password,
            }
        )
        context = _present({"cluster": self.cluster, "user": self.user, "namespace": self.namespace})
        name = f"{self.user}@{self.cluster}"
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": self.cluster, "cluster": cluster}],
                "users": [{"name": self.user, "user": user}],
                "contexts": [{"name": name, "context": context}],
                "current-context": name,
                "preferences": {},
            },
            sort_keys=False,
        )


def parse(text: str, *, folder: Path | None = None, context: str = "") -> ClientConfig:
    """The named or current context of a configuration text. Relative paths are resolved against `folder`.

    Raises ClientConfigError, or OSError if a referenced file cannot be read.
    """
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ClientConfigError(f"not YAML: {error}") from error
    if not isinstance(document, dict):
        raise ClientConfigError("not a mapping")
    if document.get("kind", "Config") != "Config" or document.get("apiVersion", "v1") != "v1":
        raise ClientConfigError("not of kind Config, apiVersion v1")
    name = context or document.get("current-context") or ""
    chosen = _find(document, "contexts", "context", name)
    cluster = _find(document, "clusters", "cluster", chosen.get("cluster", ""))
    user = _find(document, "users", "user", chosen.get("user", "")) if chosen.get("user") else {}
    if not cluster.get("server"):
        raise ClientConfigError(f"cluster {chosen.get('cluster')!r} has no server")
    for unsupported in ("exec", "auth-provider"):
        if unsupported in user:
            raise ClientConfigError(f"user {chosen.get('user')!r}: {unsupported} is not supported")
    return ClientConfig(
        server=str(cluster["server"]),
        authority=_bytes(cluster, "certificate-authority", folder),
        certificate=_bytes(user, "client-certificate", folder),
        key=_bytes(user, "client-key", folder),
        token=str(user.get("token", "")),
        token_file=str(_path(user["tokenFile"], folder)) if user.get("tokenFile") else "",
        username=str(user.get("username", "")),
        password=str(user.get("password", "")),
        namespace=str(chosen.get("namespace", "")),
        insecure=bool(cluster.get("insecure-skip-tls-verify", False)),
        server_name=str(cluster.get("tls-server-name", "")),
        cluster=str(chosen.get("cluster", "")),
        user=str(chosen.get("user", "")),
    )


def load(path: Path, *, context: str = "") -> ClientConfig:
    """`parse` the file at `path`. Raises ClientConfigError or OSError."""
    return parse(path.read_text(encoding="utf-8"), folder=path.parent, context=context)


def users(text: str, *, folder: Path | None = None) -> dict[str, ClientConfig]:
    """Credentials of all users of a configuration text by user name, without servers.

    The user of the current context is included as ``*`` as well, unless a user has that name. Raises ClientConfigError, or
    OSError if a referenced file cannot be read.
    """
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ClientConfigError(f"not YAML: {error}") from error
    if not isinstance(document, dict):
        raise ClientConfigError("not a mapping")
    out: dict[str, ClientConfig] = {}
    for entry in document.get("users") or ():
        name, user = str(entry.get("name", "")), entry.get("user") or {}
        out[name] = ClientConfig(
            server="",
            certificate=_bytes(user, "client-certificate", folder),
            key=_bytes(user, "client-key", folder),
            token=str(user.get("token", "")),
            username=str(user.get("username", "")),
            password=str(user.get("password", "")),
            user=name,
        )
    current = document.get("current-context")
    if current and "*" not in out:
        user_name = _find(document, "contexts", "context", current).get("user", "")
        if user_name in out:
            out["*"] = out[user_name]
    return out


def _present(mapping: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if value}


def _encoded(pem: bytes) -> str:
    return base64.b64encode(pem).decode("ascii")


def _find(document: dict[str, Any], key: str, inner: str, name: str) -> dict[str, Any]:
    for entry in document.get(key) or ():
        if isinstance(entry, dict) and entry.get("name") == name:
            value = entry.get(inner) or {}
            if isinstance(value, dict):
                return value
    raise ClientConfigError(f"no {inner} {name!r} in {key}")


def _path(value: str, folder: Path | None) -> Path:
    path = Path(value)
    return path if path.is_absolute() or folder is None else folder / path


def _bytes(mapping: dict[str, Any], key: str, folder: Path | None) -> bytes:
    """The value of ``KEY-data`` (base64), else the content of the file ``KEY``, like stock clients."""
    data = mapping.get(f"{key}-data")
    if data:
        try:
            return base64.b64decode(str(data), validate=True)
        except ValueError as error:
            raise ClientConfigError(f"{key}-data is not base64") from error
    file = mapping.get(key)
    return _path(str(file), folder).read_bytes() if file else b""
