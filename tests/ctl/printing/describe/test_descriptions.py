"""Descriptions of objects with all that is shown of their kind: of each file in ``descriptions``, KIND.yaml, the first
object is described as in KIND.txt; the others are its surroundings. KIND-ASPECT is about a part of a kind."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.ctl.ctl_runner import Ctl

CASES = sorted(Path(__file__).with_name("descriptions").glob("*.yaml"))
NEEDED = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: builder}
---
apiVersion: scheduling.{abbr}.io/v1
kind: PriorityClass
metadata: {name: high}
value: 9
"""


@pytest.mark.usefixtures("universal_time")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_description(ctl: Ctl, case: Path) -> None:
    """The whole description of an object with its status and with what it refers to."""
    dialect = ctl.server.dialect
    manifest = dialect(case.read_text())
    ctl("create", "-f", "-", send=dialect(NEEDED))
    ctl("create", "-f", "-", "--validate=false", send=manifest)
    for obj in yaml.safe_load_all(manifest):
        if "status" in obj:
            status = json.dumps({"status": obj["status"]})
            target = f"{obj['kind']}/{obj['metadata']['name']}"
            where = ("-n", obj["metadata"].get("namespace", "default"))
            ctl("patch", target, "--subresource=status", "--type=merge", "-p", status, *where)
    described = ctl("describe", case.stem.partition("-")[0], "o").out
    # Objects are created at the time of the server, which passes from one command to the next.
    for pattern, word in ((r"\w{3}, \d\d \w{3} 2027 [\d:]+ .*", "CREATED"), (r"\d+m?\d*s$", "AGE"), (r" +$", "")):
        described = re.sub(pattern, word, described, flags=re.MULTILINE)
    assert described == dialect(case.with_suffix(".txt").read_text())
