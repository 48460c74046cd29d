"""The certificates of one server: their files, renewal and expiry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from orchd.assembly.runtime import Runtime
from orchd.client.interfaces import IEventRecorder
from orchd.config.settings import Settings
from orchd.pki.bootstrap import Files
from orchd.server.reconcilers.certificates import CertificateRenewal
from orchd.txkit.metrics.instruments import ObservedGauge
from orchd.txkit.services import Member, as_member


def certificate_files(settings: Settings, files: Files) -> list[tuple[str, Path, bool]]:
    """(name, file, whether the server renews it) of every certificate that it uses."""
    serving = settings.serving
    own = not serving.cert_file
    rows = [
        ("serving", str(files.serving_certificate) if own else serving.cert_file, own),
        ("admin", str(files.admin_certificate), True),
        ("authority", str(files.ca_certificate), False),
        ("node-client", settings.nodes.cert_file, False),
        ("proxy-client", settings.aggregation.cert_file, False),
        *((f"serving-{number}", pair.cert_file, False) for number, pair in enumerate(serving.sni, 1)),
    ]
    return [(name, Path(path), renewed) for name, path, renewed in rows if path]


class Certificates:
    """`renew` renews the certificates that are due."""

    def __init__(
        self, runtime: Runtime, files: Files, recorder: IEventRecorder, renew: Callable[[], Awaitable[object]]
    ) -> None:
        self.renewal = CertificateRenewal(
            certificate_files(runtime.settings, files), renew, recorder, runtime.dialect, runtime.reactor, runtime.wall
        )
        self.instruments = (
            ObservedGauge(
                "orchd_certificate_expiration_timestamp_seconds",
                "Expiry of the server's certificates in seconds since the epoch.",
                lambda: {(name,): end for name, end in self.renewal.ends().items()},
                ("certificate",),
            ),
        )

    def member(self) -> Member:
        return as_member("certificates", self.renewal.start, self.renewal.stop)
