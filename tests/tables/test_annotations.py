"""Tables refuse columns that contradict each other."""

import numpy as np
import pytest

from openset.findings import InputError
from openset.tables.annotations import Images


def test_image_ids_are_distinct():
    with pytest.raises(InputError, match=r"OS111.*1 image ids occur twice"):
        Images(id=np.array([4, 7, 4]))
    assert len(Images(id=np.array(["a", "b"]))) == 2
