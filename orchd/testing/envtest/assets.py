"""``orchd-envtest-assets DIR``: writes programs under the names that test frameworks of other languages start.

With ``KUBEBUILDER_ASSETS=DIR``, the envtest package of controller-runtime and similar frameworks run their tests against
this server.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from orchd.dialect import KUBERNETES

#: program -> module
PROGRAMS = {KUBERNETES("{short}-apiserver"): "orchd.testing.envtest.apiserver", "etcd": "orchd.testing.envtest.etcd"}
_SCRIPT = """#!/bin/sh
# Written by orchd-envtest-assets.
exec {python} -m {module} "$@"
"""


def write_assets(folder: Path) -> list[Path]:
    """Write the programs into `folder`, which is made when needed; they run with this interpreter. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, module in PROGRAMS.items():
        path = folder / name
        path.write_text(_SCRIPT.format(python=shlex.quote(sys.executable), module=module))
        path.chmod(0o755)
        written.append(path)
    return written


def main() -> None:
    """Write the programs and say how to use them."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: orchd-envtest-assets DIR\n\nWrites the programs that envtest starts into DIR.")
    folder = Path(sys.argv[1])
    try:
        for path in write_assets(folder):
            sys.stdout.write(f"wrote {path}\n")
    except OSError as error:
        sys.exit(f"orchd-envtest-assets: {error}")
    variable = KUBERNETES("{SHORT}BUILDER_ASSETS")
    sys.stdout.write(f"run your tests with {variable}={shlex.quote(str(folder.resolve()))}\n")
