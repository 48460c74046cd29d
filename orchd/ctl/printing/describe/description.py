"""Readable descriptions of objects, with the Events about them."""

from __future__ import annotations

import re
from typing import Any

from orchd.ctl.cluster.api import Api
from orchd.ctl.objects.events import event_time, events_of
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing import output
from orchd.ctl.printing.ages import age_text
from orchd.ctl.printing.describe.kinds import SECTIONS, WIDTH, row
from orchd.kinds.jsonvalues import Object

#: Metadata fields that are printed in the header of a description or not at all.
_HEADER_METADATA = tuple(
    "name namespace labels annotations managedFields creationTimestamp uid resourceVersion".split()
)


async def describe_object(api: Api, target: Target, obj: Object, *, with_events: bool) -> list[str]:
    """The lines about one object."""
    metadata = obj["metadata"]
    lines = [row("Name", metadata["name"])]
    if metadata.get("namespace"):
        lines.append(row("Namespace", metadata["namespace"]))
    lines += pair_lines("Labels", metadata.get("labels")) + pair_lines("Annotations", metadata.get("annotations"))
    lines += [row("API Version", obj["apiVersion"]), row("Kind", obj["kind"])]
    lines.append(row("Created", metadata.get("creationTimestamp")))
    section = SECTIONS.get(obj["kind"]) if not _custom(target) else None
    if section is not None:
        lines += await section(api, obj)
    else:
        rest = {key: value for key, value in metadata.items() if key not in _HEADER_METADATA}
        lines += indented_lines({"metadata": rest} if rest else {})
        lines += indented_lines(
            {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
        )
    if with_events:
        lines += await _event_lines(api, obj)
    return lines


def _custom(target: Target) -> bool:
    return "." in target.resource.group


def pair_lines(title: str, mapping: Object | None) -> list[str]:
    """The lines of a mapping: one pair a line, aligned under the title."""
    rows = [f"{key}={value}" for key, value in sorted((mapping or {}).items())] or ["<none>"]
    return [row(title, each) if not at else f"{' ' * WIDTH}{each}" for at, each in enumerate(rows)]


def indented_lines(value: Any, depth: int = 0) -> list[str]:
    """JSON data as indented lines, with keys as `title` spells them."""
    indent = "  " * depth
    lines: list[str] = []
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, dict | list) and inner:
                lines += [f"{indent}{title(key)}:", *indented_lines(inner, depth + 1)]
            else:
                lines.append(
                    f"{indent}{title(key)}:  {'<none>' if inner in (None, {}, []) else output.cell_text(inner)}"
                )
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, dict):
                first, *rest = indented_lines(inner, depth + 1) or [""]
                lines += [f"{indent}- {first.strip()}", *rest]
            else:
                lines.append(f"{indent}{output.cell_text(inner)}")
    return lines


def title(key: str) -> str:
    """The title for a field name: ``podIP`` becomes ``Pod IP``. Other keys are returned unchanged."""
    if not re.fullmatch(r"[a-z][A-Za-z0-9]*", key):
        return key
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", key)
    return words[0].upper() + words[1:]


async def _event_lines(api: Api, obj: Object) -> list[str]:
    events = await events_of(api, obj)
    if not events:
        return [row("Events", None)]
    rows = [["Type", "Reason", "Age", "From", "Message"], ["----", "------", "----", "----", "-------"]]
    now = api.clock.seconds()
    for each in events:
        count = each.get("count") or 1
        age = age_text(now, event_time(each)) + (f" (x{count})" if count > 1 else "")
        source = (each.get("source") or {}).get("component") or each.get("reportingComponent") or ""
        rows.append(
            [each.get("type", ""), each.get("reason", ""), age, source, " ".join(each.get("message", "").split())]
        )
    return ["Events:", *(f"  {line}" for line in output.align(rows))]
