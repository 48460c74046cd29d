"""``orchd-envtest-assets [--release=1.35] DIR``: writes programs under the names that test frameworks of other
languages start.

With ``KUBEBUILDER_ASSETS=DIR``, the envtest package of controller-runtime and similar frameworks run their tests
against this server.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from orchd.dialect import KUBERNETES
from orchd.kinds.release import RELEASES, Release, default_release

#: program -> module
_SERVER = "orchd.testing.envtest.apiserver"
PROGRAMS = {KUBERNETES("{short}-apiserver"): _SERVER, "etcd": "orchd.testing.envtest.etcd"}
_SCRIPT = """#!/bin/sh
# Written by orchd-envtest-assets.
exec {python} -m {module} {flags}"$@"
"""


def write_assets(folder: Path, release: Release) -> list[Path]:
    """Write the programs into `folder`, which is made when needed; they run with this interpreter, and serve the API of
    `release` unless a framework's flags name another. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, module in PROGRAMS.items():
        path = folder / name
        flags = f"--emulated-version={release} " if module == _SERVER else ""
        path.write_text(_SCRIPT.format(python=shlex.quote(sys.executable), module=module, flags=flags))
        path.chmod(0o755)
        written.append(path)
    return written


def main() -> None:
    """Write the programs and say how to use them."""
    parser = argparse.ArgumentParser(
        prog="orchd-envtest-assets", description="Writes the programs that envtest starts into DIR.", allow_abbrev=False
    )
    usual = default_release(KUBERNETES).name
    parser.add_argument(
        "--release", choices=RELEASES, default=usual, help="Release of the API that they serve (default: %(default)s)."
    )
    parser.add_argument("folder", metavar="DIR", type=Path)
    options = parser.parse_args()
    folder: Path = options.folder
    try:
        for path in write_assets(folder, RELEASES[options.release]):
            sys.stdout.write(f"wrote {path}\n")
    except OSError as error:
        sys.exit(f"orchd-envtest-assets: {error}")
    variable = KUBERNETES("{SHORT}BUILDER_ASSETS")
    sys.stdout.write(f"run your tests with {variable}={shlex.quote(str(folder.resolve()))}\n")
