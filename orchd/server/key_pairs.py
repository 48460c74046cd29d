"""Client certificates that this server presents, reloaded when their files change."""

from __future__ import annotations

from pathlib import Path

from twisted.internet.interfaces import IReactorTime

from orchd.txkit.log import Logger
from orchd.txkit.tls_client import own_certificate

_log = Logger(namespace="orchd.keys")
#: Seconds after which the files are read again.
_AGE = 10.0


class KeyPair:
    """Certificate and key from two files (PEM; b"" without a file), reloaded periodically. `flag` names the
    certificate's flag. Raises ValueError naming it when the initial files do not match."""

    def __init__(self, flag: str, certificate: str, key: str, clock: IReactorTime) -> None:
        self._flag = flag
        self._files = certificate, key
        self._clock = clock
        self._found = self._read()
        self._at = clock.seconds()

    def __call__(self) -> tuple[bytes, bytes]:
        if self._clock.seconds() - self._at >= _AGE:
            self._at = self._clock.seconds()
            try:
                self._found = self._read()
            except ValueError as error:
                # Files may be replaced one by one: keep the old pair until both match again.
                _log.warn("failed to reload: {error}", error=error)
        return self._found

    def _read(self) -> tuple[bytes, bytes]:
        if not self._files[0]:
            return b"", b""
        try:
            pair = Path(self._files[0]).read_bytes(), Path(self._files[1]).read_bytes()
            own_certificate(*pair)
        except OSError as error:
            raise ValueError(f"--{self._flag}: {error}") from error
        except Exception as error:  # pyOpenSSL raises a different error for each kind of damage
            raise ValueError(f"--{self._flag}: {self._files[0]} and {self._files[1]} are not a certificate and its key") from error
        return pair
