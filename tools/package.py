"""Build the source archive and the wheel, and see that both are what others can trust.

    make package                              # everything below, into dist/
    python tools/package.py --only built      # without the environments: a minute

The archives are built, checked (`twine check --strict`) and compared file by file with the repository. The
wheel is installed into a clean environment without extras, and into one more for each extra; each runs
`tools/outside/smoke.py` in a folder outside of the repository. mypy and pyright read the types of the
installed package from there too.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from environments import (
    BUILD,
    CONSTRAINTS,
    EXTRAS_FOR_USERS,
    PROJECT,
    ROOT,
    TOOL_PINS,
    Environment,
    new_environment,
    run,
)

DIST = ROOT / "dist"
OUTSIDE = ROOT / "tools" / "outside"


@dataclass(frozen=True)
class Archives:
    """The two files that are published.

    Attributes:
        source: The source archive.
        wheel: What pip installs.
    """

    source: Path
    wheel: Path


def build(tools: Environment) -> Archives:
    """Build the source archive, and the wheel from it, so that the archive is known to be whole."""
    shutil.rmtree(DIST, ignore_errors=True)
    # A list of files that an older build left would be taken for what belongs in.
    for stale in (ROOT / "src").glob("*.egg-info"):
        shutil.rmtree(stale)
    # setuptools, in the environment that the build makes for itself, is the pinned one.
    pinned = {"PIP_CONSTRAINT": str(CONSTRAINTS)}
    run([tools.python, "-m", "build", "--outdir", DIST, ROOT], env=pinned)
    (source,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    run([tools.python, "-m", "twine", "check", "--strict", source, wheel])
    return Archives(source, wheel)


def tracked() -> set[str]:
    """Every file of the repository that is there."""
    names = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]).split("\0")
    return {name for name in names if name and (ROOT / name).is_file()}


def wrong_in_wheel(held: set[str], files: set[str]) -> list[str]:
    """How the files of a wheel differ from the package and its description.

    Args:
        held: Paths in the wheel.
        files: Paths in the repository.
    """
    package = {name.removeprefix("src/") for name in files if name.startswith("src/edgeflip/")}
    ours = {name for name in held if not PurePosixPath(name).parts[0].endswith(".dist-info")}
    missing = [f"the wheel lacks {name}" for name in sorted(package - ours)]
    return missing + [f"the wheel has {name}" for name in sorted(ours - package)]


def wrong_in_source(held: set[str], files: set[str]) -> list[str]:
    """How the files of a source archive differ from the repository.

    Args:
        held: Paths in the archive, from its top folder on.
        files: Paths in the repository.
    """
    # What setuptools writes itself.
    made = {"PKG-INFO", "setup.cfg"}
    ours = {name for name in held - made if ".egg-info/" not in name}
    missing = [f"the source archive lacks {name}" for name in sorted(files - ours)]
    return missing + [f"the source archive has {name}" for name in sorted(ours - files)]


def check_contents(archives: Archives) -> None:
    """Compare both archives with the repository.

    Raises:
        SystemExit: Naming every file too many and too few.
    """
    with zipfile.ZipFile(archives.wheel) as wheel:
        in_wheel = {name for name in wheel.namelist() if not name.endswith("/")}
    with tarfile.open(archives.source) as source:
        in_source = {
            member.name.partition("/")[2] for member in source.getmembers() if member.isfile()
        }
    files = tracked()
    wrong = wrong_in_wheel(in_wheel, files) + wrong_in_source(in_source, files)
    if wrong:
        raise SystemExit("\n".join(wrong))
    print(f"{archives.wheel.name}: {len(in_wheel)} files; {archives.source.name}: {len(in_source)}")


def outside(environment: Environment, *command: str | Path) -> str:
    """What a command prints in an empty folder, where only the installed package can be found."""
    with tempfile.TemporaryDirectory() as folder:
        for script in OUTSIDE.glob("*.py"):
            shutil.copy(script, folder)
        # Data sets of this machine would be another start than that of others.
        return run(command, cwd=Path(folder), env={"EDGEFLIP_DATA": ""}).strip()


def check_installed(wheel: Path, python: str) -> Environment:
    """Install the wheel without extras and with each of them, and use what is there.

    Returns:
        The environment without extras.
    """
    plain = new_environment("package/plain", python=python)
    plain.install(wheel, constraints=CONSTRAINTS)
    print(f"without extras: {outside(plain, plain.python, 'smoke.py')}")
    for extra in EXTRAS_FOR_USERS:
        # A copy saves the minute that torch takes; pip sees what a clean install would leave.
        extended = plain.copied(BUILD / "package" / extra)
        wanted = f"{wheel}[{extra}]"
        extended.install("--force-reinstall", "--no-deps", wheel)
        extended.install(wanted, constraints=CONSTRAINTS)
        print(f"{extra}: {outside(extended, extended.python, 'smoke.py', extra)}")
        shutil.rmtree(extended.folder)
    return plain


def check_types(tools: Environment, installed: Environment) -> None:
    """Let mypy and pyright read the installed package's types from another project."""
    place = ["--python-executable", str(installed.python)]
    said = outside(tools, tools.python, "-m", "mypy", "--strict", *place, "typed.py")
    print(f"mypy --strict: {said.splitlines()[-1]}")
    place = ["--pythonpath", str(installed.python)]
    said = outside(tools, tools.command("pyright"), *place, "typed.py")
    print(f"pyright: {said.splitlines()[-1]}")


def main(argv: Sequence[str] | None = None) -> None:
    """Build and check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=["built"], help="build and compare; install nothing")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the environments")
    arguments = parser.parse_args(argv)
    tools = new_environment("package/tools", python=arguments.python)
    tools.install("-r", TOOL_PINS, constraints=CONSTRAINTS)
    archives = build(tools)
    check_contents(archives)
    if arguments.only is None:
        installed = check_installed(archives.wheel, arguments.python)
        check_types(tools, installed)
    print(f"{PROJECT['name']} {PROJECT['version']} is in {DIST.name}/")


if __name__ == "__main__":
    main()
