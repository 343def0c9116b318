from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


@pytest.fixture
def official():
    """The folder with official files, for tests that compare with published numbers."""
    folder = os.environ.get("OPENSET_DATA")
    if not folder:
        pytest.skip("OPENSET_DATA is not set: official annotation files are not in the repository")
    return Path(folder)


@pytest.fixture
def openset(tmp_path, capsys, monkeypatch):
    """Runs ``openset ...`` in an empty directory; gives exit code, stdout and stderr."""
    from openset.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["openset", *map(str, arguments)])
        capsys.readouterr()
        code = main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run
