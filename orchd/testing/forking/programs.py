"""Programs as forks of the fork server, which has already imported them: the fork server's side.

A supervisor, itself a fork, forks the program, and reports its process id and finally its status through the channel.
The program gets what a new process would get: arguments, environment, folder, limits, standard streams and signals, and
no other descriptors.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import random
import resource
import signal
import socket
import sys
import threading
import time
from importlib import import_module
from typing import Any

from twisted.plugin import pluginPackagePaths

from orchd.testing.forking.lifetime import die_with_parent

#: Packages to which every folder of the path may add modules.
_SPREAD = ("twisted.plugins", "orchd.plugins")
#: What an entry point imports when it runs.
_IMPORTED_LATER = {
    "twisted.scripts.twistd:run": ("orchd.assembly.scheduler", "orchd.component_tap", "orchd.tap"),
    "orchd.ctl.main:run": (
        "orchd.ctl.program",
        "orchd.ctl.cluster.connection",
        "orchd.ctl.commands.get",
        "orchd.ctl.commands.apply.apply",
    ),
    "orchd.storecommands:main": ("orchd.store.etcd.copying",),
}


def prepare(entry: str) -> None:
    """Import what an entry point needs, before programs of it are forked."""
    for name in ("twisted.internet.default", entry.partition(":")[0], *_IMPORTED_LATER.get(entry, ())):
        import_module(name)
    # Processes that share a reactor would share its descriptors.
    assert "twisted.internet.reactor" not in sys.modules
    # What was imported stays; looking at it in every collection of every program would copy its pages.
    gc.freeze()


def supervise(message: Any, descriptor: int) -> None:
    """Run the program of `message` (see `ForkedProcess`), and report on it until it has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    parent = os.getpid()
    child = os.fork()
    if not child:
        status = 1
        try:
            die_with_parent(parent)
            status = _run(message)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            _flush()
            os._exit(status)
    with socket.socket(fileno=descriptor) as channel:
        channel.sendall(json.dumps({"pid": child}).encode() + b"\n")
        _, status = os.waitpid(child, 0)
        channel.sendall(json.dumps({"status": os.waitstatus_to_exitcode(status)}).encode() + b"\n")


def _run(message: Any) -> int:
    """The status of the program, which has run to its end with everything that happens at the end of an interpreter."""
    _become(message)
    module, _, function = message["entry"].partition(":")
    try:
        # As installed scripts do.
        status = _status(getattr(import_module(module), function)())
    except SystemExit as end:
        status = _status(end.code)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    return status


def _become(message: Any) -> None:
    for name, (soft, hard) in message["limits"].items():
        resource.setrlimit(getattr(resource, name), (soft, hard))
    os.chdir(message["folder"])
    before = os.environ.get("PYTHONPATH", "")
    os.environ.clear()
    os.environ.update(message["environment"])
    _change_path(before, os.environ.get("PYTHONPATH", ""))
    time.tzset()
    sys.argv = message["arguments"]
    flags = (os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT | os.O_APPEND] * 2)
    for number, (path, flag) in enumerate(zip(message["streams"], flags, strict=True)):
        os.dup2(os.open(path, flag, 0o666), number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    gc.enable()


def _change_path(before: str, after: str) -> None:
    """Have modules found as with the PYTHONPATH `after`, in a process that was started with `before`; what is imported
    already stays. Packages that are spread over the path, such as those of plugins, are extended."""
    if before == after:
        return
    old = {os.path.abspath(part) for part in before.split(os.pathsep) if part}
    new = [os.path.abspath(part) for part in after.split(os.pathsep) if part]
    sys.path[:] = list(dict.fromkeys((*new, *(part for part in sys.path if part not in old))))
    for name in _SPREAD:
        package = import_module(name)
        package.__path__.extend(part for part in pluginPackagePaths(name) if part not in package.__path__)


def _status(code: object) -> int:
    """The exit status for the argument of SystemExit, as the interpreter has it."""
    if code is None or isinstance(code, int):
        return code or 0
    sys.stderr.write(f"{code}\n")
    return 1


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # The reader may have closed its end.
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
