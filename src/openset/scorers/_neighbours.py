"""Neighbours: the distance to the k-th nearest of many points, exact, by blocked matrix products.

The points lie in clusters, and a cluster that cannot hold a nearer point is not looked at. Two
bounds say so: no point is nearer than its cluster's centre less the radius; nor is one nearer than
it is along the line from the centre of the query's own cluster to that of its own, on which
clusters are slim however many dimensions they spread in. That saves most of the work for queries
that lie in a class, and costs little for those that lie between all.

What is left is looked at in outline first: along the leading principal axes, with the length of the
rest as one coordinate more. Distances between outlines are never larger than those between points,
and embeddings of a trained detector differ along few axes; so only pairs whose outlines are near
are compared in full.

Products are in float32. Distances too small for that (of points that are nearly equal) are found
again in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from openset import engines
from openset.scorers._gaussian import class_means

Points = NDArray[np.float32]
Rows = NDArray[np.int64]
Distances = NDArray[np.float64]
_PER_CLUSTER = 250  # points: enough for efficient products, few enough to skip much
_QUERIES = 1 << 12  # queries at a time
_SLACK = 1e-5  # relative; more than float32 can be wrong by
_OUTLINE = 0.97  # share of the variance along the axes of an outline
_WORTHWHILE = 0.6  # share of the width; a wider outline saves nothing
_ROUGH = 2e-2  # squared distances below this share of the squared lengths lose too many digits


@dataclass(frozen=True, eq=False)
class Bank:
    """Points in clusters.

    Attributes:
        origin: The mean of all points, which everything is relative to.
        axes: Principal axes as columns, the leading one first; points are given along them.
        leading: How many of the axes an outline has; 0 where none is worth it.
        points: All points, cluster by cluster.
        starts: Where each cluster begins, and where the last one ends.
        centres: One per cluster.
        radii: Largest distance of a point to its centre.
        reach: Entry (i, j): from the i-th centre towards the j-th, where cluster j begins.
    """

    origin: NDArray[np.float64]
    axes: Points
    leading: int
    points: Points
    starts: Rows
    centres: Points
    radii: NDArray[np.float64]
    reach: NDArray[np.float64]

    @classmethod
    def of(cls, points: Points) -> Bank:
        """Put points into clusters (the same ones every time)."""
        origin = points.mean(axis=0, dtype=np.float64)
        axes, leading = _axes(points - origin.astype(np.float32))
        moved = _moved(points, origin, axes)
        centres, home = _clusters(moved, max(1, len(points) // _PER_CLUSTER))
        order = np.argsort(home, kind="stable")
        starts = np.searchsorted(home[order], np.arange(len(centres) + 1))
        sorted_ = np.ascontiguousarray(moved[order])
        squares = _squares(sorted_, centres)
        own = squares[np.arange(len(order)), home[order]]
        radii = np.sqrt(np.maximum.reduceat(own, starts[:-1]))
        along = _along(squares, own[:, None], _squares(centres, centres)[home[order]])
        reach = np.minimum.reduceat(along, starts[:-1], axis=0).T
        return cls(
            origin, axes, leading, sorted_, starts, centres, radii, np.ascontiguousarray(reach)
        )

    @property
    def original(self) -> NDArray[np.float64]:
        """The points as they were given, but for their order and rounding."""
        return np.asarray(self.points @ self.axes.T.astype(np.float64) + self.origin)

    def distance(self, queries: Points, k: int) -> NDArray[np.float64]:
        """Distance of each query to its k-th nearest point."""
        moved = _moved(queries, self.origin, self.axes)
        squares = self._squares(moved, k, np.float32)
        size = np.einsum("ij,ij->i", moved, moved)
        rough = np.flatnonzero(squares < _ROUGH * (size + (self.points**2).sum(axis=1).max()))
        if len(rough):
            squares[rough] = self._squares(moved[rough], k, np.float64)
        return np.sqrt(squares)

    def _squares(self, queries: Points, k: int, dtype: DTypeLike) -> NDArray[Any]:
        """Squared distance of each query to its k-th nearest point, in some precision."""
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        along = slice(self.leading or None)  # any home gives right answers
        home = _nearest(queries[:, along], self.centres[:, along])
        gaps = _squares(self.centres, self.centres)
        order = np.argsort(home, kind="stable")  # queries of one block then ask the same clusters
        blocks = [order[start : start + _QUERIES] for start in range(0, len(order), _QUERIES)]
        points = _left(self.points.astype(dtype))
        outlines = _left(_outline(self.points, self.leading)) if self.leading else None

        def search(rows: Rows) -> NDArray[Any]:
            found = _Search(self, points, outlines, queries[rows].astype(dtype), k)
            return found.run(home[rows], self._least(queries[rows], home[rows], gaps))

        result = np.empty(len(queries))
        with threadpool_limits(1):
            found = engines.find("threads").map(search, blocks)
        result[order] = np.concatenate([np.empty(0), *found])
        return result

    def _least(self, queries: Points, home: Rows, gaps: Distances) -> Distances:
        """A distance that no point of each cluster is nearer than, to each query."""
        squares, rows = _squares(queries, self.centres), np.arange(len(home))
        along = _along(squares[rows, home][:, None], squares, gaps[home])
        least = np.maximum(np.sqrt(squares) - self.radii, self.reach[home] - along)
        least[rows, home] = 0
        return least


class _Search:
    """The k smallest squared distances of some queries, cluster by cluster."""

    def __init__(
        self,
        bank: Bank,
        points: NDArray[Any],
        outlines: Points | None,
        queries: NDArray[Any],
        k: int,
    ) -> None:
        self.bank, self.points, self.outlines, self.k = bank, points, outlines, k
        self.queries = _right(queries)
        self.best = np.full((len(queries), k), np.inf, queries.dtype)
        self.worst = np.full(len(queries), np.inf, queries.dtype)
        if outlines is not None:
            self.sketches = _right(_outline(queries, bank.leading).astype(np.float32))
            largest = outlines[:, -2].max()
            self.slack = np.asarray(_SLACK * (self.sketches[:, -1] + largest), np.float32)

    def run(self, home: Rows, least: Distances) -> NDArray[Any]:
        """The k-th smallest of each query, which `least` says where not to look for."""
        for cluster in np.unique(home).tolist():
            self._visit(cluster, np.flatnonzero(home == cluster))
        bound = np.maximum(np.ascontiguousarray(least.T) * (1 - _SLACK), 0) ** 2
        bound[home, np.arange(len(home))] = np.nan  # seen
        for cluster in np.argsort(least.mean(axis=0), kind="stable").tolist():
            rows = np.flatnonzero(bound[cluster] <= self.worst)
            if len(rows):
                self._visit(cluster, rows)
        return np.maximum(self.worst, 0)

    def _visit(self, cluster: int, rows: Rows) -> None:
        """Look at one cluster for the queries in `rows`."""
        inside = slice(*self.bank.starts[cluster : cluster + 2].tolist())
        if not np.isfinite(self.worst[rows[0]]):
            tile = self.queries[rows] @ self.points[inside].T
            self._keep(rows, np.hstack([self.best[rows], tile]))
        elif self.outlines is None:
            tile = _some(self.queries, rows) @ self.points[inside].T
            nearer = np.flatnonzero(tile < self.worst[rows, None])
            self._merge(rows, nearer // tile.shape[1], tile.ravel()[nearer])
        else:
            self._compare(rows, inside, self.outlines[inside])

    def _compare(self, rows: Rows, inside: slice, outlines: Points) -> None:
        """Compare in full those pairs whose outlines are near."""
        tile = _some(self.sketches, rows) @ outlines.T
        limit = (self.worst[rows] + self.slack[rows]).astype(np.float32)
        row, point = np.divmod(np.flatnonzero(tile < limit[:, None]), tile.shape[1])
        query = rows[row]
        value = np.einsum("ij,ij->i", self.queries[query], self.points[inside][point])
        nearer = value < self.worst[query]
        self._merge(rows, row[nearer], value[nearer])

    def _merge(self, rows: Rows, row: Rows, value: NDArray[Any]) -> None:
        """Take in new values; `row` ascends."""
        if not len(row):
            return
        touched, first, count = np.unique(row, return_index=True, return_counts=True)
        place = np.arange(len(row)) - np.repeat(first, count)
        values = np.full((len(touched), self.k + int(count.max())), np.inf, value.dtype)
        values[:, : self.k] = self.best[rows[touched]]
        values[np.repeat(np.arange(len(touched)), count), self.k + place] = value
        self._keep(rows[touched], values)

    def _keep(self, rows: Rows, values: NDArray[Any]) -> None:
        """Keep the k smallest of each row."""
        best = np.partition(values, self.k - 1, axis=1)[:, : self.k]
        self.best[rows], self.worst[rows] = best, best[:, -1]


def _squares(points: NDArray[Any], centres: Points) -> Distances:
    """Squared distances of points to centres."""
    return np.maximum(_right(points.astype(np.float64)) @ _left(centres.astype(np.float64)).T, 0)


def _along(near: Distances, far: Distances, gap: Distances) -> Distances:
    """How far along a line, from squared distances to its ends and that of the ends."""
    return np.asarray((near - far + gap) / (2 * np.sqrt(np.maximum(gap, 1e-30))))


def _moved(points: Points, origin: NDArray[np.float64], axes: Points) -> Points:
    """Points along the axes, from the origin."""
    exact = axes.astype(np.float64)
    moved = np.empty(points.shape, np.float32)
    for start in range(0, len(points), _QUERIES):
        rows = slice(start, start + _QUERIES)
        moved[rows] = (points[rows] - origin) @ exact
    return moved


def _axes(centred: Points) -> tuple[Points, int]:
    """Principal axes, and how many of them an outline needs."""
    values, vectors = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    shares = np.cumsum(np.maximum(values[::-1], 0))
    count = int(np.searchsorted(shares, _OUTLINE * shares[-1])) + 1
    leading = count if count <= _WORTHWHILE * len(values) else 0
    return np.ascontiguousarray(vectors[:, ::-1], np.float32), leading


def _outline(points: NDArray[Any], leading: int) -> NDArray[Any]:
    """The leading coordinates, and the length of all others."""
    rest = points[:, leading:]
    length = np.sqrt(np.einsum("ij,ij->i", rest, rest))[:, None]
    return np.hstack([points[:, :leading], length])


def _some(values: NDArray[Any], rows: Rows) -> NDArray[Any]:
    """Some rows, without a copy where these are all."""
    return values if len(rows) == len(values) else values[rows]


def _left(points: NDArray[Any]) -> NDArray[Any]:
    """Rows whose product with those of `_right` is the squared distance."""
    size = np.einsum("ij,ij->i", points, points)[:, None]
    return np.hstack([-2 * points, size, np.ones_like(size)])


def _right(queries: NDArray[Any]) -> NDArray[Any]:
    size = np.einsum("ij,ij->i", queries, queries)[:, None]
    return np.hstack([queries, np.ones_like(size), size])


def _nearest(points: Points, centres: Points) -> Rows:
    sizes = np.einsum("ij,ij->i", centres, centres)
    home = np.empty(len(points), np.int64)
    for start in range(0, len(points), _QUERIES):
        rows = slice(start, start + _QUERIES)
        home[rows] = (sizes - points[rows] @ (2 * centres.T)).argmin(axis=1)
    return home


def _clusters(points: Points, count: int) -> tuple[Points, Rows]:
    """A few rounds of k-means; any clusters give right answers, good ones give them sooner."""
    draw = np.random.default_rng(0)
    some = points[np.sort(draw.permutation(len(points))[: 64 * count])]
    centres = some[np.sort(draw.permutation(len(some))[:count])]
    for _ in range(6):
        _, home = np.unique(_nearest(some, centres), return_inverse=True)  # empty ones vanish
        centres = class_means(some, home).astype(np.float32)
    used, home = np.unique(_nearest(points, centres), return_inverse=True)
    return centres[used], home
