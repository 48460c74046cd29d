"""Field paths that are cheap to build and formatted only when printed."""

from __future__ import annotations


class Path:
    """The path of a value in an object: ``root("spec") / "containers" [0] / "name"`` prints
    ``spec.containers[0].name``.

    ``/`` appends a member, ``[]`` an index of a list or a key of a map.
    """

    __slots__ = ("_above", "_step")

    def __init__(self, above: Path | None, step: str | int | tuple[str]) -> None:
        self._above = above
        self._step = step

    def __truediv__(self, name: str) -> Path:
        return Path(self, name)

    def __getitem__(self, key: int | str) -> Path:
        return Path(self, key if isinstance(key, int) else (key,))

    @property
    def above(self) -> Path | None:
        """The path of the containing value; None at the top."""
        return self._above

    def __str__(self) -> str:
        steps: list[str] = []
        at: Path | None = self
        while at is not None:
            step = at._step
            if isinstance(step, str):
                steps.append(f".{step}" if at._above is not None else step)
            elif isinstance(step, int):
                steps.append(f"[{step}]")
            else:
                steps.append(f"[{step[0]}]")
            at = at._above
        return "".join(reversed(steps))


def root(name: str) -> Path:
    """A path of one member."""
    return Path(None, name)


METADATA = root("metadata")
SPEC = root("spec")
STATUS = root("status")
