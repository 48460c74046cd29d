"""Client configuration files: the address of a server and the credentials for it.

YAML of ``kind: Config, apiVersion: v1`` with clusters, users and contexts, the format of stock clients. Only the
settings of one context are read; unknown keys are ignored, as by stock clients, except in files of the server's own
(`check_names`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from orchd.dialect import DIALECTS, Dialect
from orchd.pki.url_users import split_user

#: Group of exec credentials, a template; and its versions, in which plugins may be configured.
EXEC_GROUP: Final = "client.authentication.{abbr}.io"
EXEC_VERSIONS: Final = ("v1", "v1beta1")
#: When an exec plugin is given standard input.
_MODES: Final = ("Never", "IfAvailable", "Always")
_PROXY_SCHEMES: Final = ("http", "https")
#: Members of a file; and by its lists, the member of an item that has the settings, and their names.
_NAMES: Final = frozenset(
    ("apiVersion", "kind", "preferences", "clusters", "users", "contexts", "current-context", "extensions")
)
_INNER_NAMES: Final = {
    "clusters": ("cluster", frozenset((
        "server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority", "certificate-authority-data",
        "proxy-url", "disable-compression", "extensions",
    ))),
    "users": ("user", frozenset((
        "client-certificate", "client-certificate-data", "client-key", "client-key-data", "token", "tokenFile", "as",
        "as-uid", "as-groups", "as-user-extra", "username", "password", "auth-provider", "exec", "extensions",
    ))),
    "contexts": ("context", frozenset(("cluster", "user", "namespace", "extensions"))),
}  # fmt: skip


class ClientConfigError(ValueError):
    """An unusable configuration file. The message names the defect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecPlugin:
    """A program that returns credentials. `command` is absolute, or without a slash and found in PATH; `dialect` is
    that of its apiVersion. `cluster_extension` is the JSON text that the cluster holds for such plugins, "" without."""

    api_version: str
    dialect: Dialect
    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    provide_cluster_info: bool = False
    cluster_extension: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    """The user that requests impersonate; `user` is never empty."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """One context: a server and the credentials for it. Certificates and keys are PEM bytes, b"" without; where they
    were read from files, `*_file` says which, so that they can be read again."""

    server: str
    authority: bytes = b""
    authority_file: str = ""
    certificate: bytes = b""
    certificate_file: str = ""
    key: bytes = b""
    key_file: str = ""
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    namespace: str = ""
    insecure: bool = False
    server_name: str = ""
    proxy: str = ""
    impersonation: Impersonation | None = None
    exec: ExecPlugin | None = None
    cluster: str = "default"
    user: str = "default"

    def at(self, url: str) -> ClientConfig:
        """The same for the server at `url`. User and password of the URL are sent instead of tokens and passwords, as
        by the reference, and are not part of `server`, which messages and the header Host name."""
        server, user, password = split_user(url)
        if not user and not password:
            return replace(self, server=server)
        return replace(self, server=server, token="", token_file="", username=user, password=password)

    @property
    def files(self) -> tuple[str, ...]:
        """The files from which certificates and keys were read."""
        return tuple(name for name in (self.authority_file, self.certificate_file, self.key_file) if name)

    def reread(self) -> ClientConfig:
        """The same with certificates and keys as their files are now. Raises OSError."""
        changes: dict[str, Any] = {}
        for name in ("authority", "certificate", "key"):
            path = getattr(self, f"{name}_file")
            if path:
                changes[name] = Path(path).read_bytes()
        return replace(self, **changes)

    def render(self) -> str:
        """The file's text, with certificates inside (``...-data``). Exec plugins and impersonation are not written."""
        cluster = _without_empty(
            {
                "server": self.server,
                "certificate-authority-data": _encode(self.authority),
                "insecure-skip-tls-verify": self.insecure,
                "tls-server-name": self.server_name,
                "proxy-url": self.proxy,
            }
        )
        user = _without_empty(
            {
                "client-certificate-data": _encode(self.certificate),
                "client-key-data": _encode(self.key),
                "token": self.token,
                "tokenFile": self.token_file,
                "username": self.username,
                "password": self.password,
            }
        )
        context = _without_empty({"cluster": self.cluster, "user": self.user, "namespace": self.namespace})
        name = f"{self.user}@{self.cluster}"
        return yaml.dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": self.cluster, "cluster": cluster}],
                "users": [{"name": self.user, "user": user}],
                "contexts": [{"name": name, "context": context}],
                "current-context": name,
                "preferences": {},
            },
            Dumper=yaml.CSafeDumper,
            sort_keys=False,
        )


