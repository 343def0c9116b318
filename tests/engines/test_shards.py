"""Shards: every part is of one share, and schedulers say which."""

from __future__ import annotations

import pytest

from openset.engines import Shard
from openset.findings import UsageError


def test_shares_are_all_parts_and_none_twice():
    numbers = [0, 1, 2, 4, 5, 7, 8, 9]
    shares = [Shard.of(f"{one}/3", {}).mine(numbers) for one in (1, 2, 3)]
    assert sorted(number for share in shares for number in share) == numbers
    assert shares[0] == [0, 9]


SLURM = {"SLURM_ARRAY_TASK_ID": "12", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_MIN": "10"}


@pytest.mark.parametrize(
    ("text", "environment", "shard"),
    [
        ("1/1", {}, Shard(0, 1)),
        ("auto", SLURM, Shard(2, 4)),
        ("auto/9", SLURM, Shard(2, 9)),
        ("auto/16", {"JOB_COMPLETION_INDEX": "15"}, Shard(15, 16)),
    ],
)
def test_what_is_typed_and_what_schedulers_say(text, environment, shard):
    assert Shard.of(text, environment) == shard


@pytest.mark.parametrize(
    ("text", "environment", "words"),
    [
        ("0/4", {}, "no shard 0 of 4: they are 1/4 to 4/4"),
        ("5/4", {}, "no shard 5 of 4"),
        ("third", {}, "3/16"),
        ("-1/4", {}, "3/16"),
        ("auto", {}, "none is set"),
        ("auto", {"JOB_COMPLETION_INDEX": "3"}, "auto/N"),
        ("auto", {"SLURM_ARRAY_TASK_ID": "3"}, "SLURM_ARRAY_TASK_COUNT"),
        ("auto", SLURM | {"SLURM_ARRAY_TASK_ID": "x"}, "no shard"),
        ("auto/3", {"JOB_COMPLETION_INDEX": "3"}, "no shard 4 of 3"),
    ],
)
def test_what_cannot_be_meant_is_refused(text, environment, words):
    with pytest.raises(UsageError, match=words):
        Shard.of(text, environment)
