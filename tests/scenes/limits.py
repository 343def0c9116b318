"""Children that may use only so much of something: a full disk, little memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

# The child sets its own limit and then becomes the command: a function between fork and exec
# (`preexec_fn`) runs in a copy of a process with threads, where any lock may be held for ever.
_LIMITED = """
import os, resource, sys
name, most, *line = sys.argv[1:]
resource.setrlimit(getattr(resource, name), (int(most), int(most)))
os.execv(line[0], line)
"""


def limited(
    name: str, most: int, arguments: Sequence[object], env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[Any]:
    """Run Python with these arguments under a limit of `resource`, such as ``RLIMIT_FSIZE``."""
    line = [sys.executable, "-c", _LIMITED, name, most, sys.executable, *arguments]
    return subprocess.run(
        [str(word) for word in line], capture_output=True, text=True, check=False, env=env
    )
