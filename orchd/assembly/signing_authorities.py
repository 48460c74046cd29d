"""Certificate authorities of the built-in signers, from the files of flags or the server's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime

from orchd.dialect import Dialect
from orchd.pki.certificates import Signed, load_chain
from orchd.pki.keys import load_private
from orchd.txkit.file_reloading import FileReloader

#: A certificate authority that is reloaded from its files.
AuthorityFiles = FileReloader[Signed]
#: Seconds between checks of the files.
_INTERVAL: Final = 10.0
_GENERIC: Final = "cluster-signing"
#: Signers, by what their flags begin with.
_FLAGS: Final = {
    "{long}.io/{short}let-serving": "cluster-signing-{short}let-serving",
    "{long}.io/{short}-apiserver-client-{short}let": "cluster-signing-{short}let-client",
    "{long}.io/{short}-apiserver-client": "cluster-signing-{short}-apiserver-client",
    "{long}.io/legacy-unknown": "cluster-signing-legacy-unknown",
}


def authority_files(flag: str, certificate: str, key: str, clock: IReactorTime) -> AuthorityFiles:
    """The CA in two files, reloaded when they change. Raises ValueError naming the flag if they are not a matching
    pair."""

    def read() -> Signed:
        try:
            first, *others = load_chain(Path(certificate).read_bytes())
            authority = Signed(certificate=first, key=load_private(Path(key).read_bytes()), chain=tuple(others))
        except (OSError, ValueError) as error:
            raise ValueError(f"{flag}: {certificate}, {key}: {error}") from error
        if authority.key.public_key() != authority.certificate.public_key():
            raise ValueError(f"{flag}: {certificate} and {key} are not a certificate and its key")
        return authority

    files = certificate, key
    return FileReloader(f"the files of {flag}", read, lambda: files, clock=clock.seconds, interval=_INTERVAL)


def signing_authorities(
    flags: Mapping[str, Any], dialect: Dialect, clock: IReactorTime, own: tuple[Path, Path] | None
) -> Callable[[str], Signed | None]:
    """Returns a function from a signer name (a template) to its CA, None for a signer without one. The CA is read from
    the flags of the signer, from the flags for all signers, or from `own` (certificate and key of the server's CA), in
    this order. Raises ValueError naming the flag at fault."""

    def read_flags(prefix: str) -> AuthorityFiles | None:
        certificate, key = flags[f"{prefix}-cert-file"], flags[f"{prefix}-key-file"]
        if not certificate and not key:
            return None
        flag = dialect(f"--{prefix}-cert-file")
        if not certificate or not key:
            raise ValueError(f"{flag} and {dialect(f'--{prefix}-key-file')} go together")
        return authority_files(flag, certificate, key, clock)

    common = read_flags(_GENERIC)
    single = {signer: read_flags(prefix) for signer, prefix in _FLAGS.items()}
    if any(single.values()):
        if common is not None:
            raise ValueError("--cluster-signing-cert-file: cannot be given together with the files of single signers")
    elif common is None and own is not None:
        common = authority_files("the server's own authority", str(own[0]), str(own[1]), clock)

    def authority(signer: str) -> Signed | None:
        read = single.get(signer) or common
        return None if read is None else read()

    return authority