def parse(text: str, *, folder: Path | None = None, context: str = "", server: str = "") -> ClientConfig:
    """The current (or the named) context of a file. Relative paths in it start at `folder`, the file's own. `server`
    replaces the one that the cluster names.

    Raises ClientConfigError; OSError when a file that it names cannot be read."""
    return select(_document(text), folder=folder, context=context, server=server)


def select(
    document: dict[str, Any], *, folder: Path | None = None, context: str = "", server: str = ""
) -> ClientConfig:
    """`parse` for the data of a file."""
    name = context or document.get("current-context") or ""
    chosen = _find(document, "contexts", "context", name)
    cluster = _find(document, "clusters", "cluster", chosen.get("cluster", ""))
    user = _find(document, "users", "user", chosen.get("user", "")) if chosen.get("user") else {}
    cluster_name, user_name = str(chosen.get("cluster", "")), str(chosen.get("user", ""))
    url = server or str(cluster.get("server") or "")
    if not url:
        raise ClientConfigError(f"cluster {cluster_name!r} has no server")
    insecure = bool(cluster.get("insecure-skip-tls-verify", False))
    authority, authority_file = _material(cluster, "certificate-authority", folder, f"cluster {cluster_name!r}")
    if insecure and authority:
        raise ClientConfigError(
            f"cluster {cluster_name!r}: specifying a root certificates file with the insecure flag is not allowed"
        )
    return replace(
        _user(user, user_name, folder, _extension(cluster)).at(url),
        authority=authority,
        authority_file=authority_file,
        namespace=str(chosen.get("namespace", "")),
        insecure=insecure,
        server_name=str(cluster.get("tls-server-name", "")),
        proxy=_proxy(cluster, cluster_name),
        cluster=cluster_name,
    )


def load(path: Path, *, context: str = "", server: str = "") -> ClientConfig:
    """`parse` the file at `path`. Raises ClientConfigError or OSError."""
    return parse(path.read_text(encoding="utf-8"), folder=path.parent.absolute(), context=context, server=server)


def check_names(text: str) -> None:
    """Raises ClientConfigError for a member that is unknown or repeated, with its path, such as ``users[0].user.tokn``:
    in a file of the server's own, a misspelt credential would be one that is never sent. What tools keep in
    ``preferences`` and ``extensions``, and the settings of plugins, are not looked at."""
    try:
        document = yaml.load(text, Loader=_OnceLoader)
    except yaml.YAMLError as error:
        raise ClientConfigError(f"not YAML: {error}") from error
    _check_members(document, _NAMES, "")
    for listed, (inner, members) in _INNER_NAMES.items():
        for index, entry in enumerate(document.get(listed) or ()):
            at = f"{listed}[{index}]"
            _check_members(entry, frozenset(("name", inner)), f"{at}.")
            _check_members(entry.get(inner) or {}, members, f"{at}.{inner}.")


def in_cluster(dialect: Dialect, environment: Mapping[str, str], root: Path = Path("/")) -> ClientConfig:
    """The configuration of a pod, from its environment and the files of its service account.

    Raises ClientConfigError outside of pods, OSError when the account's files cannot be read."""
    names = dialect("{LONG}_SERVICE_HOST"), dialect("{LONG}_SERVICE_PORT")
    host, port = (environment.get(name, "") for name in names)
    if not host or not port:
        raise ClientConfigError(f"not in a pod of the cluster: {' and '.join(names)} must be defined")
    folder = root / dialect("var/run/secrets/{long}.io/serviceaccount")
    token, authority = folder / "token", folder / "ca.crt"
    return ClientConfig(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        authority=authority.read_bytes(),
        authority_file=str(authority),
        token=token.read_text(encoding="utf-8").strip(),
        token_file=str(token),
    )


