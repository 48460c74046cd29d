"""What manual pages say about commands."""

from __future__ import annotations

import click

from orchd.ctl import manual


def test_commands_and_their_options() -> None:
    """Each command is there with those of its group behind it, in alphabetical order; hidden options are left out."""
    commands = {usage.partition(" [")[0]: (usage, text, options) for usage, text, options in manual.commands()}
    names = list(commands)
    assert names[names.index("orchctl config") + 1] == "orchctl config current-context" and names == sorted(names)
    assert commands["orchctl certificate approve"] == (
        "orchctl certificate approve [OPTIONS] NAME...",
        "Approve requests: the signer issues their certificates.",
        commands["orchctl certificate deny"][2],
    )
    terms = [term for term, _ in commands["orchctl proxy"][2]]
    assert terms[0] == "-p, --port INTEGER RANGE" and not any("--keepalive" in term for term in terms)
    assert manual.global_options()[1] == ("--context NAME", "Context of the configuration; default: its current one.")


def test_texts_and_hidden_commands() -> None:
    """The mark of lines that are not wrapped is left out, as are hidden commands and arguments."""

    @click.group()
    def group() -> None:
        pass

    @group.command(help="One.\n\n\b\ntwo\nthree\n")
    @click.argument("word")
    @click.option("--flag", help="a\n  b")
    def shown(word: str, flag: str) -> None:
        pass

    @group.command(hidden=True)
    def kept() -> None:
        pass

    assert list(manual._commands(group, "p")) == [
        ("p shown [OPTIONS] WORD", "One.\n\ntwo\nthree", [("--flag TEXT", "a b")])
    ]
