"""Servers that are forked from a process with the imports behave as new processes."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchd.testing.forking.lifetime import is_running
from orchd.testing.processes.daemon import DaemonProcess
from tests.waiting import until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="servers are forked on Linux only")


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    try:
        with DaemonProcess(
            tmp_path_factory.mktemp("forked"), "--controllers=-*", environment={"TZ": "Asia/Tokyo"}
        ) as process:
            yield process
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert process.status == 0


def test_program_inherits_limits_folder_and_environment(forked: DaemonProcess) -> None:
    """Limits, folder and environment are the test's at the start of the server."""
    limits = Path(f"/proc/{forked.pid}/limits").read_text()
    assert f"Max open files            {resource.getrlimit(resource.RLIMIT_NOFILE)[0]} " in limits
    assert Path(f"/proc/{forked.pid}/cwd").resolve() == forked.folder.resolve()
    # Twisted logs local times.
    assert re.search(r"\+0900 \[", forked.log)


@pytest.mark.parametrize("fresh", [True, False])
def test_pythonpath_of_the_environment_is_searched(fresh: bool, tmp_path: Path) -> None:
    """PYTHONPATH of the environment is searched for modules, including drop-in plugins."""
    folder = tmp_path / "plug ins"
    module = folder / "orchd" / "plugins" / "shout.py"
    module.parent.mkdir(parents=True)
    module.write_text(f"import sys\nprint('drop-in of', sys.path.count({str(folder)!r}))\n")
    with DaemonProcess(tmp_path, "--controllers=-*", environment={"PYTHONPATH": str(folder)}, fresh=fresh) as process:
        assert "drop-in of 1" in process.log


def test_program_has_no_foreign_descriptors(forked: DaemonProcess) -> None:
    """Standard input is empty, output goes to the log, and no descriptor of another process is open."""
    folder = Path(f"/proc/{forked.pid}/fd")
    links = {int(each.name): os.readlink(each) for each in folder.iterdir()}
    assert (links[0], links[1], links[2]) == (os.devnull, str(forked.log_file), str(forked.log_file))
    assert not [link for number, link in links.items() if number > 2 and ("pidfd" in link or link.endswith("/log"))]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_act_as_on_a_new_process(number: signal.Signals, tmp_path: Path) -> None:
    """Signals have their default effect, and the exit status shows them."""
    seen = set()
    for fresh in (True, False):
        server = DaemonProcess(tmp_path / str(fresh), "--controllers=-*", fresh=fresh).start()
        os.kill(server.pid, number)
        seen.add(server.wait())
    assert len(seen) == 1, seen


@pytest.mark.parametrize("flag", ["--no-such-flag=1", "--token-auth-file=/nowhere", "--help"])
def test_output_and_status_equal_those_of_a_new_process(flag: str, tmp_path: Path) -> None:
    """A program that ends by itself has the output and status of a new process."""
    seen = []
    for fresh in (True, False):
        server = DaemonProcess(tmp_path, flag, fresh=fresh, port=1)
        server.launch()
        seen.append((server.wait(), server.log))
        server.log_file.unlink()
    (new_status, new), (forked_status, forked) = seen
    # twistd begins its help with the name of the program, which is "-c" there.
    assert (forked_status, forked.replace("twistd", "-c")) == (new_status, new.replace("twistd", "-c"))


def test_server_ends_with_the_test_run(tmp_path: Path) -> None:
    """A server ends with the process that started it, however that ends."""
    program = (
        "import sys; from pathlib import Path; from orchd.testing.processes.daemon import DaemonProcess\n"
        f"server = DaemonProcess(Path({str(tmp_path)!r}), '--controllers=-*'); server.launch()\n"
        "print(server.pid, flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert is_running(pid)
        process.kill()
    until(lambda: not is_running(pid), "the server goes on")
