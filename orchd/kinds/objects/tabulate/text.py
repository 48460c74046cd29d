"""Cell formatting that several kinds share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.objects.tabulate.ages import Ages

Json = Mapping[str, Any]
Cells = list[Any]

NONE: Final = "<none>"
UNSET: Final = "<unset>"
EMPTY: Final[Json] = {}
#: Number of values of a long cell.
SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Printing:
    """Arguments of printers besides the object. `age` formats the age of a time."""

    age: Ages
    dialect: Dialect


def age_of(o: Json, x: Printing) -> str:
    """The age of an object."""
    return x.age(o["metadata"].get("creationTimestamp"))


def labels(value: Json | None) -> str:
    """``a=b,c=d`` sorted by key."""
    return ",".join(f"{key}={item}" for key, item in sorted(value.items())) if value else NONE


_WORDS: Final = {"In": "{0} in ({1})", "NotIn": "{0} notin ({1})", "Exists": "{0}", "DoesNotExist": "!{0}"}


def selector(value: Json | None) -> str:
    """A label selector as text, sorted by key."""
    if not value:
        return NONE
    parts = [(key, f"{key}={item}") for key, item in (value.get("matchLabels") or EMPTY).items()]
    for requirement in value.get("matchExpressions") or ():
        key, form = requirement["key"], _WORDS.get(requirement["operator"])
        if form is None:
            return "<error>"
        parts.append((key, form.format(key, ",".join(sorted(requirement.get("values") or ())))))
    parts.sort(key=lambda part: part[0])
    return ",".join(text for _, text in parts) or NONE


def containers(template: Json) -> tuple[str, str]:
    """Names and images of the containers of a pod template."""
    listed = (template.get("spec") or EMPTY).get("containers") or ()
    return ",".join(c["name"] for c in listed), ",".join(c.get("image") or "" for c in listed)


def first_few(items: Sequence[str], *, total: int | None = None) -> str:
    """The first values, and the number of the others: `total` is the number of all where `items` has only the first of them."""
    if len(items) <= SHOWN:
        return ",".join(items)
    return f"{','.join(items[:SHOWN])} + {(len(items) if total is None else total) - SHOWN} more..."


def optional_bool(value: bool | None) -> str:
    return UNSET if value is None else "True" if value else "False"


def load_balancer(status: Json) -> str:
    """The distinct addresses of a load balancer, sorted."""
    ingress = (status.get("loadBalancer") or EMPTY).get("ingress") or ()
    addresses = {address for entry in ingress if (address := entry.get("ip") or entry.get("hostname"))}
    return ",".join(sorted(addresses))


_MODES: Final = (
    ("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")
)


def access_modes(modes: Iterable[str] | None) -> str:
    have = frozenset(modes or ())
    return ",".join(short for long, short in _MODES if long in have)
