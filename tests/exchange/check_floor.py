"""``python tests/exchange/check_floor.py REPORT [--raise]``: no area of the recorded exchanges may lose ground.

REPORT is what the exchange program writes with ``--json``; profiles that the server cannot be started with yet count for
nothing. ``floor.json`` has, per area, how many steps have to be exact;
``--raise`` writes the numbers of the report into it where they are higher, but for the few steps by which a busy machine may
miss a deadline of the scenarios. Exits with 1 when an area is below its floor.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FLOOR = Path(__file__).with_name("floor.json")
#: How many steps of an area a run may lose to deadlines that the scenarios set.
_SLACK = 3


def below(floor: Mapping[str, int], exact: Mapping[str, int]) -> list[str]:
    """The areas with fewer exact steps than their floor; an area that was not run has none."""
    return [area for area, least in floor.items() if exact.get(area, 0) < least]


def counts(report: Mapping[str, Any]) -> dict[str, Counter[str]]:
    """What was counted per area, over the profiles that were ready."""
    areas: dict[str, Counter[str]] = {}
    for profile in report["profiles"].values():
        if profile["ready"]:
            for area, found in profile["areas"].items():
                areas.setdefault(area, Counter()).update(found)
    return areas


def table(floor: Mapping[str, int], areas: Mapping[str, Mapping[str, int]]) -> str:
    """One line per area: its steps, how many are exact, the right status codes, the floor."""
    lines = [f"{'area':14}{'steps':>7}{'exact':>7}{'code':>7}{'floor':>7}"]
    totals = [0, 0, 0, 0]
    for area in sorted({*floor, *areas}):
        found = areas.get(area, {})
        row = [found.get(key, 0) for key in ("steps", "exact", "code")] + [floor.get(area, 0)]
        totals = [a + b for a, b in zip(totals, row, strict=True)]
        lines.append(f"{area:14}" + "".join(f"{n:>7}" for n in row) + ("  BELOW" if row[1] < row[3] else ""))
    lines.append(f"{'all':14}" + "".join(f"{n:>7}" for n in totals))
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Compare, print, and perhaps raise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("--raise", dest="lift", action="store_true")
    chosen = parser.parse_args(arguments)
    floor: dict[str, int] = json.loads(FLOOR.read_text())
    areas = counts(json.loads(chosen.report.read_text()))
    exact = {area: found["exact"] for area, found in areas.items()}
    sys.stdout.write(table(floor, areas) + "\n")
    if chosen.lift:
        raised = {area: max(floor.get(area, 0), exact.get(area, 0) - _SLACK) for area in sorted({*floor, *exact})}
        FLOOR.write_text(json.dumps(raised, indent=2) + "\n")
    lost = below(floor, exact)
    if lost:
        sys.stderr.write(f"fewer exact steps than before in: {', '.join(lost)}\n")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
