"""The program: command groups, the client, and errors as one line on standard error.

Exit status: 0 on success, 1 on failure (2 for ``diff``, whose 1 means that there are differences), 130 when
interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Sequence

import click

from orchd.ctl.cluster.session import Session, Work
from orchd.ctl.command import Group
from orchd.ctl.errors import CommandError, explain_api_error
from orchd.ctl.printing import output
from orchd.dialect import COMMAND_LINE
from orchd.errors import ApiError

_INTERRUPTED = 130
#: The verbosity that prints the place of an unforeseen error.
_ALL = 8


@click.group(cls=Group, name=COMMAND_LINE, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Control a cluster: read, change and watch the objects of its API, in either dialect."""


def main(arguments: Sequence[str] | None = None, session: Session | None = None) -> int:
    """Run one command; the exit status."""
    if sys.stdout is None:
        return 1  # closed by the caller: there is nowhere to print
    session = session or Session(_connect, os.environ, _edit)
    try:
        status = cli.main(args=arguments, prog_name=COMMAND_LINE, standalone_mode=False, obj=session)
    except click.Abort:
        return _INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        if error.ctx is None or error.ctx.parent is None:
            return 0
        return _fail(f"which command? See {error.ctx.command_path} --help")
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else COMMAND_LINE
        return _fail(f"{error.format_message().rstrip('.')}: see {where} --help")
    except click.ClickException as error:
        return _fail(error.format_message())
    except CommandError as error:
        return _fail(*error.messages, status=error.status)
    except ApiError as error:
        return _fail(explain_api_error(error))
    except BrokenPipeError:
        # The reader of the output has ended; nothing more can be written, not even when Python closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        # Standard output may be full; what it still holds is dropped.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _fail(f"{error.filename or 'output'}: {error.strerror or error}")
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        return _fail_unexpectedly(error, session)
    return status if isinstance(status, int) else 0


def _fail_unexpectedly(error: Exception, session: Session) -> int:
    """Print an unexpected exception in one line, with -v=8 its traceback."""
    if session.flags.verbosity >= _ALL:
        traceback.print_exception(error)
    return _fail(
        f"unexpected response of the server, or a fault of this program: {type(error).__name__}: "
        f"{str(error)[:200]}: see it with -v=8"
    )


def _fail(*messages: str, status: int = 1) -> int:
    for each in messages:
        output.note(f"{COMMAND_LINE}: {' '.join(each.split())}")
    return status


def _connect(session: Session, work: Work) -> object:
    # It imports the reactor and the client, which commands without a server do not need.
    from orchd.ctl.cluster.connection import connect

    # `orchd.ctl.main` imports without collecting garbage. What was imported stays for good.
    gc.freeze()
    gc.enable()
    return connect(session, work)


def _edit(text: str) -> str | None:
    return click.edit(text, extension=".yaml")
