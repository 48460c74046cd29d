"""Selection of the client configuration: flags, environment, files in the home folder, then the pod's own.

Several files are merged as stock clients merge them: of two entries with one name the first counts, as does the first
current-context.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import yaml

from orchd.ctl.errors import CommandError, explain_yaml_error
from orchd.dialect import DIALECTS
from orchd.pki import clientconfig
from orchd.pki.clientconfig import ClientConfig, ClientConfigError, Impersonation

#: Fields that name files, beside the file that holds them.
_PATHS: Final = {
    "clusters": ("cluster", ("certificate-authority",)),
    "users": ("user", ("client-certificate", "client-key", "tokenFile")),
}
#: Loads plain values only; written in C where the library was built with it.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DIALECTS: Final = tuple(DIALECTS.values())


@dataclass(slots=True, kw_only=True)
class GlobalFlags:
    """Flags that every command takes. Empty means: as the configuration says."""

    config: str = ""
    context: str = ""
    cluster: str = ""
    user: str = ""
    namespace: str = ""
    server: str = ""
    token: str = ""
    authority: str = ""
    certificate: str = ""
    key: str = ""
    server_name: str = ""
    as_user: str = ""
    as_groups: tuple[str, ...] = field(default=())
    as_uid: str = ""
    insecure: bool = False
    #: Seconds; 0 is not given: 30 for a response, and no limit for watches and logs.
    request_timeout: float = 0.0
    username: str = ""
    password: str = ""
    verbosity: int = 0
    warnings_as_errors: bool = False
    #: None means the default folder, "" no folder.
    cache_dir: str | None = None


def candidate_files(flags: GlobalFlags, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The files that are read, first ones first. Files of the environment and of the home folder may be missing."""
    if flags.config:
        return (Path(flags.config),)
    for dialect in _DIALECTS:
        value = environment.get(dialect("{SHORT}CONFIG"), "")
        if value:
            return tuple(Path(name) for name in value.split(os.pathsep) if name)
    home = Path(environment.get("HOME") or "/")
    return tuple(home / f".{dialect.short}" / "config" for dialect in _DIALECTS)


def cache_folder(flags: GlobalFlags, environment: Mapping[str, str]) -> Path | None:
    """The folder of what is kept for later commands; None for none, without a home folder as well."""
    if flags.cache_dir is not None:
        return Path(flags.cache_dir) if flags.cache_dir else None
    home = environment.get("HOME")
    return Path(home) / f".{_DIALECTS[0].short}" / "cache" if home else None


def read_document(flags: GlobalFlags, environment: Mapping[str, str]) -> dict[str, Any]:
    """All files as one document with absolute paths; without contexts when no file is there. Raises CommandError."""
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
    for path in candidate_files(flags, environment):
        if not path.exists() and not flags.config:
            continue
        document = read_file(path)
        for key in ("clusters", "users", "contexts"):
            names = {entry["name"] for entry in merged[key]}
            merged[key] += [e for e in _absolute(document, key, path.parent.absolute()) if e["name"] not in names]
        if not merged.get("current-context") and document.get("current-context"):
            merged["current-context"] = document["current-context"]
    return merged


def read_file(path: Path) -> dict[str, Any]:
    """The document of one file; an empty file is an empty one. Raises CommandError."""
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), _LOADER)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}: name another file with --config") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path}: not UTF-8 text: name another file with --config") from None
    except yaml.YAMLError as error:
        raise CommandError(explain_yaml_error(str(path), error)) from None
    except RecursionError:
        raise CommandError(f"{path}: nested too deeply for a client configuration: check the file") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise CommandError(f"{path}: not a client configuration: it must be a mapping of kind Config")
    _check_shape(path, document)
    return document


def _check_shape(path: Path, document: dict[str, Any]) -> None:
    """Raises CommandError for a list or an entry of another shape, naming it."""
    current = document.get("current-context")
    if current is not None and not isinstance(current, str):
        raise CommandError(f"{path}: current-context: must be text: correct the file")
    for key, inner in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
        entries = document.get(key)
        if entries is not None and not isinstance(entries, list):
            raise CommandError(f"{path}: {key}: must be a list: correct the file")
        for at, entry in enumerate(entries or ()):
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                raise CommandError(f"{path}: {key}[{at}]: must be a mapping with a name: correct the file")
            if not isinstance(entry.get(inner) or {}, dict):
                raise CommandError(f"{path}: {key}[{at}].{inner}: must be a mapping: correct the file")


