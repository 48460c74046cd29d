"""The command line as a program, against a real server in both dialects; and the examples of docs/orchctl.md."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchd.dialect import DIALECTS
from orchd.testing.processes.daemon import PATIENCE, DaemonProcess
from orchd.testing.processes.ports import free_port
from tests.programs import run_program

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/orchctl.md"
DIALECT_NAMES = list(DIALECTS)


def orchctl(
    *words: str, config: Path | None, status: int = 0, send: str = "", folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The program as a process, with the kubeconfig in the environment."""
    variables = {next(iter(DIALECTS.values()))("{SHORT}CONFIG"): str(config)} if config else {}
    done = run_program("orchd.ctl.main:run", "orchctl", *words, folder=folder, environment=variables, send=send)
    assert done.returncode == status, f"{words}: {done.returncode}: {done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_objects_are_applied_read_and_deleted(server: DaemonProcess, tmp_path: Path) -> None:
    """Objects are applied, printed as tables, watched and deleted; errors are one line."""
    config = server.config_file
    (tmp_path / "m.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: over-wire}\ndata: {a: b}\n")
    words = ("apply", "-f", str(tmp_path / "m.yaml"))
    assert orchctl(*words, config=config).stdout == "configmap/over-wire created\n"
    assert orchctl("get", "cm", "over-wire", config=config).stdout.split()[:3] == ["NAME", "DATA", "AGE"]
    assert "over-wire" in orchctl("get", "cm", "-A", "-o", "yaml", config=config).stdout
    watching = subprocess.Popen(
        [sys.executable, "-m", "orchd.ctl.main", f"--config={config}", "get", "cm", "over-wire", "-w", "-o", "jsonpath={.data.a}{'\\n'}"],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "b\n"
        orchctl("patch", "cm", "over-wire", "-p", '{"data":{"a":"c"}}', config=config)
        assert watching.stdout.readline() == "c\n"
    finally:
        watching.kill()
        watching.wait()
    orchctl("delete", "cm", "over-wire", config=config)
    error = orchctl("get", "cm", "over-wire", config=config, status=1).stderr
    assert error == 'orchctl: configmaps "over-wire" not found\n'


def test_interrupted_watch_has_status_130(server: DaemonProcess) -> None:
    """A watch that is interrupted ends with status 130 and without a message."""
    watching = subprocess.Popen(
        [sys.executable, "-m", "orchd.ctl.main", f"--config={server.config_file}", "get", "ns", "-w"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith("NAME")
        watching.send_signal(signal.SIGINT)
        assert watching.communicate(timeout=PATIENCE)[1] == ""
        assert watching.returncode == 130
    finally:
        watching.kill()
        watching.wait()


def test_scheduling_is_explained(server: DaemonProcess, tmp_path: Path) -> None:
    """The server's scheduler explains the placement of a pod that does not exist yet."""
    (tmp_path / "p.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: nginx}]}\n"
    )
    out = orchctl("explain-scheduling", "-f", str(tmp_path / "p.yaml"), config=server.config_file).stdout
    assert out.startswith("Node:")


def test_unreachable_server_is_explained() -> None:
    """A failed connection, and a missing kubeconfig, say what to check."""
    error = orchctl("get", "pods", f"--server=https://127.0.0.1:{free_port()}", config=None, status=1).stderr
    assert "check --server" in error
    assert len(error.splitlines()) == 1
    assert "no such file" in orchctl("get", "pods", "--config=/no/such/file", config=None, status=1).stderr.lower()


def examples() -> list[tuple[str, str]]:
    """(command line, file) of every example; a file is the YAML block above the first command that needs it."""
    out, file = [], ""
    for language, text in re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        if language == "yaml":
            file = text
        elif language == "sh":
            out += [
                (line.partition("  #")[0].strip(), file) for line in text.splitlines() if line.startswith("orchctl ")
            ]
    return out


def test_documented_commands_run(server: DaemonProcess, tmp_path: Path) -> None:
    """Every command of docs/orchctl.md runs as written, in order."""
    documented = examples()
    assert len(documented) > 20
    for command, file in documented:
        (tmp_path / "web.yaml").write_text(file)
        orchctl(*shlex.split(command)[1:], config=server.config_file, folder=tmp_path)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_works_without_a_server(shell: str) -> None:
    """Completion scripts are printed without a kubeconfig."""
    assert "orchctl" in orchctl("completion", shell, config=None).stdout


def test_full_output_is_one_line_of_error(server: DaemonProcess) -> None:
    """Output that cannot be written is an error of one line, and closed output is exit status 1."""
    command = [sys.executable, "-m", "orchd.ctl.main", f"--config={server.config_file}", "get", "ns"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert (done.returncode, done.stderr) == (1, "orchctl: output: No space left on device\n")
    closed = subprocess.run(
        ["/bin/sh", "-c", '"$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True, env=environment
    )
    assert (closed.returncode, "Traceback" in closed.stderr) == (1, False)