def users(text: str, *, folder: Path | None = None) -> dict[str, ClientConfig]:
    """Credentials of all users of a configuration text by user name, without servers. The content of a token file is
    the token.

    The user of the current context is included as ``*`` as well, unless a user has that name. Raises ClientConfigError,
    or OSError if a referenced file cannot be read.
    """
    document = _document(text)
    out: dict[str, ClientConfig] = {}
    for entry in document.get("users") or ():
        name = str(entry.get("name", ""))
        credentials = only_credentials(_user(entry.get("user") or {}, name, folder, ""))
        if credentials.token_file and not credentials.token:
            credentials = replace(credentials, token=Path(credentials.token_file).read_text(encoding="utf-8").strip())
        out[name] = credentials
    current = document.get("current-context")
    if current and "*" not in out:
        user_name = _find(document, "contexts", "context", current).get("user", "")
        if user_name in out:
            out["*"] = out[user_name]
    return out


def only_credentials(config: ClientConfig) -> ClientConfig:
    """The same configuration, for callers that neither run exec plugins nor impersonate. Raises ClientConfigError if it
    asks for either."""
    if config.exec is not None:
        raise ClientConfigError(f"user {config.user!r}: exec is not supported here")
    if config.impersonation is not None:
        raise ClientConfigError(f"user {config.user!r}: impersonation is not supported here")
    return config


# -- parts of a file


