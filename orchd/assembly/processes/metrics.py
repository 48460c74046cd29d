"""The metrics of several processes as one text: every sample has the label `process`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchd.txkit.turns import TurnBudget

#: Lines of a piece, made in some milliseconds.
_PIECE = 2000


def labelled(text: bytes, process: str) -> Iterator[bytes]:
    """Prometheus text format with the label `process` of a name that needs no escaping, in pieces that are made when
    they are asked for."""
    label = f'process="{process}"'
    lines = text.decode().split("\n")
    for begin in range(0, len(lines), _PIECE):
        piece = lines[begin : begin + _PIECE]
        last = begin + _PIECE >= len(lines)
        yield ("\n".join([_labelled(line, label) for line in piece]) + ("" if last else "\n")).encode()


def _labelled(line: str, label: str) -> str:
    if not line or line[0] == "#":
        return line
    brace, space = line.find("{"), line.find(" ")
    if 0 <= brace < space:
        return f"{line[: brace + 1]}{label},{line[brace + 1 :]}"
    return f"{line[:space]}{{{label}}}{line[space:]}"


def merged(texts: Iterable[bytes]) -> Iterator[bytes]:
    """The families of all texts, each family once, in pieces that are made when they are asked for."""
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for text in texts:
        family = ""
        has_head = False
        for number, line in enumerate(text.decode().split("\n")):
            if line.startswith("# HELP "):
                family = line.split(" ", 3)[2]
                has_head = family in heads
                samples.setdefault(family, [])
            if line.startswith("#"):
                if not has_head:
                    heads.setdefault(family, []).append(line)
            elif line:
                samples[family].append(line)
            if not number % _PIECE:
                yield b""
    out: list[str] = []
    for family, head in heads.items():
        out += head
        out += samples[family]
        if len(out) >= _PIECE:
            yield "\n".join((*out, "")).encode()
            out.clear()
    yield "\n".join((*out, "")).encode()


async def joined(pieces: Iterable[bytes], turns: TurnBudget) -> bytes:
    """The text of `labelled` or `merged`, made in as many turns of the reactor as `turns` has it take."""
    parts = []
    for piece in pieces:
        parts.append(piece)
        await turns.wait()
    return b"".join(parts)
