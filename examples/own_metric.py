"""A metric of your own: a function of matches, with a value, an interval, and parts.

Change: the function. `matches` says of every detection what it lies on; docs/metrics.md shows what
the others make of it. Once it is good, one file makes it part of `openset evaluate`, for you or for
all: see CONTRIBUTING.md.
"""

import openset
from openset.examples import DETECTIONS, TRUTH
from openset.metrics import Value, metric
from openset.plugins import record_of
from openset.resampling.images import replicates
from openset.resampling.intervals import interval


@metric("unknown_jaccard", paper="yours")
def unknown_jaccard(matches: openset.Matches) -> Value:
    """Jaccard index of unknown objects and the boxes labelled unknown: TP / (TP + FP + FN)."""
    found = matches.count(matches.outcome().correct & matches.labelled_unknown)
    said = matches.count(matches.labelled_unknown)
    there = matches.count_objects(matches.objects.klass == matches.n_known)
    return Value.ratio(found, said + there - found, why="nothing is unknown")


result = openset.evaluate(TRUTH, DETECTIONS, intervals=False)
value = unknown_jaccard(result.matches)
print("Jaccard index of unknown:", value)
# What is counted with `matches.count` and its kin gives one number per resample, too.
drawn = replicates(result.matches, [record_of(unknown_jaccard)], seed=0, resamples=1000)
low, high = interval(drawn["unknown_jaccard"].value, value.value)
print(f"95 % interval: {low:.4f} to {high:.4f}")
