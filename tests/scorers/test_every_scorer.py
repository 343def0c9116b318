"""What holds for every scorer, walking the discovered table: sign, declarations, refusals."""

from dataclasses import replace

import numpy as np
import pytest

from openset import scorers
from openset.findings import InputError, UsageError
from openset.scorers._evidence import UndeclaredError
from openset.tables import Detections, LogitLayout
from scenes import scorers as scenes

TABLE = scorers.table()
EVERY = pytest.mark.parametrize("name", TABLE)
FIELDS = ("logits", "embedding")
WANTED = """msp max_logit entropy energy gen knn mahalanobis ddu vim ash dice react lard
    lard_entropy gamma_ratio dropout_mean dropout_logits dropout_observations siren_knn siren_vmf"""


def columns_of(record):
    return {*record.requires, *record.fit_requires} - {"head"}


def only(detections, columns):
    """Detections that have no other evidence than some columns."""
    held = {name: getattr(detections, name) if name in columns else None for name in FIELDS}
    kept = {k: v for k, v in detections.attributes.items() if k in columns}
    return replace(detections, **held, attributes=kept)


def scrambled(detections, columns):
    """The same, but everything that is not among the columns is of another detection."""
    other = scenes.scene(len(detections), unknown=True, seed=77)
    free = [name for name in (*FIELDS, "label", "score", "box", "image") if name not in columns]
    changed = {name: getattr(other, name)[::-1] for name in free}
    kept = {
        name: values if name in columns else other.attributes[name]
        for name, values in detections.attributes.items()
    }
    return replace(detections, **changed, attributes=kept)


def test_all_of_the_literature_is_there():
    assert set(WANTED.split()) <= set(TABLE)


@EVERY
def test_record(name):
    record = TABLE[name]
    assert record.summary.endswith(".")
    assert record.title and record.paper
    assert record.requires
    assert record.uses_unknown == (name == "ebui")
    assert (record.fits_on == "nothing") <= (not record.fit_requires)
    for option in record.options:
        assert f"{option}:" in record.doc, f"{option} is not explained"


@EVERY
@pytest.mark.parametrize("layout", [scenes.LAYOUT, LogitLayout.SIGMOID], ids=str)
def test_unknown_scores_larger(name, layout):
    train = scenes.scene(400, seed=9, layout=layout)
    if name not in scorers.suited(train, scenes.head(layout)):
        pytest.skip("does not apply")
    options = {"activation": "softmax"} if name == "dropout_logits" and "sigm" in layout else {}
    fitted = scenes.fitted(name, train, layout, **options)
    known = fitted.score(scenes.scene(seed=1, layout=layout))
    unknown = fitted.score(scenes.scene(seed=1, unknown=True, layout=layout))
    assert known.dtype == unknown.dtype == np.float64
    assert scenes.auroc(known, unknown) > 0.9


@EVERY
def test_reads_what_it_declares_and_nothing_else(name):
    record, train, test = TABLE[name], scenes.scene(400, seed=9), scenes.scene(seed=1)
    expected = scenes.fitted(name, train).score(test)
    fit_on = only(train, columns_of(record))
    alone = scenes.fitted(name, fit_on).score(only(test, set(record.requires)))
    assert alone == pytest.approx(expected, rel=1e-12)
    whole = {"logits"} if "head" in record.requires else set()  # a head must make the logits
    on_other = scenes.fitted(name, scrambled(train, columns_of(record) | whole))
    assert on_other.score(scrambled(test, set(record.requires) | whole)) == pytest.approx(
        expected, rel=1e-12
    )


@EVERY
def test_fits_on_what_it_declares(name):
    record = TABLE[name]
    if record.fits_on == "nothing":
        alone = record.fit(head=scenes.head()).score(scenes.scene())
        after = record.fit(scenes.scene(seed=5), head=scenes.head()).score(scenes.scene())
        assert np.array_equal(alone, after)
    else:
        for nothing in (None, scenes.scene(8).select(np.zeros(8, bool))):
            with pytest.raises(InputError, match=rf"OS504.*{record.fits_on}"):
                record.fit(nothing, head=scenes.head())
        one, other = (scenes.fitted(name, scenes.scene(300, seed=s)) for s in (5, 6))
        assert not np.array_equal(one.score(scenes.scene()), other.score(scenes.scene()))


@EVERY
def test_missing_evidence_is_named(name):
    record = TABLE[name]
    there = {*FIELDS, *scenes.scene().attributes}
    for column in columns_of(record) & there:
        without = only(scenes.scene(400), columns_of(record) - {column})
        with pytest.raises(InputError, match=f"OS501.*{name}.*reads {column}") as caught:
            if column in record.requires:
                scenes.fitted(name).score(without)
            else:
                record.fit(without, head=scenes.head())
        assert caught.value.findings[0].fix
    if "head" in record.requires:
        with pytest.raises(InputError, match=f"{name}.*reads head"):
            record.fit(scenes.scene(400)).score(scenes.scene())


