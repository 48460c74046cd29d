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

from twisted.python import usage

from orchd.assembly.capabilities import capabilities
from orchd.assembly.certificates import certificate_files
from orchd.assembly.files import prepare
from orchd.config.options import Options
from orchd.config.settings import Settings
from orchd.pki.bootstrap import Files
from orchd.pki.expiry import Expiry, read_expiry
from orchd.server.registry.ranges import AddressRange

_COMMANDS = ("show", "renew")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help", "help"):
        (sys.stdout if words else sys.stderr).write(f"{__doc__}\n")
        return 0 if words else 2
    name, *rest = words
    if name not in _COMMANDS:
        return _say(f"unknown command {name!r}: one of {', '.join(_COMMANDS)}", 2)
    options = Options(capabilities=capabilities())
    try:
        options.parseOptions(rest)
    except usage.UsageError as error:
        return _say(str(error), 2)
    settings = options.settings
    assert settings is not None, "parsed"
    now = time.time()
    try:
        made = Files.below(settings.storage.data_dir, settings.dialect, settings.serving.cert_dir)
        if not made.ca_certificate.exists():
            return _say(f"{made.folder} has no certificates: a server makes them at its first start", 1)
        if name == "renew":
            _renew(settings, now)
        found = [read_expiry(*row[:2], renewed=row[2]) for row in certificate_files(settings, made)]
    except (OSError, ValueError) as error:
        return _say(str(error), 1)
    moment = datetime.fromtimestamp(now, UTC)
    sys.stdout.write(_table(found, moment))
    return 1 if any(moment >= each.ends for each in found) else 0


def _say(text: str, status: int) -> int:
    sys.stderr.write(f"orchd-certs: {text}\n")
    return status


def _renew(settings: Settings, now: float) -> None:
    service_ip = AddressRange(settings.api.service_ranges[0], lambda: (), SystemRandom()).first
    prepare(settings, port=settings.serving.port, service_ip=service_ip, now=now, renew=True)


def _table(found: Sequence[Expiry], now: datetime) -> str:
    rows = [("NAME", "ENDS", "DAYS LEFT", "RENEWED BY THE SERVER", "FILE")]
    for each in found:
        days = str(max(0, (each.ends - now).days))
        renewal = f"{each.renewal:%Y-%m-%d}" if each.renewed else "no"
        rows.append((each.name, f"{each.ends:%Y-%m-%dT%H:%M:%SZ}", days, renewal, str(each.path)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "".join("   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
