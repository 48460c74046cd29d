"""Ways to encrypt a value. What is sealed begins with a prefix that names the way and the key."""

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

#: Gives that many random bytes that nobody can guess.
Randomness = Callable[[int], bytes]


class DecryptionError(Exception):
    """A value that a key does not open."""


class Encrypter(Protocol):
    """One key in one use. `context` is authenticated where the way can: the value's own key, so that values cannot be
    exchanged behind the server's back."""

    #: What sealed values begin with; b"" for values in clear.
    prefix: bytes

    def seal(self, value: bytes, context: bytes) -> bytes: ...

    def open(self, data: bytes, context: bytes) -> bytes:
        """`data` is what follows the prefix. Raises UnsealError."""


class Identity:
    """No encryption."""

    prefix = b""

    def seal(self, value: bytes, context: bytes) -> bytes:
        return value

    def open(self, data: bytes, context: bytes) -> bytes:
        return data


class AesGcm:
    """AES in Galois/Counter Mode (NIST SP 800-38D): a random nonce of 12 bytes, then the ciphertext with its tag.

    Nonces are random, so one key should seal no more than 2^32 values.
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

    It cannot tell a changed value from a good one, only most of those that another key sealed.
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

    Raises ImportError when it is not installed.
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
    """How the values of one resource are kept: the first of `sealers` seals, all open. `mark` begins whatever is sealed."""

    def __init__(self, resource: str, sealers: tuple[Encrypter, ...], mark: bytes) -> None:
        self.resource = resource
        self._sealers = sealers
        self._mark = mark

    def seal(self, value: bytes, key: str) -> bytes:
        return self._sealers[0].seal(value, key.encode())

    def open(self, data: bytes, key: str) -> bytes:
        """Raises UnsealError saying what is missing; the message has nothing of the value."""
        sealed = data.startswith(self._mark)
        error = DecryptionError("no key of the configuration has its name" if sealed else "it is in clear, without provider identity")
        for sealer in self._sealers:
            prefix = sealer.prefix
            if bool(prefix) == sealed and data.startswith(prefix):
                try:
                    return sealer.open(data[len(prefix) :], key.encode())
                except DecryptionError as failed:
                    # Another key may have the same name.
                    error = failed
        raise error

    def stale(self, data: bytes) -> bool:
        """Would sealing it anew change how it is kept?"""
        first = self._sealers[0].prefix
        return not data.startswith(first) if first else data.startswith(self._mark)
