"""Renders the flag tables as ``--help`` and docs/flags.md."""

from __future__ import annotations

import textwrap

from orchd.config.flag import Flag, FlagTable
from orchd.dialect import KUBERNETES, ORCH, Dialect
from orchd.kinds.gates import DROPPED, GATES, KEPT, Gate
from orchd.kinds.release import RELEASES, Release


def default_name(component: str) -> str:
    """The name of a component's program in the default dialect."""
    return f"{ORCH.short}-{component}"


def default_text(flag: Flag, dialect: Dialect, quote: str = "") -> str:
    """The default of a flag, "" for the type's zero, and that in the other dialect where it is another value."""
    text = flag.written_default(dialect)
    if not text:
        return ""
    text = f"{quote}{text}{quote}"
    if flag.stock_default:
        other = ORCH if dialect.stock else KUBERNETES
        text += f", with {quote}--dialect={other.name}{quote} {quote}{flag.written_default(other)}{quote}"
    return text


def _parts(table: FlagTable) -> dict[str, list[Flag]]:
    out: dict[str, list[Flag]] = {}
    for flag in table:
        out.setdefault(flag.components[0] if flag.components else "server", []).append(flag)
    return out


def usage_text(table: FlagTable, dialect: Dialect, width: int) -> str:
    """The text of ``--help``: flags by component; those without an effect by name only."""
    lines: list[str] = []
    void: list[str] = []
    for component, flags in _parts(table).items():
        settable = sorted((f for f in flags if f.settable), key=lambda f: f.spelled(dialect))
        void.extend(f.spelled(dialect) for f in flags if f.void)
        if settable:
            lines.append(f"Flags of the {component}:")
        for flag in settable:
            value = flag.type.placeholder
            lines.append(f"  --{flag.spelled(dialect)}" + (f"={value}" if value else ""))
            text = dialect(flag.help)
            if default := default_text(flag, dialect):
                text += f" (default {default})"
            text = " ".join((text, *flag.lifetime()))
            if flag.deprecated:
                text = "Deprecated. " + text
            lines.extend(textwrap.wrap(text, max(40, width - 8), initial_indent=" " * 8, subsequent_indent=" " * 8))
    lines.append("Without effect here (only the default value is accepted):")
    lines.extend(
        textwrap.wrap(
            " ".join(sorted(void)),
            max(40, width - 2),
            initial_indent="  ",
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
    )
    lines.append(
        "--flagfile=FILE reads one flag per line; # starts a comment line. List items are separated by commas."
    )
    return "\n".join(lines) + "\n"


def flags_markdown(table: FlagTable) -> str:
    """The content of docs/flags.md: every flag with type, default and help."""
    lines = [
        "# Flags",
        "",
        "Generated from the rows in `orchd/config/rows`. Names that contain the product word follow the "
        "default dialect; the",
        "spelling of the chosen `--dialect` is accepted as well. `--name=value`, `--name value` and, for booleans,",
        "`--name` alone are accepted, on the command line and in flag files (one flag per line, `#` "
        "comments); later flags",
        "override earlier ones. A flag marked *can have no effect* accepts only its default value; one "
        "marked *only in a separate",
        ORCH(
            "process* is for `twistd {short}-controller-manager` and `twistd {short}-scheduler`, which take the "
            "flags of the"
        ),
        "controllers and of the scheduler.",
    ]
    for component, flags in _parts(table).items():
        lines += [
            "",
            f"## Flags of the {component}",
            "",
            "| flag | type | default | description |",
            "|---|---|---|---|",
        ]
        for flag in sorted(flags, key=lambda f: f.spelled()):
            notes = [*flag.lifetime()]
            if flag.deprecated:
                notes.append("Deprecated.")
            if flag.separate:
                notes.append("*Only in a separate process.*")
            if flag.void:
                notes.append(f"*Can have no effect: {flag.void}.*")
            elif flag.noop:
                notes.append(f"*Has no effect, and warns: {flag.noop}.*")
            help_ = " ".join([ORCH(flag.help), *notes]).replace("|", "\\|")
            default = default_text(flag, ORCH, quote="`")
            lines.append(f"| `--{flag.spelled()}` | {flag.type.name} | {default} | {help_} |")
    return "\n".join(lines) + "\n"


def gates_markdown() -> str:
    """The content of docs/feature-gates.md: every gate with its stage and default in each release, and its effect."""
    lines = [
        "# Feature gates",
        "",
        "Generated from the table in `orchd/kinds/gates.py`. `--feature-gates=Name=true,Other=false` sets "
        "gates of a server, of the",
        "controllers and of the scheduler; every process knows all of them, so that one list can be passed "
        "to each. `AllAlpha` and",
        "`AllBeta` set all gates of a stage; a gate's own value takes precedence. Setting a gate of stage GA is "
        "logged with a warning, and mostly",
        "has no effect, which its row says; where it is locked, the other value is rejected, as is a gate that the "
        "release of `--emulated-version` does not",
        "know yet. A gate that ended before it is accepted with the value that stayed, with a warning.",
        "",
        "While a gate is off, its *fields* are dropped when objects are created, and on updates unless the "
        "stored object uses them.",
        "`†` marks fields that updates keep, `‡` those that updates drop always.",
        "",
        f"| gate | {' | '.join(RELEASES)} | where | effect | fields |",
        "|---|" + "---|" * (len(RELEASES) + 3),
    ]
    marks = {KEPT: "†", DROPPED: "‡"}
    for gate in GATES:
        fields = ", ".join(f"`{ORCH(drop.field)}`{marks.get(drop.update, '')}" for drop in gate.drops)
        where = "-" if gate.effect.startswith("None") else gate.component
        stages = (_stage(gate, release) for release in RELEASES.values())
        lines.append("| " + " | ".join((f"`{ORCH(gate.name)}`", *stages, where, gate.effect, fields)) + " |")
    return "\n".join(lines) + "\n"


def _stage(gate: Gate, release: Release) -> str:
    """Stage and default of a gate in a release; a dash if the release does not have it."""
    stage = gate.stage(release)
    if stage is None:
        return "-"
    text = f"{stage.name}, {'on' if stage.default else 'off'}" + (", locked" if stage.locked else "")
    return text + (f"; on with `--dialect={KUBERNETES.name}`" if gate.stock else "")
