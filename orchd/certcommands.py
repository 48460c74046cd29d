"""`orchd-certs`: shows and renews the certificates that a server made for itself.

    orchd-certs show  [FLAG...]   every certificate of the server: when it ends, when it is renewed, its file
    orchd-certs renew [FLAG...]   make the serving certificate and the administrator's anew, now

FLAG are the server's, so that --flagfile can be the server's file: --data-dir says where the files are. A server that runs
presents a new serving certificate within seconds; it renews both by itself after two thirds of their life.

Exit status: 0 when it is done; 1 when it is not, with the reason on standard error, and for `show` also when a certificate
has ended; 2 for a command line that is wrong.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from random import SystemRandom
from typing import Final

from orchd.assembly.certificates import certificate_files
from orchd.assembly.files import prepare
from orchd.config.settings import Settings
from orchd.filecommands import NOTHING, Program, Report, Result
from orchd.pki.bootstrap import Files
from orchd.pki.expiry import Expiry, read_expiry
from orchd.server.registry.ranges import AddressRange


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    return PROGRAM.run(arguments)


def _show(settings: Settings, file: str, report: Report) -> Result:
    return _shown(settings, _made(settings), time.time())


def _renew(settings: Settings, file: str, report: Report) -> Result:
    made, now = _made(settings), time.time()
    service_ip = AddressRange(settings.api.service_ranges[0], lambda: (), SystemRandom()).first
    prepare(settings, port=settings.serving.port, service_ip=service_ip, now=now, renew=True)
    return _shown(settings, made, now)


def _made(settings: Settings) -> Files:
    """Raises ValueError where a server has made none."""
    made = Files.below(settings.storage.data_dir, settings.dialect, settings.serving.cert_dir)
    if not made.ca_certificate.exists():
        raise ValueError(f"{made.folder} has no certificates: a server makes them at its first start")
    return made


def _shown(settings: Settings, made: Files, now: float) -> Result:
    """The table; status 1 where a certificate has ended."""
    found = [read_expiry(*row[:2], renewed=row[2]) for row in certificate_files(settings, made)]
    moment = datetime.fromtimestamp(now, UTC)
    return Result(_table(found, moment), 1 if any(moment >= each.ends for each in found) else 0)


def _table(found: Sequence[Expiry], now: datetime) -> str:
    rows = [("NAME", "ENDS", "DAYS LEFT", "RENEWED BY THE SERVER", "FILE")]
    for each in found:
        days = str(max(0, (each.ends - now).days))
        renewal = f"{each.renewal:%Y-%m-%d}" if each.renewed else "no"
        rows.append((each.name, f"{each.ends:%Y-%m-%dT%H:%M:%SZ}", days, renewal, str(each.path)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows)


PROGRAM: Final = Program(
    name="orchd-certs",
    text=__doc__,
    commands={"show": (_show, NOTHING), "renew": (_renew, NOTHING)},
    errors=(OSError, ValueError),
)


if __name__ == "__main__":
    sys.exit(main())
