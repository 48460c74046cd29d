"""Shell completion of programs, made from tables of flags: bash, zsh and fish.

Names of flags are completed, and values of switches, choices, files and folders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchd.config.flag import Flag, FlagTable
from orchd.config.values import BOOL
from orchd.dialect import ORCH

#: How a value is completed: "" not at all, else FILES, FOLDERS or a list of words.
FILES, FOLDERS = "<files>", "<folders>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program as a shell sees it. `commands` are what its first argument may be, () when it takes flags alone."""

    program: str
    flags: FlagTable
    commands: Sequence[str] = ()

    @property
    def function(self) -> str:
        """The name of the shell function."""
        return "_" + self.program.replace("-", "_")

    def offered_flags(self) -> list[Flag]:
        """The flags that are offered."""
        return sorted((flag for flag in self.flags if flag.settable), key=Flag.spelled)


def values(flag: Flag) -> str:
    """FILES, FOLDERS, or the words that a value may be, separated by spaces."""
    if flag.type is BOOL:
        return "true false"
    if flag.choices:
        return " ".join(ORCH(choice) for choice in flag.choices)
    name = flag.spelled()
    if name.endswith("-dir"):
        return FOLDERS
    if name.endswith(("file", "config", "-path", "-cert", "-key")) or name == "config":
        return FILES
    return ""


_BASH = """\
# bash completion of {program}
{function}() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} flag=
    COMPREPLY=()
    # bash takes the = between a flag and its value for a word of its own.
    if [ "$cur" = = ]; then
        flag=${{COMP_WORDS[COMP_CWORD-1]}} cur=
    elif [ "$COMP_CWORD" -ge 2 ] && [ "${{COMP_WORDS[COMP_CWORD-1]}}" = = ]; then
        flag=${{COMP_WORDS[COMP_CWORD-2]}}
    elif [[ "$cur" != -* && "${{COMP_WORDS[COMP_CWORD-1]}}" == --* ]]; then
        flag=${{COMP_WORDS[COMP_CWORD-1]}}
    fi
    case $flag in
{cases}
    esac
    if [ -n "$flag" ]; then
        return
    fi
{commands}    COMPREPLY=( $(compgen -W "{flags}" -- "$cur") )
    # Values follow a flag at once.
    [[ ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace 2>/dev/null
}}
complete -F {function} {program}
"""

_BASH_COMMANDS = """\
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=( $(compgen -W "{words}" -- "$cur") )
        return
    fi
    if [[ "$cur" != -* ]]; then
        COMPREPLY=( $(compgen -f -- "$cur") )
        return
    fi
"""


def bash(program: Program) -> str:
    """The script for bash."""
    cases: dict[str, list[str]] = {}
    for flag in program.offered_flags():
        cases.setdefault(values(flag), []).append(f"--{flag.spelled()}")
    lines = []
    for offered, names in sorted(cases.items()):
        if offered:
            action = {FILES: "-f", FOLDERS: "-d"}.get(offered, f'-W "{offered}"')
            lines += [
                f"        {'|'.join(names)})",
                f'            COMPREPLY=( $(compgen {action} -- "$cur") ); return ;;',
            ]
    return _BASH.format(
        program=program.program,
        function=program.function,
        cases="\n".join(lines),
        commands=_BASH_COMMANDS.format(words=" ".join(program.commands)) if program.commands else "",
        flags=" ".join(f"--{flag.spelled()}=" for flag in program.offered_flags()),
    )


def zsh(program: Program) -> str:
    """The function file for zsh, to be named after its `#compdef`."""
    lines = [f"#compdef {program.program}", "_arguments \\"]
    if program.commands:
        lines += [f"  '1:command:({' '.join(program.commands)})' \\", "  '*:file:_files' \\"]
    for flag in program.offered_flags():
        offered = values(flag)
        action = {FILES: "_files", FOLDERS: "_files -/", "": " "}.get(offered, f"({offered})")
        help_ = _summary(flag).replace("'", "'\\''")
        for mark in "[]:":
            help_ = help_.replace(mark, "\\" + mark)
        # A switch may stand alone.
        colon = "::" if flag.type is BOOL else ":"
        lines.append(f"  '*--{flag.spelled()}=[{help_}]{colon}{flag.type.name}:{action}' \\")
    return "\n".join(lines).removesuffix(" \\") + "\n"


def fish(program: Program) -> str:
    """The script for fish."""
    lines = [f"# fish completion of {program.program}"]
    if program.commands:
        words = " ".join(program.commands)
        lines.append(f"complete -c {program.program} -n __fish_use_subcommand -f -a '{words}'")
    else:
        lines.append(f"complete -c {program.program} -f")
    for flag in program.offered_flags():
        offered = values(flag)
        action = {FILES: "-r -F", FOLDERS: "-x -a '(__fish_complete_directories)'", "": "-x"}.get(
            offered, f"-x -a '{offered}'"
        )
        if flag.type is BOOL:
            # It may stand alone, so that fish must not wait for a value.
            action = "-f"
        help_ = _summary(flag).replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"complete -c {program.program} -l {flag.spelled()} {action} -d '{help_}'")
    return "\n".join(lines) + "\n"


def _summary(flag: Flag) -> str:
    """The first sentence of a flag's help."""
    return " ".join(ORCH(flag.help).split()).split(". ")[0].rstrip(".")