class _OnceLoader(yaml.SafeLoader):
    """Rejects mappings with a repeated key."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {name!r}", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def _check_members(value: Any, members: frozenset[str], at: str) -> None:
    if not isinstance(value, dict):
        raise ClientConfigError(f"{at.rstrip('.')}: not a mapping".lstrip(": "))
    for name in value:
        if name not in members:
            raise ClientConfigError(f'unknown field "{at}{name}"')


def _document(text: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ClientConfigError(f"not YAML: {error}") from error
    if not isinstance(document, dict):
        raise ClientConfigError("not a mapping")
    if document.get("kind", "Config") != "Config" or document.get("apiVersion", "v1") != "v1":
        raise ClientConfigError("not of kind Config, apiVersion v1")
    return document


def _user(user: dict[str, Any], name: str, folder: Path | None, extension: str) -> ClientConfig:
    """The credentials of a user, without a server."""
    where = f"user {name!r}"
    if "auth-provider" in user:
        raise ClientConfigError(f"{where}: auth-provider is not supported: use an exec plugin")
    certificate, certificate_file = _material(user, "client-certificate", folder, where)
    key, key_file = _material(user, "client-key", folder, where)
    if certificate and not key:
        raise ClientConfigError(f"{where}: client-key-data or client-key must be specified with a client certificate")
    token, token_file = str(user.get("token") or ""), str(user.get("tokenFile") or "")
    username, password = str(user.get("username") or ""), str(user.get("password") or "")
    if token and (username or password):
        raise ClientConfigError(f"{where}: more than one authentication method found: token and basicAuth")
    return ClientConfig(
        server="",
        certificate=certificate,
        certificate_file=certificate_file,
        key=key,
        key_file=key_file,
        token=token,
        token_file=str(_path(token_file, folder)) if token_file else "",
        username=username,
        password=password,
        impersonation=_impersonation(user, where),
        exec=_exec(user["exec"], where, folder, extension) if user.get("exec") else None,
        user=name,
    )


def _impersonation(user: dict[str, Any], where: str) -> Impersonation | None:
    who, uid, groups = str(user.get("as") or ""), str(user.get("as-uid") or ""), user.get("as-groups") or ()
    extra = user.get("as-user-extra") or {}
    if not who:
        if uid or groups or extra:
            raise ClientConfigError(f"{where}: requesting uid, groups or user-extra without impersonating a user")
        return None
    if not isinstance(groups, (list, tuple)) or not isinstance(extra, dict):
        raise ClientConfigError(f"{where}: as-groups must be a list and as-user-extra a mapping of lists")
    return Impersonation(
        user=who,
        uid=uid,
        groups=tuple(map(str, groups)),
        extra=tuple((str(key), tuple(map(str, values or ()))) for key, values in sorted(extra.items())),
    )


def _exec(section: Any, where: str, folder: Path | None, extension: str) -> ExecPlugin:
    if not isinstance(section, dict):
        raise ClientConfigError(f"{where}: exec must be a mapping")
    command, version = str(section.get("command") or ""), str(section.get("apiVersion") or "")
    for name, value in (("command", command), ("apiVersion", version)):
        if not value:
            raise ClientConfigError(f"{where}: {name} must be specified to use exec authentication plugin")
    dialects = {f"{dialect(EXEC_GROUP)}/{each}": dialect for dialect in DIALECTS.values() for each in EXEC_VERSIONS}
    if version not in dialects:
        raise ClientConfigError(f"{where}: exec plugin: invalid apiVersion {version!r}: one of {', '.join(dialects)}")
    mode = str(section.get("interactiveMode") or ("IfAvailable" if version.endswith("beta1") else ""))
    if not mode:
        raise ClientConfigError(f"{where}: interactiveMode must be specified to use exec authentication plugin")
    if mode not in _MODES:
        raise ClientConfigError(f"{where}: invalid interactiveMode {mode!r}: one of {', '.join(_MODES)}")
    return ExecPlugin(
        api_version=version,
        dialect=dialects[version],
        # A command with a slash that is not absolute is beside the file that names it.
        command=str(_path(command, folder)) if "/" in command else command,
        args=tuple(map(str, section.get("args") or ())),
        env=_environment(section.get("env") or (), where),
        install_hint=str(section.get("installHint") or ""),
        interactive_mode=mode,
        provide_cluster_info=bool(section.get("provideClusterInfo")),
        cluster_extension=extension,
    )


def _environment(entries: Any, where: str) -> tuple[tuple[str, str], ...]:
    out = []
    for each in entries:
        if not isinstance(each, dict) or not each.get("name"):
            raise ClientConfigError(f"{where}: env variable name must be specified to use exec authentication plugin")
        out.append((str(each["name"]), str(each.get("value") or "")))
    return tuple(out)


def _extension(cluster: dict[str, Any]) -> str:
    """The `config` of a cluster for exec plugins, as JSON text."""
    names = {f"{dialect(EXEC_GROUP)}/exec" for dialect in DIALECTS.values()}
    for each in cluster.get("extensions") or ():
        if isinstance(each, dict) and each.get("name") in names:
            return json.dumps(each.get("extension"), sort_keys=True)
    return ""


def _proxy(cluster: dict[str, Any], name: str) -> str:
    url = str(cluster.get("proxy-url") or "")
    if url:
        parts = urlsplit(url)
        if parts.scheme not in _PROXY_SCHEMES or not parts.hostname:
            schemes = " or ".join(f"{scheme}://" for scheme in _PROXY_SCHEMES)
            raise ClientConfigError(f"invalid 'proxy-url' {url!r} for cluster {name!r}: must be {schemes}host:port")
    return url


def _without_empty(mapping: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if value}


def _encode(pem: bytes) -> str:
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


def _material(mapping: dict[str, Any], key: str, folder: Path | None, where: str) -> tuple[bytes, str]:
    """``KEY-data`` (base64), or ``KEY`` (a file) and the file's path; both given is an error."""
    data, file = mapping.get(f"{key}-data"), mapping.get(key)
    if data and file:
        raise ClientConfigError(f"{where}: {key}-data and {key} are both specified")
    if data:
        try:
            return base64.b64decode(str(data), validate=True), ""
        except ValueError as error:
            raise ClientConfigError(f"{key}-data is not base64") from error
    if not file:
        return b"", ""
    path = _path(str(file), folder)
    return path.read_bytes(), str(path)
