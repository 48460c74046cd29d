"""Client certificates that this server presents, reloaded when their files change."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from twisted.internet.interfaces import IReactorTime

from orchd.txkit.file_reloading import FileReloader
from orchd.txkit.tls_client import own_certificate

#: Seconds between checks of the files.
_INTERVAL: Final = 10.0
#: Certificate and key as PEM, b"" without a file.
KeyPair = FileReloader[tuple[bytes, bytes]]


def key_pair(flag: str, certificate: str, key: str, clock: IReactorTime) -> KeyPair:
    """The pair of two files, "" for none. `flag` names the certificate's flag. Raises ValueError naming it when the
    files cannot be read or do not match."""

    def read() -> tuple[bytes, bytes]:
        if not certificate:
            return b"", b""
        try:
            pair = Path(certificate).read_bytes(), Path(key).read_bytes()
            if own_certificate(*pair) is None:
                raise ValueError("an empty file")
        except OSError as error:
            raise ValueError(f"--{flag}: {error}") from error
        except Exception as error:  # pyOpenSSL raises a different error for each kind of damage
            raise ValueError(f"--{flag}: {certificate} and {key} are not a certificate and its key") from error
        return pair

    files = (certificate, key) if certificate else ()
    return FileReloader(f"the files of --{flag}", read, lambda: files, clock=clock.seconds, interval=_INTERVAL)
