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

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.store.encryption import AesCbc, AesGcm, Encrypter, Identity, Rule, SecretBox

Json = Mapping[str, Any]
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


def make_rules(document: Json, dialect: Dialect, key_of: Callable[[str], str]) -> dict[str, Rule]:
    """Rules by store prefix (``/secrets/``) from a document that has the shape of its kind. `key_of` returns the
    resource's part of store keys (``deployments.apps``).

    Raises ValueError naming the field.
    """
    sealers: dict[str, list[Encrypter]] = {}
    for i, group in enumerate(_filled(document, "resources", "resources")):
        path = f"resources[{i}]"
        encrypters: list[Encrypter] = []
        for j, provider in enumerate(_filled(group, "providers", f"{path}.providers")):
            encrypters += _provider(provider, f"{path}.providers[{j}]", dialect)
        for j, name in enumerate(_filled(group, "resources", f"{path}.resources")):
            if not name:
                raise ValueError(f"{path}.resources[{j}]: needs a resource")
            sealers.setdefault(name, []).extend(encrypters)
    mark = mark_of(dialect)
    return {f"/{key_of(name)}/": Rule(name, tuple(sealers_), mark) for name, sealers_ in sealers.items()}


def _provider(value: Json, path: str, dialect: Dialect) -> list[Encrypter]:
    if len(value) != 1:
        raise ValueError(f"{path}: needs exactly one of {', '.join((*_KEYED, 'identity', 'kms'))}")
    ((kind, settings),) = value.items()
    if kind == "identity":
        return [Identity()]
    if kind == "kms":
        raise ValueError(f"{path}.kms: not built yet")
    return _keys(kind, settings, f"{path}.{kind}", dialect)


def _keys(kind: str, settings: Json, path: str, dialect: Dialect) -> list[Encrypter]:
    make, sizes = _KEYED[kind]
    encrypters: list[Encrypter] = []
    names: set[str] = set()
    for i, key in enumerate(_filled(settings, "keys", f"{path}.keys")):
        at, name = f"{path}.keys[{i}]", key["name"]
        if not name or ":" in name:
            raise ValueError(f"{at}.name: must be text without a colon")
        if name in names:
            raise ValueError(f"{at}.name: {name!r} is given twice")
        names.add(name)
        # Messages must not contain the secret. b64decode raises ValueError for text that is not ASCII.
        try:
            raw = b64decode(key["secret"], validate=True)
        except ValueError:
            raise ValueError(f"{at}.secret: is not base64") from None
        if len(raw) not in sizes:
            raise ValueError(f"{at}.secret: must be {' or '.join(map(str, sizes))} bytes in base64, is {len(raw)}")
        try:
            encrypters.append(make(dialect("{abbr}:enc:").encode() + f"{kind}:v1:{name}:".encode(), raw))
        except ImportError:
            raise ValueError(f"{path}: not built yet without PyNaCl (install orchd[secretbox])") from None
    return encrypters


def _filled(value: Json, name: str, path: str) -> Sequence[Any]:
    """The items of a list that must not be empty."""
    section: Sequence[Any] = value.get(name) or ()
    if not section:
        raise ValueError(f"{path}: must have at least one element")
    return section
