"""`orchd-certs`: shows and renews the certificates that a server generated for itself.

    orchd-certs show  [FLAG...]   list the certificates of the server: expiry, date of renewal, file
    orchd-certs renew [FLAG...]   renew the serving certificate and the administrator's certificate now

FLAG are flags of the server, so that --flagfile can name the server's file; --data-dir locates the certificates. A
running server presents a new serving certificate within seconds. It renews both certificates automatically after two
thirds of their lifetime.

Exit status: 0 on success; 1 on failure, with the reason on standard error, and for `show` also if a certificate has
expired; 2 for an invalid command line.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from orchd.assembly.certificates import certificate_files
from orchd.assembly.files import prepare
from orchd.config.settings import Settings
from orchd.filecommands import NO_FILE, Program, Report, Result
from orchd.pki import clientconfig
from orchd.pki.bootstrap import Files
from orchd.pki.expiry import Expiry, read_expiry


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    return PROGRAM.run(arguments)


def _show(settings: Settings, file: str, report: Report) -> Result:
    return _certificate_table(settings, _bootstrap_files(settings), time.time())


def _renew(settings: Settings, file: str, report: Report) -> Result:
    files, now = _bootstrap_files(settings), time.time()
    # Flags that leave out the port are no reason to lead the administrator elsewhere.
    url = clientconfig.load(files.admin_config).server if files.admin_config.exists() else ""
    prepare(settings, port=settings.serving.port, now=now, renew=True, url=url)
    return _certificate_table(settings, files, now)


def _bootstrap_files(settings: Settings) -> Files:
    """Raises ValueError where a server has made none."""
    files = Files.below(settings.storage.data_dir, settings.dialect, settings.serving.cert_dir)
    if not files.ca_certificate.exists():
        raise ValueError(f"{files.folder} has no certificates: a server makes them at its first start")
    return files


def _certificate_table(settings: Settings, files: Files, now: float) -> Result:
    """The table; status 1 where a certificate has ended."""
    rows = [read_expiry(*row[:2], renewed=row[2]) for row in certificate_files(settings, files)]
    moment = datetime.fromtimestamp(now, UTC)
    return Result(_table(rows, moment), 1 if any(moment >= each.ends for each in rows) else 0)


def _table(expiries: Sequence[Expiry], now: datetime) -> str:
    rows = [("NAME", "ENDS", "DAYS LEFT", "RENEWED BY THE SERVER", "FILE")]
    for each in expiries:
        days = str(max(0, (each.ends - now).days))
        renewal = f"{each.renewal:%Y-%m-%d}" if each.renewed else "no"
        rows.append((each.name, f"{each.ends:%Y-%m-%dT%H:%M:%SZ}", days, renewal, str(each.path)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


PROGRAM: Final = Program(
    name="orchd-certs",
    text=__doc__,
    commands={"show": (_show, NO_FILE), "renew": (_renew, NO_FILE)},
    errors=(OSError, ValueError),
)


if __name__ == "__main__":
    sys.exit(main())
