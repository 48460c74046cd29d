"""Looks up the description of a type or member: the type's own table first, then the defaults by member name."""

from __future__ import annotations

from collections.abc import Mapping

from orchd.dialect import Dialect
from orchd.kinds.openapi.descriptions import cluster, common, core, devices, meta, pods, policies, volumes, workloads

TABLES = (
    pods.TEXTS,
    volumes.TEXTS,
    core.TEXTS,
    workloads.TEXTS,
    cluster.TEXTS,
    policies.TEXTS,
    devices.TEXTS,
    meta.TEXTS,
)
_NONE: Mapping[str, str] = {}


class Descriptions:
    """Descriptions in one dialect. Types are named ``package/version.Name``; all versions of a type share descriptions."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def of_type(self, name: str) -> str:
        """The description of a type, "" for a type without one. List types have a default that names their item type."""
        text = self._own(name).get("")
        if text:
            return text
        short = name.rpartition(".")[2]
        return f"List of {short.removesuffix('List')} objects." if short.endswith("List") else ""

    def of_member(self, name: str, member: str) -> str:
        """The description of a member of a type, "" for a member without one."""
        own = self._own(name)
        return own.get(member) or own.get(self._template(member)) or common.FIELDS.get(member, "")

    def of_special(self, kind: str) -> str:
        """The description of a type with a special JSON encoding. Raises KeyError for other kinds."""
        return meta.SPECIAL[kind]

    def _own(self, name: str) -> Mapping[str, str]:
        package, _, short = name.rpartition(".")
        key = f"{package.partition('/')[0]}.{short}"
        return next((table[key] for table in TABLES if key in table), _NONE)

    def _template(self, member: str) -> str:
        """The table key of a member whose name contains the product word."""
        extension, agent = self._dialect("x-{long}-"), self._dialect("{short}")
        if member.startswith(extension):
            return "x-{long}-" + member[len(extension) :]
        return "{short}" + member[len(agent) :] if member.startswith(agent) else member
