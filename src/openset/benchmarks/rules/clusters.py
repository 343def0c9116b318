"""Clusters: classes that occur together, found by a normalised cut of the co-occurrence graph.

Two labels are as close as the number of images that hold both; spectral clustering (Shi and Malik,
PAMI 2000) cuts that graph into groups. It is how OSOD-III (Hosoya et al., 2024) split the traffic
signs of MTSD: the largest group is known, the others are unknown, and training images then hold few
unknown signs. The published lists stay authoritative: a cut may differ between versions of
scikit-learn, which is an extra (``openset[clusters]``).
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from openset.benchmarks.pool import Universe
from openset.benchmarks.rules import class_rule
from openset.findings import UsageError
from openset.plugins import check_installed, lookup
from openset.tables import Annotations


class Cluster(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which group of a cut.

    Attributes:
        source: The source whose images are counted.
        groups: Number of groups.
        rank: Which group, 1 is the largest.
        of: Labels to cluster; by default all of the source.
    """

    source: str
    groups: int
    rank: int
    of: list[str] = []


@class_rule("cluster", Cluster)
def cluster(universe: Universe, how: Cluster) -> tuple[str, ...]:
    """Labels of one group of a normalised cut of the co-occurrence graph."""
    table = lookup(universe.tables, how.source, "source")
    wanted = set(map(universe.spelling.key, universe.named(how.of) if how.of else table.labels))
    columns = [i for i, label in enumerate(table.labels) if universe.spelling.key(label) in wanted]
    if not 1 <= how.rank <= how.groups < len(columns):
        raise UsageError(f"cluster: group {how.rank} of {how.groups} of {len(columns)} labels")
    groups = normalised_cut(together(table)[np.ix_(columns, columns)], how.groups, universe.seed)
    order = sorted(range(how.groups), key=lambda g: (-int((groups == g).sum()), g))
    chosen = order[how.rank - 1]
    return tuple(
        table.labels[c] for c, group in zip(columns, groups, strict=True) if group == chosen
    )


def together(table: Annotations) -> NDArray[np.float64]:
    """In how many images two labels occur together; in how many one does, on the diagonal."""
    from scipy.sparse import csr_array

    pairs = np.unique(np.stack([table.image, table.label], axis=1), axis=0)
    shape = (len(table.images), len(table.labels))
    present = csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=shape)
    return np.asarray((present.T @ present).todense())


def normalised_cut(affinity: NDArray[np.float64], groups: int, seed: int) -> NDArray[np.int64]:
    """The group of each node, by spectral clustering."""
    import warnings

    check_installed("the class rule cluster", ("sklearn",), "pip install 'openset[clusters]'")
    from sklearn.cluster import SpectralClustering

    cut = SpectralClustering(groups, affinity="precomputed", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a graph in several parts is cut there
        return np.asarray(cut.fit_predict(affinity), np.int64)
