"""What is installed when somebody installs the distribution."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the sources, without the network."""
    for tool in ("pip", "setuptools", "wheel"):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"building a wheel without the network needs {tool} in this environment")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("orchd", "twisted", "conf", "systemd"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "dropin.cache"))
    for name in ("setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md"):
        shutil.copy(ROOT / name, source / name)
    command = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *command], check=True, capture_output=True, text=True, timeout=300)
    (built,) = folder.glob("*.whl")
    return built


def test_a_wheel_holds_the_product_and_nothing_else(wheel: Path) -> None:
    """Every module of the package, the mark that it is typed, the twistd plugin; no tests, no caches."""
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {str(p.relative_to(ROOT)) for p in (ROOT / "orchd").rglob("*.py")}
    assert modules <= names
    assert "orchd/py.typed" in names
    assert {n for n in names if n.startswith("twisted/")} == {"twisted/plugins/orchd_plugin.py"}
    tops = {n.split("/")[0] for n in names if ".dist-info/" not in n}
    assert tops == {"orchd", "twisted"}
    assert not [n for n in names if n.endswith(("dropin.cache", ".pyc"))]


def test_data_files_are_in_the_wheel(wheel: Path) -> None:
    """Whatever the package keeps beside its modules is installed with them."""
    names = set(zipfile.ZipFile(wheel).namelist())
    data = {
        str(p.relative_to(ROOT)) for p in (ROOT / "orchd").rglob("*")
        if p.is_file() and p.suffix != ".py" and "__pycache__" not in p.parts and p.name != "dropin.cache"
    }
    assert data <= names


def test_twistd_finds_the_plugin_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """`twistd orchd --help` works in an environment that has only the wheel and its requirements."""
    place = tmp_path / "env"
    venv.create(place, symlinks=True)
    (packages,) = place.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    # The requirements come from this environment; the .pth files there, one of which may name a checkout, are not read.
    (packages / "requirements.pth").write_text(f"{Path(pytest.__file__).resolve().parents[1]}\n")
    run = "from twisted.scripts.twistd import run; run()"
    done = subprocess.run(
        [place / "bin" / "python", "-c", run, "orchd", "--help"], cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, capture_output=True, text=True, timeout=120, check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "--data-dir" in done.stdout
    where = subprocess.run(
        [place / "bin" / "python", "-c", "import orchd; print(orchd.__file__)"], cwd=tmp_path, capture_output=True, text=True, check=True,
    )
    assert where.stdout.startswith(str(packages))
