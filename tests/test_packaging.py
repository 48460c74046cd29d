"""The contents of the installed distribution."""

from __future__ import annotations

import configparser
import email
import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from twisted.plugin import pluginPackagePaths

from orchd.testing.processes.daemon import PATIENCE

ROOT = Path(__file__).resolve().parents[1]


def copy_sources(source: Path) -> None:
    """Copy what a build needs, without the output of other builds."""
    for tool in ("pip", "setuptools", "wheel"):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"building a wheel without the network needs {tool} in this environment")
    source.mkdir()
    for name in ("orchd", "twisted", "conf", "contrib", "systemd"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "dropin.cache"))
    for name in ("setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)


BUILD = """
import os, sys
_, out, umask = sys.argv  # the backend writes its own
os.umask(int(umask, 8))
sys.path.insert(0, "contrib/backend")
import reproducible
reproducible.build_sdist(out)
reproducible.build_wheel(out)
"""


def build(folder: Path, umask: str, mtime: int) -> Path:
    """Build the sdist and the wheel, without the network, from a copy of the sources with this time and umask; returns
    their folder."""
    source, out = folder / "source", folder / "out"
    copy_sources(source)
    out.mkdir()
    for path in source.rglob("*"):
        os.utime(path, (mtime, mtime))
        if path.is_file():
            path.chmod(0o666 & ~int(umask, 8))
    subprocess.run(
        [sys.executable, "-c", BUILD, str(out), umask],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    return out


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel."""
    return build(tmp_path_factory.mktemp("distributions"), "022", 1_600_000_000)


@pytest.fixture(scope="module")
def wheel(distributions: Path) -> Path:
    (built,) = distributions.glob("*.whl")
    return built


def test_wheel_holds_only_the_package(wheel: Path) -> None:
    """The wheel has every module of the package, py.typed and the twistd plugin, but no tests and no caches."""
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {str(p.relative_to(ROOT)) for p in (ROOT / "orchd").rglob("*.py")}
    assert modules <= names
    assert "orchd/py.typed" in names
    assert {n for n in names if n.startswith("twisted/")} == {"twisted/plugins/orchd_plugin.py"}
    tops = {n.split("/")[0] for n in names if ".dist-info/" not in n}
    assert tops == {"orchd", "twisted"}
    assert not [n for n in names if n.endswith(("dropin.cache", ".pyc"))]


def test_data_files_are_in_the_wheel(wheel: Path) -> None:
    """All data files beside the modules are in the wheel."""
    names = set(zipfile.ZipFile(wheel).namelist())
    data = {
        str(p.relative_to(ROOT))
        for p in (ROOT / "orchd").rglob("*")
        if p.is_file() and p.suffix != ".py" and "__pycache__" not in p.parts and p.name != "dropin.cache"
    }
    assert data <= names


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, its programs and its requirements."""
    place = tmp_path_factory.mktemp("environment") / "env"
    venv.create(place, symlinks=True)
    (packages,) = place.glob("lib/python*/site-packages")
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(place / "bin" / "python"),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True, text=True, timeout=PATIENCE)
    # The requirements come from this environment; its .pth files are not read, since one may point to a checkout.
    (packages / "requirements.pth").write_text(f"{Path(pytest.__file__).resolve().parents[1]}\n")
    return place


def run_in(environment: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the environment in a folder outside the checkout."""
    return subprocess.run(
        [environment / "bin" / command[0], *command[1:]],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


TWISTD = ("python", "-c", "from twisted.scripts.twistd import run; run()")


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        ((*TWISTD, "orchd"), "--data-dir"),
        (("orchd",), "--data-dir"),
        (("python", "-m", "orchd"), "--data-dir"),
        (("orch-controller-manager",), "--concurrent-gc-syncs"),
        (("orch-scheduler",), "--config"),
        (("orchd-store",), "backup"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0] + value[-1],
)
def test_installed_programs_work(environment: Path, tmp_path: Path, command: tuple[str, ...], flag: str) -> None:
    """Each program of the distribution prints its usage in an environment with the wheel and its requirements only."""
    done = run_in(environment, tmp_path, *command, "--help")
    assert done.returncode == 0, done.stderr
    assert flag in done.stdout


def test_installed_package_is_the_wheels(environment: Path, tmp_path: Path) -> None:
    """Programs of the environment run the installed package, not a checkout."""
    where = run_in(environment, tmp_path, "python", "-c", "import orchd; print(orchd.__file__)")
    assert where.stdout.startswith(str(environment))


def test_usage_may_be_cut_short(environment: Path, tmp_path: Path) -> None:
    """A program whose usage is not read to the end exits without a traceback."""
    unread, out = os.pipe()
    os.close(unread)
    try:
        done = subprocess.run(
            [environment / "bin" / "orchd", "--help"], cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, text=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
    finally:
        os.close(out)
    assert (done.returncode, done.stderr) == (1, "")


def test_unknown_flag_is_named(environment: Path, tmp_path: Path) -> None:
    """An unknown flag ends a program with status 1 and one line."""
    done = run_in(environment, tmp_path, "orchd", "--data-dri=x")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "--data-dir" in done.stderr


def test_extras_are_declared(wheel: Path) -> None:
    """`pip install 'orchd[NAME]'` knows each extra of setup.cfg and its requirements."""
    declared = configparser.ConfigParser(comment_prefixes="#")
    declared.read(ROOT / "setup.cfg", encoding="utf-8")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    extras = declared["options.extras_require"]
    assert set(metadata.get_all("Provides-Extra", [])) == set(extras)
    required = metadata.get_all("Requires-Dist", [])
    for extra, text in extras.items():
        brought = [line for line in required if line.endswith(f'extra == "{extra}"')]
        assert len(brought) == len(text.strip().splitlines()), extra


def test_builds_are_reproducible(distributions: Path, tmp_path: Path) -> None:
    """With SOURCE_DATE_EPOCH the wheel and the sdist are reproducible, whatever times and modes the sources have."""
    again = build(tmp_path, "077", 1_650_000_001)
    assert {path.suffix for path in distributions.iterdir()} == {".gz", ".whl"}
    one, two = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in (distributions, again))
    assert one == two, [name for name in one if one[name] != two.get(name)]


def test_documented_layout_of_a_drop_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The project file of docs/extending/drop-ins.md names the folder of the page's tree in which Twisted finds
    plugins."""
    page = (ROOT / "docs/extending/drop-ins.md").read_text(encoding="utf-8")
    config = tomllib.loads(page.split("```toml\n")[1].split("```")[0])
    (where,) = config["tool"]["setuptools"]["packages"]["find"]["where"]
    plugins = tmp_path / where / "orchd/plugins"
    plugins.mkdir(parents=True)
    assert f"{where}/orchd/plugins/reports.py" in page
    monkeypatch.syspath_prepend(str(tmp_path / where))
    assert str(plugins) in pluginPackagePaths("orchd.plugins")


def test_changelog_accepts_every_fragment() -> None:
    """towncrier accepts each news fragment and has a heading for its type."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        config = tomllib.load(file)["tool"]["towncrier"]
    types = {kind["directory"] for kind in config["type"]}
    assert (ROOT / config["template"]).is_file()
    fragments = [path for path in (ROOT / config["directory"]).glob("*.md") if path.name != "README.md"]
    assert {path.suffixes[-2].removeprefix(".") for path in fragments} <= types
    towncrier = shutil.which("towncrier", path=str(Path(sys.executable).parent))
    if towncrier is None:
        pytest.skip("towncrier is not installed: pip install 'orchd[docs]'")
    done = subprocess.run(
        [towncrier, "build", "--draft", "--version", "0.0.0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert done.stdout.count("\n- ") >= len(fragments)
