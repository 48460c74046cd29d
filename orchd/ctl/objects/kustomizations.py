"""Kustomizations, built by the program for them."""

from __future__ import annotations

import shutil
import subprocess
from typing import Final

from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError
from orchd.dialect import COMMAND_LINE, DIALECTS

#: Programs that build kustomizations, with the arguments in front of the folder: the first that is installed runs. The
#: second one is the stock client of a dialect.
_BUILDERS: Final = (("kustomize", "build"), ("{short}ctl", "kustomize"))
#: Seconds that building may take; it may fetch from repositories.
_LONGEST: Final = 300.0


def build(session: Session, folder: str) -> str:
    """The objects of a kustomization as YAML. Raises CommandError without a program, or with what the program says."""
    search = session.environment.get("PATH")
    names = {dialect(template): command for template, command in _BUILDERS for dialect in DIALECTS.values()}
    # This program has no builder of its own.
    names.pop(COMMAND_LINE, None)
    for name, command in names.items():
        program = shutil.which(name, path=search)
        if program is None:
            continue
        try:
            done = subprocess.run(
                [program, command, "--", folder],
                capture_output=True,
                timeout=_LONGEST,
                check=False,
                env=dict(session.environment),
            )
        except subprocess.TimeoutExpired:
            raise CommandError(f"{name} {command} {folder}: not finished after {_LONGEST:g} s") from None
        except OSError as error:
            raise CommandError(f"{program}: {error.strerror}") from None
        if done.returncode:
            complaint = " ".join(done.stderr.decode("utf-8", "replace").split())
            raise CommandError(f"{name} {command} {folder}: {complaint or f'ended with {done.returncode}'}")
        try:
            return done.stdout.decode()
        except UnicodeDecodeError:
            raise CommandError(f"{name} {command} {folder}: its output is not UTF-8 text") from None
    programs = " or ".join(names)
    raise CommandError(f"a kustomization is built by a program of its own: install {programs} on the PATH")
