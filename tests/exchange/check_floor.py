"""``python tests/exchange/check_floor.py [--raise] [--release R] REPORT...``: compare recorded exchanges with a minimum
per area.

A REPORT is what the exchange program or the scheduler's program writes with ``--json``; profiles that the server cannot
be started with count for nothing. ``floor.json`` has, per area, how many steps have to be exact; areas of the scheduler
stand behind ``scheduler/``, those of ``--release 1.35`` behind ``1.35/``. Only areas of the kinds of reports that are
given are compared. ``--raise`` writes the numbers of the reports into it where they are higher, but for the few steps
by which a busy machine may miss a deadline of the scenarios. Exits with 1 when an area is below its floor.
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
# How many steps of an area may fail because of deadlines in the scenarios.
_SLACK = 3


def below(floor: Mapping[str, int], exact: Mapping[str, int]) -> list[str]:
    """The areas with fewer exact steps than their floor; an area that was not run has none."""
    return [area for area, least in floor.items() if exact.get(area, 0) < least]


#: Prefix of the areas of the scheduler's recordings.
_SCHEDULER = "scheduler/"
#: The area that runs against a server with controllers and has a report of its own.
_CONTROLLERS = "controllers"


def kind(area: str) -> str:
    """The kind of report that an area is counted in: ``scheduler/``, or the release, and the controllers' by
    themselves."""
    prefix, _, own = area.rpartition("/")
    return _SCHEDULER if prefix == "scheduler" else f"{prefix}/{own}" if own == _CONTROLLERS else prefix


def counts(report: Mapping[str, Any]) -> dict[str, Counter[str]]:
    """Steps, exact ones and right status codes per area, over the profiles that were ready."""
    areas: dict[str, Counter[str]] = {}
    if "profiles" not in report:
        for area, found in report["areas"].items():
            areas[_SCHEDULER + area] = Counter(steps=found["total"], exact=found["ok"], code=found["ok"])
        return areas
    for profile in report["profiles"].values():
        if profile["ready"]:
            for area, found in profile["areas"].items():
                areas.setdefault(area, Counter()).update(found)
    return areas


def table(floor: Mapping[str, int], areas: Mapping[str, Mapping[str, int]]) -> str:
    """One line per area: its steps, how many are exact, the right status codes, the floor."""
    lines = [f"{'area':38}{'steps':>7}{'exact':>7}{'code':>7}{'floor':>7}"]
    totals = [0, 0, 0, 0]
    for area in sorted({*floor, *areas}):
        area_counts = areas.get(area, {})
        row = [area_counts.get(key, 0) for key in ("steps", "exact", "code")] + [floor.get(area, 0)]
        totals = [a + b for a, b in zip(totals, row, strict=True)]
        lines.append(f"{area:38}" + "".join(f"{n:>7}" for n in row) + ("  BELOW" if row[1] < row[3] else ""))
    lines.append(f"{'all':38}" + "".join(f"{n:>7}" for n in totals))
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Compare, print, and raise the minimum if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", type=Path, nargs="+")
    parser.add_argument("--raise", dest="lift", action="store_true")
    parser.add_argument("--release", default="", help="release of the recordings, other than that of the specification")
    chosen = parser.parse_args(arguments)
    floor: dict[str, int] = json.loads(FLOOR.read_text())
    areas: dict[str, Counter[str]] = {}
    for path in chosen.reports:
        prefix = f"{chosen.release}/" if chosen.release else ""
        areas |= {prefix + area: found for area, found in counts(json.loads(path.read_text())).items()}
    kinds = {kind(area) for area in areas}
    compared = {area: least for area, least in floor.items() if kind(area) in kinds}
    exact = {area: found["exact"] for area, found in areas.items()}
    sys.stdout.write(table(compared, areas) + "\n")
    if chosen.lift:
        raised = {area: max(floor.get(area, 0), exact.get(area, 0) - _SLACK) for area in sorted({*floor, *exact})}
        FLOOR.write_text(json.dumps(raised, indent=2) + "\n")
    lost = below(compared, exact)
    if lost:
        sys.stderr.write(f"fewer exact steps than before in: {', '.join(lost)}\n")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
