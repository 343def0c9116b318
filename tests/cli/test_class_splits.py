"""compare --splits: means over class splits of one benchmark, as papers print them."""

from openset.evaluation.trainings import population
from scenes.class_splits import results


def test_means_over_class_splits(openset, here):
    made = {"base": results(0.5), "better": results(0.1, seed=9)}
    sides = []
    for name, some in made.items():
        files = [f"{name}{at}.result.json" for at in (1, 2, 3)]
        for file, one in zip(files, some, strict=True):
            one.to_json(here / file, replicates=True)
        sides.append(f"{name}={','.join(files)}")
    refused = openset("compare", *sides)
    assert refused.code == 2 and "OS418" in refused.err
    done = openset("compare", *sides, "--splits")
    assert done.code == 0, done.err
    assert "over 3 class splits, each a training of its own: mean ± sample deviation" in done.out
    values = [one.value("ap_known").value for one in made["base"]]
    mean, apart = population(values)
    each = ", ".join(f"{100 * value:.1f}" for value in values)
    assert f"AP known, base: {100 * mean:.1f} ± {100 * apart:.1f} ({each})" in done.out
    told = openset("compare", *sides, "--splits", "--json").json
    assert told["methods"]["base"]["values"]["ap_known"]["runs"] == values
    wrong = openset(
        "compare", sides[0], "better=better2.result.json,better1.result.json", "--splits"
    )
    assert wrong.code == 2
