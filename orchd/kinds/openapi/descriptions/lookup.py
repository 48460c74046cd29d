"""Finds the words for a type or a member: those of the type itself, else those for members of that name everywhere."""

from __future__ import annotations

from collections.abc import Mapping

from orchd.dialect import Dialect
from orchd.kinds.openapi.descriptions import cluster, common, core, meta, pods, volumes, workloads

TABLES = (pods.TEXTS, volumes.TEXTS, core.TEXTS, workloads.TEXTS, cluster.TEXTS, meta.TEXTS)
_NONE: Mapping[str, str] = {}


class Descriptions:
    """The words in one dialect. Types are named ``package/version.Name``; all versions of a type share its words."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def of_type(self, name: str) -> str:
        """What a type is; "" where nobody has said. Lists say what they are lists of."""
        found = self._own(name).get("")
        if found:
            return found
        short = name.rpartition(".")[2]
        return f"A list of {short.removesuffix('List')}." if short.endswith("List") else ""

    def of_member(self, name: str, member: str) -> str:
        """What a member of a type is; "" where nobody has said."""
        own = self._own(name)
        return own.get(member) or own.get(self._template(member)) or common.FIELDS.get(member, "")

    def of_special(self, kind: str) -> str:
        return meta.SPECIAL[kind]

    def _own(self, name: str) -> Mapping[str, str]:
        package, _, short = name.rpartition(".")
        key = f"{package.partition('/')[0]}.{short}"
        return next((table[key] for table in TABLES if key in table), _NONE)

    def _template(self, member: str) -> str:
        """The few members whose names have the product word in them, as the tables spell them."""
        extension, agent = self._dialect("x-{long}-"), self._dialect("{short}")
        if member.startswith(extension):
            return "x-{long}-" + member[len(extension) :]
        return "{short}" + member[len(agent) :] if member.startswith(agent) else member
