"""Readable descriptions of objects, with the Events about them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

from orchd.ctl.cluster.api import Api
from orchd.ctl.objects.events import events_of, last_seen
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing.describe.kinds import WITHOUT_EVENTS, section_of
from orchd.ctl.printing.describe.related import Related
from orchd.ctl.printing.describe.sheet import Sheet, plain
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.tabulate.ages import Ages

#: Members of metadata that the header shows, and managedFields, which is left out.
_HEAD: Final = ("name", "namespace", "labels", "annotations", "managedFields")
_ACRONYMS: Final = ("API", "URL", "UID", "OSB", "GUID")
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|-")


async def describe_object(api: Api, target: Target, obj: Object, *, with_events: bool) -> list[str]:
    """The lines about one object."""
    dialect = await api.dialect()
    related = Related(api=api, dialect=dialect, age=Ages(datetime.fromtimestamp(api.clock.seconds(), UTC)))
    sheet = Sheet(frozenset((dialect.last_applied,)))
    section = section_of(target.resource.group, target.resource.kind, dialect)
    if section is not None:
        await section(sheet, obj, related)
    else:
        metadata = obj["metadata"]
        sheet.row("Name", metadata["name"])
        sheet.row("Namespace", metadata.get("namespace", ""))
        sheet.labels("Labels", metadata.get("labels"))
        sheet.annotations(metadata.get("annotations"))
        rest = {key: value for key, value in metadata.items() if key not in _HEAD}
        add_fields(sheet, {**obj, "metadata": rest})
    if with_events and (section is None or target.resource.kind not in WITHOUT_EVENTS):
        try:
            events = await events_of(api, obj)
        except ApiError:
            events = None
        if events is not None:
            _add_events(sheet, events, related)
    return sheet.text()


def add_fields(sheet: Sheet, value: Object, level: int = 0) -> None:
    """Add the fields of an object by their names, sorted."""
    for key, inner in sorted(value.items()):
        if isinstance(inner, dict):
            sheet.line(f"{title(key)}:", level)
            add_fields(sheet, inner, level + 1)
        elif isinstance(inner, list):
            sheet.line(f"{title(key)}:", level)
            for each in inner:
                if isinstance(each, dict):
                    add_fields(sheet, each, level + 1)
                else:
                    sheet.line(plain(each), level + 1)
        else:
            sheet.row(title(key), inner, level)


def title(key: str) -> str:
    """The title for a field name: ``startTime`` becomes ``Start Time``. Keys with other characters than letters
    and hyphens are returned unchanged."""
    if not re.fullmatch(r"[A-Za-z-]+", key):
        return key
    words = _WORDS.findall(key)
    return " ".join(word.upper() if word.upper() in _ACRONYMS else word.capitalize() for word in words)


def _add_events(sheet: Sheet, events: list[Object], related: Related) -> None:
    if not events:
        sheet.row("Events", "<none>")
        return
    sheet.line("Events:")
    rows: list[list[Any]] = [
        ["Type", "Reason", "Age", "From", "Message"],
        ["----", "------", "----", "----", "-------"],
    ]
    for each in events:
        since = last_seen(each, related.age)
        source = (each.get("source") or {}).get("component") or each.get("reportingComponent") or ""
        where, message = (each.get("involvedObject") or {}).get("fieldPath"), (each.get("message") or "").strip()
        rows.append(
            [each.get("type", ""), each.get("reason", ""), since, source, f"{where}: {message}" if where else message]
        )
    for row in rows:
        sheet.line("\t".join(row), 1)
