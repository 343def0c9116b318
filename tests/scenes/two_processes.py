"""A test file that is a program, too: two processes of it, under torchrun, write what they find.

The program ends its ``main`` with ``write_found``; the test reads both with `found_by_two`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone")


def found_by_two(program: str, folder: Path) -> list[Any]:
    """What each of two processes of a program found."""
    command = [sys.executable, *TORCHRUN, program, str(folder)]
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


def write_found(find: Callable[[int], Any]) -> None:
    """Find something in this process, by its number, and write it where the test looks."""
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    Path(sys.argv[1], f"{rank}.json").write_text(json.dumps(find(rank)))
    distributed.destroy_process_group()
