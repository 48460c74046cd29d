"""Encryption algorithms for values. Encrypted values begin with a prefix that names the algorithm and the key."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.padding import PKCS7

_BLOCK: Final = 16
_NONCE: Final = 12

#: Returns that many bytes from a cryptographically secure source.
Randomness = Callable[[int], bytes]


class DecryptionError(Exception):
    """A value that cannot be decrypted with a key."""


class Encrypter(Protocol):
    """One key with an algorithm. `context` is authenticated data where supported: the value's key, so that values
    cannot be swapped in the store."""

    #: The prefix of encrypted values; b"" for plaintext.
    prefix: bytes

    def seal(self, value: bytes, context: bytes) -> bytes: ...

    def open(self, data: bytes, context: bytes) -> bytes:
        """`data` follows the prefix. Raises DecryptionError."""


class Identity:
    """No encryption."""

    prefix = b""

    def seal(self, value: bytes, context: bytes) -> bytes:
        return value

    def open(self, data: bytes, context: bytes) -> bytes:
        return data


class AesGcm:
    """AES in Galois/Counter Mode (NIST SP 800-38D): a random nonce of 12 bytes, then the ciphertext with its tag.

    Nonces are random, so one key should encrypt no more than 2^32 values.
    """

    def __init__(self, prefix: bytes, key: bytes, randomness: Randomness = os.urandom) -> None:
        self.prefix = prefix
        self._cipher = AESGCM(key)
        self._randomness = randomness

    def seal(self, value: bytes, context: bytes) -> bytes:
        nonce = self._randomness(_NONCE)
        return self.prefix + nonce + self._cipher.encrypt(nonce, value, context)

    def open(self, data: bytes, context: bytes) -> bytes:
        try:
            return self._cipher.decrypt(data[:_NONCE], data[_NONCE:], context)
        except (InvalidTag, ValueError) as error:
            raise DecryptionError("wrong key, or the value was changed") from error


class AesCbc:
    """AES in Cipher Block Chaining Mode (NIST SP 800-38A) with PKCS#7 padding: a random block, then the ciphertext.

    It is unauthenticated: it detects most values encrypted with another key, but not modified ones.
    """

    def __init__(self, prefix: bytes, key: bytes, randomness: Randomness = os.urandom) -> None:
        self.prefix = prefix
        self._key = algorithms.AES(key)
        self._randomness = randomness

    def seal(self, value: bytes, context: bytes) -> bytes:
        first = self._randomness(_BLOCK)
        padder, encryptor = PKCS7(_BLOCK * 8).padder(), Cipher(self._key, modes.CBC(first)).encryptor()
        padded = padder.update(value) + padder.finalize()
        return self.prefix + first + encryptor.update(padded) + encryptor.finalize()

    def open(self, data: bytes, context: bytes) -> bytes:
        try:
            decryptor, unpadder = Cipher(self._key, modes.CBC(data[:_BLOCK])).decryptor(), PKCS7(_BLOCK * 8).unpadder()
            padded = decryptor.update(data[_BLOCK:]) + decryptor.finalize()
            return unpadder.update(padded) + unpadder.finalize()
        except ValueError as error:
            raise DecryptionError("wrong key, or the value was changed") from error


class SecretBox:
    """XSalsa20 and Poly1305 as NaCl's secretbox: a random nonce of 24 bytes, then the box. Needs PyNaCl.

    Raises ImportError when PyNaCl is not installed.
    """

    def __init__(self, prefix: bytes, key: bytes, randomness: Randomness = os.urandom) -> None:
        from nacl.exceptions import CryptoError
        from nacl.secret import SecretBox as Box

        self.prefix = prefix
        self._box: Any = Box(key)
        self._error: type[Exception] = CryptoError
        self._randomness = randomness

    def seal(self, value: bytes, context: bytes) -> bytes:
        return self.prefix + bytes(self._box.encrypt(value, self._randomness(24)))

    def open(self, data: bytes, context: bytes) -> bytes:
        try:
            return bytes(self._box.decrypt(data))
        except (self._error, ValueError) as error:
            raise DecryptionError("wrong key, or the value was changed") from error


class Rule:
    """Encryption of one resource: the first of `sealers` encrypts, all decrypt. `mark` is the prefix of encrypted
    values."""

    def __init__(self, resource: str, sealers: tuple[Encrypter, ...], mark: bytes) -> None:
        self.resource = resource
        self._sealers = sealers
        self._mark = mark

    def seal(self, value: bytes, key: str) -> bytes:
        return self._sealers[0].seal(value, key.encode())

    def open(self, data: bytes, key: str) -> bytes:
        """Raises DecryptionError naming the missing key; the message contains no part of the value."""
        sealed = data.startswith(self._mark)
        error = DecryptionError(
            "no key of the configuration has its name" if sealed else "it is in clear, without provider identity"
        )
        for sealer in self._sealers:
            prefix = sealer.prefix
            if bool(prefix) == sealed and data.startswith(prefix):
                try:
                    return sealer.open(data[len(prefix) :], key.encode())
                except DecryptionError as failed:
                    # Another key may have the same name.
                    error = failed
        raise error

    def prefix_of(self, data: bytes) -> str:
        """The prefix of an encrypted value if it is one of the configuration's, "identity" for plaintext, else
        "unknown"."""
        for sealer in self._sealers:
            if sealer.prefix and data.startswith(sealer.prefix):
                return sealer.prefix.decode()
        return "unknown" if data.startswith(self._mark) else "identity"

    def stale(self, data: bytes) -> bool:
        """True if re-encrypting would change the prefix of the value."""
        first = self._sealers[0].prefix
        return not data.startswith(first) if first else data.startswith(self._mark)
