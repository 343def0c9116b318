"""Tables refuse columns that contradict each other."""

import numpy as np
import pytest

from openset.findings import InputError, UsageError
from openset.tables.annotations import Annotations, Images


def test_image_ids_are_distinct():
    with pytest.raises(InputError, match=r"OS111.*1 image ids occur twice"):
        Images(id=np.array([4, 7, 4]))
    assert len(Images(id=np.array(["a", "b"]))) == 2


@pytest.mark.parametrize("name", ["role", "supercategory"])
def test_what_labels_have_is_as_long_as_they_are(name):
    images = Images(np.array([1]))
    with pytest.raises(UsageError, match=f"{name} must have one entry per label"):
        Annotations(images, ("dog", "cat"), [0], [0], [[0, 0, 4, 4]], **{name: ("known",)})
