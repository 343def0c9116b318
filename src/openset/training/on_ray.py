"""On Ray: the loop of `openset.training.train` in processes that Ray Train starts.

``TorchTrainer`` (Ray Train, 2.51 and later) gives every worker the environment that ``torchrun``
would, a process group included, so that the loop is the same and so are its checkpoints: what one
began the other goes on with. Every process must see the folders, under the same path.

Not elastic, and not tuned: what a training is, its recipe says.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from openset.engines.ray import cluster
from openset.findings import InputError, UsageError, refuse
from openset.nets.processes import Processes
from openset.plugins import check_installed
from openset.training.folder import RunFolder

if TYPE_CHECKING:
    from openset.training.loop import Trained

Train = Callable[[], "Trained"]


def train_on_ray(train: Train, folder: Path, batch: int, workers: int | None) -> Trained:
    """Train in several processes, each on a GPU where there are enough.

    Args:
        train: Trains, or goes on; picklable. Once all is done it is called here, too, where it
            finds nothing left to do.
        folder: Where it keeps the training.
        batch: Images of a batch, which all processes share.
        workers: How many processes; by default one for every GPU.

    Raises:
        InputError: What the training says is wrong, or no Ray that can be reached.
    """
    check_installed("training on Ray", ["ray", "pyarrow", "pandas"])
    began, held = time.perf_counter(), RunFolder(folder).resume(cut_log=False)
    with cluster(workers), TemporaryDirectory(prefix="openset-") as scratch:
        import ray
        from ray.train import RunConfig, ScalingConfig, TrainingFailedError
        from ray.train.torch import TorchTrainer

        gpus = int(ray.cluster_resources().get("GPU", 0))
        count = workers or max(gpus, 1)
        Processes(0, count).share(batch)  # refused here, not in each of them
        trainer = TorchTrainer(
            partial(_train_there, train, Path.cwd()),
            scaling_config=ScalingConfig(num_workers=count, use_gpu=gpus >= count),
            run_config=RunConfig(storage_path=scratch),
        )
        try:
            trainer.fit()
        except TrainingFailedError as error:
            raise _what_is_wrong(error) from error
    resumed, seconds = 0 if held is None else int(held["step"]), time.perf_counter() - began
    return replace(train(), seconds=seconds, resumed=resumed)


def _train_there(train: Train, folder: Path) -> None:
    """Train in one of the processes."""
    os.chdir(folder)  # Ray has changed it
    train()


def _what_is_wrong(error: Exception) -> Exception:
    """What the first process says that says anything to a user; a lost one is a finding."""
    failures: Mapping[int, Exception] = getattr(error, "worker_failures", {})
    for rank in sorted(failures):
        for cause in _causes(failures[rank]):
            if isinstance(cause, (InputError, UsageError)):
                return cause
    said = str(error).strip().rpartition("\n")[2][:200]
    return refuse("OS367", f"the training on Ray failed: {said}", count=len(failures))


def _causes(error: Any) -> Iterator[BaseException]:
    """An exception, and what Ray has wrapped in it."""
    while isinstance(error, BaseException):
        yield error
        error = getattr(error, "_base_exc", None) or getattr(error, "cause", None)