@EVERY
def test_not_finite_evidence_is_refused(name):
    record = TABLE[name]
    for column in columns_of(record) & {*FIELDS, "latent"}:
        broken = scenes.scene()
        values = broken.embedding * 2 if column == "latent" else getattr(broken, column).copy()
        values[[3, 5], 1] = np.nan, np.inf
        where = {"attributes": {column: values}} if column == "latent" else {column: values}
        with pytest.raises(InputError, match=rf"OS502.*2 of 200.*{column}[\s\S]*detection 3"):
            scenes.fitted(name).score(replace(broken, **where))


@EVERY
def test_rows_are_independent(name):
    fitted, test = scenes.fitted(name), scenes.scene(60, seed=1)
    whole, some = fitted.score(test), np.array([50, 3, 7])
    assert fitted.score(test.select(some)) == pytest.approx(whole[some], rel=1e-9)
    empty = fitted.score(test.select(np.zeros(60, bool)))
    assert empty.shape == (0,)


@EVERY
def test_other_width_than_the_fit(name):
    record = TABLE[name]
    for column in columns_of(record) & {"embedding", "latent", "latent_samples"}:
        if record.fits_on == "nothing":
            continue
        test = scenes.scene(5)
        held = test.embedding if column == "embedding" else test.attributes[column]
        wide = np.concatenate([held, held], axis=-1)
        where = {"embedding": wide} if column == "embedding" else {"attributes": {column: wide}}
        with pytest.raises(InputError, match="OS503"):
            scenes.fitted(name).score(replace(test, **where))


@EVERY
def test_options_are_checked(name):
    with pytest.raises(UsageError, match=f"option of scorer '{name}'"):
        scenes.fitted(name, nonsense=1)


def test_scorer_by_name():
    with pytest.raises(UsageError, match="Did you mean 'mahalanobis'"):
        scorers.find("mahalanobi")


def test_undeclared_evidence_is_an_error_of_the_scorer():
    @scorers.scorer("peeking", paper="none", requires=("logits",))
    def peeking(evidence):
        """Reads what it should not."""
        return evidence["embedding"][:, 0]

    with pytest.raises(UndeclaredError, match="'embedding', which it does not declare"):
        peeking(scenes.scene())
    with pytest.raises(UndeclaredError, match="'head'"):
        scorers.Evidence(1, {}).head  # noqa: B018


def test_what_a_class_and_a_function_may_be():
    with pytest.raises(UsageError, match="a class fits on something"):
        scorers.scorer("odd")(Detections)
    with pytest.raises(UsageError, match="a function on nothing"):
        scorers.scorer("odd", fits_on="known training detections")(lambda evidence: None)


def test_options_need_defaults():
    with pytest.raises(UsageError, match="needs a default"):

        @scorers.scorer("strict")
        def strict(evidence, *, k):
            """Has an option without a default."""


def test_a_score_that_is_not_a_number_is_refused():
    @scorers.scorer("broken", paper="none", requires=("score",))
    def broken(evidence):
        """Divides by zero."""
        return np.full(evidence.size, np.nan)

    with pytest.raises(InputError, match=r"OS502.*no finite number for 200"):
        broken(scenes.scene())


def test_suited_names_what_can_run():
    bare = Detections(["a"], [0], [[0, 0, 9, 9]], [0.5], ("dog",))
    assert scorers.suited(bare) == {"confidence": {}}
    softmax = scorers.suited(scenes.scene(), scenes.head())
    assert set(softmax) == set(TABLE)
    assert softmax["msp"] == {}
    without = scorers.suited(scenes.scene())
    assert set(TABLE) - set(without) == {"ash", "dice", "react", "vim"}
    sigmoid = scorers.suited(scenes.scene(layout=LogitLayout.SIGMOID))
    assert sigmoid["msp"] == {"activation": "sigmoid"}
    assert sigmoid["max_logit"] == {}


def test_large_inputs_go_in_blocks(monkeypatch):
    fitted = scenes.fitted("energy")
    test = scenes.scene(100)
    whole = fitted.score(test)
    monkeypatch.setattr("openset.scorers._evidence.Evidence.blocks.__defaults__", (7,))
    assert np.array_equal(fitted.score(test), whole)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("knn", {"k": 2.5}, "a whole number, not 2.5"),
        ("knn", {"k": True}, "a whole number, not True"),
        ("knn", {"normalize": "no"}, "true or false, not 'no'"),
        ("ddu", {"prior": "no"}, "true or false"),
        ("ddu", {"jitter": "no"}, "a number"),
        ("energy", {"temperature": "abc"}, "a number, not 'abc'"),
        ("energy", {"temperature": None}, "a number, not None"),
        ("vim", {"dimension": 2.0}, "a whole number"),
    ],
)
def test_options_of_another_type_are_refused(name, options, words):
    with pytest.raises(UsageError, match=f"of scorer '{name}' must be {words}"):
        scenes.fitted(name, **options)


def test_options_of_their_type_are_taken():
    assert scenes.fitted("energy", temperature=2).options["temperature"] == 2
    assert scenes.fitted("ddu", jitter=None).options["jitter"] is None


def test_an_annotation_that_cannot_be_resolved_is_not_checked():
    @scorers.scorer("odd", requires=("score",))
    def odd(evidence, *, power: "Nowhere" = 1):  # noqa: F821
        return evidence["score"] ** power

    assert len(odd(scenes.scene(), power=2.5)) == 200
