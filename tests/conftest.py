"""What tests of several folders ask for."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

from scenes.command_line import Done, steady

# Some virtual machines name AMX among the processor's abilities and stop whoever uses it; and the
# same kernels everywhere give the same last digits. Read by torch when it first computes.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# Property tests draw the same examples everywhere, and a busy machine fails none of them.
settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def one_torch_thread():
    """One thread of torch: tests run beside each other, and bits do not depend on the machine."""
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def ray_here():
    """A Ray of two cores for all tests: each start takes seconds."""
    import ray

    places = {"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}}
    ray.init(
        num_cpus=2,
        num_gpus=0,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env=places,  # tests are not a package that workers could import
    )
    yield
    ray.shutdown()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory, 80 columns wide, without settings of the user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.fixture
def openset(here, capsys, monkeypatch):
    """Runs ``openset ...`` in that directory, in this process."""
    from openset.cli import main

    def run(*arguments, name="openset"):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        capsys.readouterr()
        code = main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        command = f"openset {' '.join(map(str, arguments))}"
        return Done(command, code, steady(out, here), steady(err, here))

    return run


@pytest.fixture(scope="module")
def made():
    """A run of two detectors, for tests of what is said and drawn of it."""
    from scenes.report_runs import run

    return run(3, images=60)


@pytest.fixture(scope="module")
def models(made):
    """Its detectors at their operating points."""
    from openset.diagnosis.deployed import deployed

    return deployed(made)
