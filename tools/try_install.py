"""Install what `make dist` has made as a stranger would, and run `openset demo`.

``python tools/try_install.py dist``: each archive gets a bare virtual environment, in a folder
outside of this one that is removed afterwards: nothing of the sources is imported by accident.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

MOST_PACKAGES = 25  # that the core may bring, itself among them
LEAST_BYTES = 500_000  # of a report that has its charts and pictures


def main(folder: Path) -> None:
    """Try all archives of a folder; the first that fails ends it."""
    archives = sorted(folder.resolve().glob("openset-*"))
    if {archive.suffix for archive in archives} != {".gz", ".whl"}:
        raise SystemExit(f"{folder} should have a wheel and a source archive")
    for archive in archives:
        with tempfile.TemporaryDirectory() as empty:
            print(archive.name, "…", flush=True)
            print(" ", tried(archive, Path(empty)))


def tried(archive: Path, folder: Path) -> str:
    """Install an archive, run the demo; what came of it, in words."""
    venv.create(folder / "bare", with_pip=True)
    programs = folder / "bare" / ("Scripts" if os.name == "nt" else "bin")
    python, before = str(programs / "python"), packages(programs)
    called([python, "-m", "pip", "install", "--quiet", str(archive)], folder)
    brought = packages(programs) - before
    if len(brought) > MOST_PACKAGES:
        raise SystemExit(f"{len(brought)} packages are too many: {', '.join(sorted(brought))}")
    called([str(programs / "openset"), "demo", "-o", "demo"], folder)
    page = folder / "demo" / "run" / "report.html"
    if page.stat().st_size < LEAST_BYTES:
        raise SystemExit(f"{page.name} has only {page.stat().st_size} bytes")
    return f"{len(brought)} packages; openset demo wrote {page.stat().st_size:,} bytes of report"


def packages(programs: Path) -> set[str]:
    """Names of what is installed in an environment."""
    listed = called([str(programs / "python"), "-m", "pip", "list", "--format=json"], programs)
    return {package["name"] for package in json.loads(listed)}


def called(command: list[str], folder: Path) -> str:
    """What a command prints; one that fails ends everything, with what it said."""
    free = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(  # noqa: S603 - our own words
        command, cwd=folder, env=free, capture_output=True, encoding="utf-8", errors="replace"
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
