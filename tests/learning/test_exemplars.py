"""Exemplar lists: drawn by a rule or given, read back from a file, and audited."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.benchmarks.pool import image_names
from openset.findings import InputError, UsageError
from openset.learning.exemplars import Exemplars, Lists
from openset.learning.stages import bundle_of, of_kind, stages_of
from openset.tables import Detections
from scenes.learning import make_world


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return bundle_of(make_world(tmp_path_factory.mktemp("world") / "world", tasks=3))


def lists(bundle, out, rule="published", **changes):
    how = Exemplars(rule, 3, **changes).settled(stages_of(bundle))
    return Lists(how, out, bundle, how.of(stages_of(bundle)))


def perfect(stage):
    """A model that finds every object, the surer the later it stands in the table."""
    table, n = stage.table, len(stage.table)
    score = np.linspace(0.1, 0.9, n)
    image = table.images.id[table.image]
    return Detections(image, table.label.astype(np.int64), table.box, score, table.labels)


def waiting(held, task):
    return next(one for one in held.stages if one.finetune and one.task == task)


def codes(call):
    with pytest.raises(InputError) as error:
        call()
    return {finding.code: finding for finding in error.value.findings}


def test_the_benchmarks_own_splits_come_first(bundle, tmp_path):
    assert Exemplars().settled(stages_of(bundle)).rule == "splits"
    parts = tuple(part for part in bundle.parts if part.kind != "finetune")
    bare = replace(bundle, parts=parts)
    assert Exemplars().settled(stages_of(bare)).rule == "published"
    with pytest.raises(UsageError, match="task 2, 3"):
        Exemplars("splits").settled(stages_of(bare))


def test_a_list_is_a_file_that_decides(bundle, tmp_path):
    held = lists(bundle, tmp_path)
    stage, said = held.filled(waiting(held, 2), perfect)
    names = (tmp_path / "exemplars-t2.txt").read_text().split()
    assert sorted(names) == sorted(image_names(stage.table)) and not said
    (tmp_path / "exemplars-t2.txt").write_text("\n".join([*names[:2], names[0]]))
    again, _ = held.filled(waiting(held, 2), perfect)
    assert sorted(image_names(again.table)) == sorted(names[:2])


def test_published_lists_show_every_class_and_are_drawn_anew(bundle, tmp_path):
    held = lists(bundle, tmp_path)
    second, third = (held.filled(waiting(held, task), perfect)[0].table for task in (2, 3))
    for table in (second, third):
        assert np.bincount(table.label, minlength=len(table.labels)).min() >= 3
    assert not set(second.images.id.tolist()) <= set(third.images.id.tolist())
    other = lists(bundle, tmp_path / "other", seed=1)
    drawn = other.filled(waiting(other, 2), perfect)[0].table
    assert set(drawn.images.id.tolist()) != set(second.images.id.tolist())


def test_scored_lists_add_up(bundle, tmp_path):
    held = lists(bundle, tmp_path, "scored")
    second, third = (held.filled(waiting(held, task), perfect)[0].table for task in (2, 3))
    assert set(second.images.id.tolist()) < set(third.images.id.tolist())


def test_images_that_are_not_there_or_tested_are_refused_at_once(bundle, tmp_path):
    test = image_names(of_kind(bundle, "test", 1).table)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "exemplars-t2.txt").write_text(f"nowhere\n{test[0]}\n{test[1]}\n")
    (mine / "exemplars-t3.txt").write_text("elsewhere.png\n")
    found = codes(lists(bundle, tmp_path, folder=mine).check)
    assert set(found) == {"OS665", "OS666"}
    assert found["OS666"].count == 2 and found["OS666"].example == test[0]


def test_images_of_a_later_task_are_not_there_yet(bundle, tmp_path):
    later = image_names(next(s for s in stages_of(bundle) if s.name == "t3").table)
    held = lists(bundle, tmp_path)
    (tmp_path / "exemplars-t2.txt").write_text(f"{later[0]}\n")
    assert set(codes(held.check)) == {"OS665"}
    (tmp_path / "exemplars-t2.txt").rename(tmp_path / "exemplars-t3.txt")
    held.check()


def test_a_folder_must_have_every_list(bundle, tmp_path):
    assert set(codes(lists(bundle, tmp_path, folder=tmp_path).check)) == {"OS101"}


def test_classes_that_no_exemplar_shows_are_named(bundle, tmp_path):
    held = lists(bundle, tmp_path)
    first = image_names(held.stages[0].table)
    (tmp_path / "exemplars-t2.txt").write_text("\n".join(first))
    (said,) = held.filled(waiting(held, 2), perfect)[1]
    assert (said.code, said.count, said.example) == ("OS668", 2, "two")