def _absolute(document: dict[str, Any], key: str, folder: Path) -> list[dict[str, Any]]:
    entries = [entry for entry in document.get(key) or () if isinstance(entry, dict) and entry.get("name")]
    if key not in _PATHS:
        return entries
    inner, names = _PATHS[key]
    out = []
    for entry in entries:
        values = dict(entry.get(inner) or {})
        for name in names:
            if values.get(name):
                values[name] = str(folder / values[name])
        plugin = values.get("exec")
        if isinstance(plugin, dict) and "/" in str(plugin.get("command") or ""):
            values["exec"] = {**plugin, "command": str(folder / plugin["command"])}
        out.append({**entry, inner: values})
    return out


def load(flags: GlobalFlags, environment: Mapping[str, str]) -> ClientConfig:
    """The configuration of the chosen context, changed as flags say. Raises CommandError."""
    document = read_document(flags, environment)
    try:
        if document["contexts"]:
            document = _with_entries(document, flags)
            config = clientconfig.select(document, context=flags.context, server=flags.server)
        elif flags.server:
            config = ClientConfig(server="").at(flags.server)
        else:
            config = _of_pod(flags, environment)
    except ClientConfigError as error:
        raise CommandError(f"client configuration: {error}: check it with config view, or choose --context") from None
    except OSError as error:
        raise CommandError(f"client configuration: {error.filename}: {error.strerror}") from None
    except (AttributeError, KeyError, TypeError) as error:
        raise CommandError(
            f"client configuration: a field of the chosen cluster, user or context has a wrong type: {error}: see "
            "config view"
        ) from None
    return _with_flags(config, flags)


def _with_entries(document: dict[str, Any], flags: GlobalFlags) -> dict[str, Any]:
    """The document with the chosen context's cluster and user replaced by those of the flags."""
    changes = {key: value for key, value in (("cluster", flags.cluster), ("user", flags.user)) if value}
    if not changes:
        return document
    name = flags.context or document.get("current-context") or ""
    contexts = [
        {**each, "context": {**(each.get("context") or {}), **changes}} if each["name"] == name else each
        for each in document["contexts"]
    ]
    return {**document, "contexts": contexts}


def _of_pod(flags: GlobalFlags, environment: Mapping[str, str]) -> ClientConfig:
    for dialect in _DIALECTS:
        if environment.get(dialect("{SHORT}_SERVICE_HOST")) or environment.get(dialect("{LONG}_SERVICE_HOST")):
            return clientconfig.in_cluster(dialect, environment)
    files = ", ".join(map(str, candidate_files(flags, environment)))
    raise CommandError(f"no client configuration in {files}: name one with --config, or a server with --server")


def _with_flags(config: ClientConfig, flags: GlobalFlags) -> ClientConfig:
    changes: dict[str, Any] = {}
    if flags.token:
        changes |= {"token": flags.token, "token_file": "", "username": "", "password": "", "exec": None}
    if flags.username or flags.password:
        if flags.token:
            raise CommandError("--token and --username are two ways to authenticate: leave out one of them")
        changes |= {"username": flags.username, "password": flags.password, "token": "", "token_file": "", "exec": None}
    if flags.insecure and flags.authority:
        raise CommandError(
            "--insecure-skip-tls-verify and --certificate-authority contradict each other: leave out one of them"
        )
    if flags.insecure:
        changes |= {"insecure": True, "authority": b"", "authority_file": ""}
    if flags.authority:
        changes |= {
            "authority": read_bytes(flags.authority, "--certificate-authority"),
            "authority_file": "",
            "insecure": False,
        }
    if bool(flags.certificate) != bool(flags.key):
        raise CommandError("--client-certificate and --client-key belong together: give both")
    if flags.certificate:
        pair = {
            "certificate": read_bytes(flags.certificate, "--client-certificate"),
            "key": read_bytes(flags.key, "--client-key"),
        }
        changes |= {**pair, "certificate_file": "", "key_file": "", "exec": None}
    if flags.server_name:
        changes["server_name"] = flags.server_name
    if flags.as_user:
        changes["impersonation"] = Impersonation(user=flags.as_user, uid=flags.as_uid, groups=flags.as_groups)
    elif flags.as_groups or flags.as_uid:
        raise CommandError("--as-group and --as-uid need --as: they are impersonated together with a user")
    return replace(config, **changes)


def read_bytes(path: str, of: str) -> bytes:
    """The content of a file that `of`, a flag or a member of the configuration, names. Raises CommandError."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}: check the path of {of}") from None
