"""`python -m orchd.manuals man|completion FOLDER`: manual pages and shell completion, from the tables of flags.

    man         orchd.8 and a page for every other program; orchctl.1
    completion  bash/NAME, zsh/_NAME and fish/NAME.fish for every program

FOLDER is created. Manual pages need click (the extra cli). The completion of orchctl is made by `orchctl completion`.
Package builds run this; its output is not part of the sources.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from orchd import certcommands, storecommands
from orchd.config import completion, manpage
from orchd.config.flag import FlagTable
from orchd.config.help import default_name
from orchd.config.table import COMPONENTS, component_table, table
from orchd.dialect import COMMAND_LINE

_FLAG_FILES: Final = (
    "--name=value, --name value and, for booleans, --name alone all work, on the command line and in "
    "flag files, which have"
    " one flag per line and # comments. What comes later wins. A flag that is not known is refused with "
    "the nearest known one."
)
_STATUS: Final = (
    "0 after an orderly stop, SIGTERM included; 1 when the service cannot start or go on, with the reason in the log."
)

_SUMMARIES: Final = {
    "orchd": "control plane of a cluster in one process",
    "controller-manager": "controllers of a cluster in a process of their own",
    "scheduler": "scheduler of a cluster as a separate process",
    "orchd-store": "backup, check, move and serve what a server keeps",
    "orchd-certs": "show and renew the certificates that a server made for itself",
}
_DESCRIPTIONS: Final = {
    "orchd": "Runs the API server, and unless flags say otherwise the controllers and the scheduler, on an "
    "embedded store or on"
    " etcd (--etcd-servers). The first start makes an authority, certificates, keys and the store in --data-dir.",
    "controller-manager": "Runs the controllers against any API server of this API, with leader election.",
    "scheduler": "Runs the scheduler against any API server of this API, with leader election. It needs numpy "
    "(the extra scheduler).",
}


#: Programs with commands, on files of a server: their module's text and the names of their commands.
TOOLS: Final = {
    "orchd-store": (storecommands.__doc__ or "", tuple(storecommands.COMMANDS)),
    "orchd-certs": (certcommands.__doc__ or "", tuple(certcommands.PROGRAM.commands)),
}


def programs() -> dict[str, tuple[str, FlagTable]]:
    """Programs by name: key in the texts above, and flags."""
    out = {"orchd": ("orchd", table())}
    out |= {default_name(component): (component, component_table(component)) for component in COMPONENTS}
    return out


def manual_pages() -> dict[str, str]:
    """File name and text of every page."""
    release, by_name = version("orchd"), programs()
    pages = {}
    for name, (key, flags) in by_name.items():
        others = ", ".join(f"{other}(8)" for other in (*by_name, *TOOLS) if other != name)
        pages[name] = [
            *manpage.heading(name, release, _SUMMARIES[key]),
            *manpage.section("SYNOPSIS", f"{name} [--flag=value ...]"),
            *manpage.section("DESCRIPTION", _DESCRIPTIONS[key], _FLAG_FILES),
            *manpage.options(flags),
            *manpage.section("EXIT STATUS", _STATUS),
            *manpage.section("SEE ALSO", others),
        ]
    for name, (text, _) in TOOLS.items():
        usage = text.split("\n\n")
        pages[name] = [
            *manpage.heading(name, release, _SUMMARIES[name]),
            *manpage.listing("SYNOPSIS", usage[1]),
            *manpage.section("DESCRIPTION", *usage[2:-1]),
            *manpage.section("EXIT STATUS", usage[-1].removeprefix("Exit status: ").strip()),
            *manpage.section("SEE ALSO", ", ".join(f"{other}(8)" for other in (*by_name, *TOOLS) if other != name)),
        ]
    pages_by_file = {f"{name}.8": lines for name, lines in pages.items()}
    pages_by_file[f"{COMMAND_LINE}.1"] = _command_line(release)
    return {name: "\n".join(lines) + "\n" for name, lines in pages_by_file.items()}


def _command_line(release: str) -> list[str]:
    """The page of the command line of users."""
    # An optional dependency is behind it.
    from orchd.ctl import manual, program

    status = (program.__doc__ or "").partition("Exit status: ")[2]
    lines = [
        *manpage.heading(COMMAND_LINE, release, manual.summary(), "1"),
        *manpage.section("SYNOPSIS", f"{COMMAND_LINE} [OPTIONS] COMMAND [ARGS]..."),
        *manpage.section("DESCRIPTION", *manual.description()),
        ".SH GLOBAL OPTIONS",
        *manpage.entries(manual.global_options()),
        ".SH COMMANDS",
    ]
    for usage, text, options in manual.commands():
        lines += [*manpage.subsection(usage, text), *manpage.entries(options)]
    return [
        *lines,
        *manpage.section("EXIT STATUS", " ".join(status.split())),
        ".SH ENVIRONMENT",
        *manpage.entries(manual.environment()),
        *manpage.section("SEE ALSO", ", ".join(f"{name}(8)" for name in ("orchd", *TOOLS))),
    ]


def completion_files() -> dict[str, str]:
    """File name and text of every completion script."""
    completed = [completion.Program(program=name, flags=flags) for name, (_, flags) in programs().items()]
    completed += [
        completion.Program(program=name, flags=table(), commands=commands) for name, (_, commands) in TOOLS.items()
    ]
    files = {}
    for one in completed:
        files[f"bash/{one.program}"] = completion.bash(one)
        files[f"zsh/_{one.program}"] = completion.zsh(one)
        files[f"fish/{one.program}.fish"] = completion.fish(one)
    return files


def main(arguments: Sequence[str]) -> int:
    """Write the files; the exit status."""
    makers = {"man": manual_pages, "completion": completion_files}
    if len(arguments) != 2 or arguments[0] not in makers:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    for name, text in makers[arguments[0]]().items():
        path = Path(arguments[1], name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
