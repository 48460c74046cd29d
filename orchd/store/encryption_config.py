"""The file of --encryption-provider-config: which resources are sealed with which keys.

    apiVersion: apiserver.config.{abbr}.io/v1
    kind: EncryptionConfiguration
    resources:
    - resources: [secrets]
      providers:
      - aesgcm: {keys: [{name: key1, secret: <base64 of 16, 24 or 32 bytes>}]}
      - identity: {}
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, Final

import yaml

from orchd.dialect import Dialect
from orchd.store.encryption import AesCbc, AesGcm, Encrypter, Identity, Rule, SecretBox

_AES_SIZES: Final = (16, 24, 32)
#: provider -> its class, and key sizes in bytes.
_KEYED: Final[Mapping[str, tuple[Callable[[bytes, bytes], Encrypter], tuple[int, ...]]]] = {
    "aescbc": (AesCbc, _AES_SIZES),
    "aesgcm": (AesGcm, _AES_SIZES),
    "secretbox": (SecretBox, (32,)),
}


def mark_of(dialect: Dialect) -> bytes:
    """The prefix of every encrypted value."""
    return dialect("{abbr}:enc:").encode()


def parse_encryption(text: str, dialect: Dialect, key_of: Callable[[str], str]) -> dict[str, Rule]:
    """Rules by store prefix (``/secrets/``). `key_of` returns the resource's part of store keys (``deployments.apps``).

    Raises ValueError naming the field.
    """
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {error}") from error
    found = _fields(found, "the file", ("apiVersion", "kind", "resources"))
    wanted = dialect("apiserver.config.{abbr}.io/v1")
    if found.get("apiVersion") != wanted or found.get("kind") != "EncryptionConfiguration":
        raise ValueError(f"apiVersion and kind must be {wanted} and EncryptionConfiguration")
    sealers: dict[str, list[Encrypter]] = {}
    for i, group in enumerate(_list(found.get("resources"), "resources")):
        path = f"resources[{i}]"
        group = _fields(group, path, ("resources", "providers"))
        made: list[Encrypter] = []
        for j, provider in enumerate(_list(group.get("providers"), f"{path}.providers")):
            made += _provider(provider, f"{path}.providers[{j}]", dialect)
        for name in _list(group.get("resources"), f"{path}.resources"):
            if not isinstance(name, str) or not name:
                raise ValueError(f"{path}.resources: {name!r} is not a resource")
            sealers.setdefault(name, []).extend(made)
    mark = mark_of(dialect)
    return {f"/{key_of(name)}/": Rule(name, tuple(found), mark) for name, found in sealers.items()}


def _provider(value: Any, path: str, dialect: Dialect) -> list[Encrypter]:
    value = _fields(value, path, (*_KEYED, "identity", "kms"))
    if len(value) != 1:
        raise ValueError(f"{path}: needs exactly one of {', '.join((*_KEYED, 'identity', 'kms'))}")
    ((kind, settings),) = value.items()
    path = f"{path}.{kind}"
    if kind == "identity":
        _fields(settings or {}, path, ())
        return [Identity()]
    if kind == "kms":
        raise ValueError(f"{path}: not built yet")
    return _keys(kind, settings, path, dialect)


def _keys(kind: str, settings: Any, path: str, dialect: Dialect) -> list[Encrypter]:
    make, sizes = _KEYED[kind]
    made: list[Encrypter] = []
    names: set[str] = set()
    for i, key in enumerate(_list(_fields(settings, path, ("keys",)).get("keys"), f"{path}.keys")):
        at = f"{path}.keys[{i}]"
        key = _fields(key, at, ("name", "secret"))
        name, secret = key.get("name"), key.get("secret")
        if not isinstance(name, str) or not name or ":" in name:
            raise ValueError(f"{at}.name: must be text without a colon")
        if name in names:
            raise ValueError(f"{at}.name: {name!r} is given twice")
        names.add(name)
        # Messages must not contain the secret.
        try:
            raw = b64decode(secret, validate=True) if isinstance(secret, str) else b""
        except binascii.Error:
            raise ValueError(f"{at}.secret: is not base64") from None
        if len(raw) not in sizes:
            raise ValueError(f"{at}.secret: must be {' or '.join(map(str, sizes))} bytes in base64, is {len(raw)}")
        try:
            made.append(make(dialect("{abbr}:enc:").encode() + f"{kind}:v1:{name}:".encode(), raw))
        except ImportError:
            raise ValueError(f"{path}: not built yet without PyNaCl (install orchd[secretbox])") from None
    return made


def _fields(value: Any, path: str, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{path}: must be an object")
    for name in value:
        if name not in known:
            raise ValueError(f"{path}: unknown field {name!r}")
    return value


def _list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{path}: must be a list with at least one element")
    return value
