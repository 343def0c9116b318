"""Everything that can be asked about has an entry, and every entry says what its kind requires."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from openset.codes import CODES
from openset.diagnosis.errors import ERROR_TYPES
from openset.diagnosis.tide import ERRORS
from openset.explain import KINDS, Entry, _texts, entries
from openset.explain._texts import texts
from openset.findings import UsageError
from openset.matching.protocol import PRESETS
from openset.metrics import table
from openset.plugins import Documents, DuplicateNameError, PluginError
from openset.tables.vocabulary import normal

ENTRIES = entries()
NAMES = {entry.name for entry in ENTRIES}
EACH_KIND = pytest.mark.parametrize("kind", KINDS)
REQUIRED = {
    "metric": {"formula", "range", "example", "avoid", "see", "aliases"},
    "protocol": {"definition", "example", "avoid", "see", "aliases"},
    "error": {"formula", "example", "avoid", "papers", "see", "aliases"},
    "code": {"facts"},
    "taxonomy": {"definition", "valid", "invalid", "avoid", "papers", "see"},
    "term": {"see"},
}
COMMON = {"aliases", "formula", "example", "variants", "avoid", "see"}
ALLOWED = {
    "metrics": COMMON | {"variants_in_module"},
    "protocols": COMMON | {"title", "summary", "definition", "quirks", "like"},
    "errors": COMMON | {"summary", "definition", "rule"},
    "taxonomy": COMMON | {"title", "summary", "definition", "papers", "asks", "valid", "invalid"},
    "terms": COMMON | {"title", "summary", "definition", "papers"},
}


def words(entry):
    """All text of an entry."""
    return json.dumps(entry.to_json(), ensure_ascii=False)


def of(kind):
    return [entry for entry in ENTRIES if entry.kind == kind]


def names(kind):
    return {entry.name for entry in of(kind)}


def test_everything_has_an_entry():
    assert names("metric") == set(table())
    assert names("protocol") == set(PRESETS)
    assert names("code") == set(CODES)
    assert names("error") == {*ERROR_TYPES, *ERRORS, "FalsePos", "FalseNeg"}
    assert names("taxonomy") >= {"OSOD-I", "OSOD-II", "OSOD-III"}
    assert {entry.kind for entry in ENTRIES} == set(KINDS)
    assert len(NAMES) == len(ENTRIES)


@EACH_KIND
def test_fields_of_its_kind(kind):
    for entry in of(kind):
        missing = [name for name in REQUIRED[entry.kind] if not getattr(entry, name)]
        assert not missing
        assert entry.title
        assert entry.summary.endswith((".", "?")), entry.summary


def test_a_metric_takes_its_words_from_its_record():
    by_name = {entry.name: entry for entry in ENTRIES}
    for metric in table().values():
        entry = by_name[metric.name]
        assert entry.summary.startswith(metric.summary.rstrip("."))
        assert entry.better == (metric.better or "")
        assert bool(entry.papers) == bool(metric.paper)
    assert "0 … ∞" in by_name["a_ose"].range
    recall = dict(by_name["wilderness_impact"].options)["recall"]
    assert recall == "Recall level of the known classes (the protocol's by default)."
    assert "matches" not in dict(by_name["wilderness_impact"].options)


def test_variants_of_wilderness_impact_are_those_of_the_code():
    from openset.metrics._wilderness import VARIANTS

    entry = next(entry for entry in ENTRIES if entry.name == "wilderness_impact")
    assert set(dict(entry.variants)) == set(VARIANTS)
    shown = {result.options.get("variant", "pooled") for result in entry.example.results}
    assert shown == set(VARIANTS)


def test_a_preset_states_where_it_departs_from_the_default():
    owod = next(entry for entry in ENTRIES if entry.name == "owod")
    assert dict(owod.facts)["wilderness"] == "ratio-of-sums"
    assert set(dict(owod.facts)) == set(PRESETS["default"].diff("owod"))
    assert not next(entry for entry in ENTRIES if entry.name == "default").facts


def test_a_code_says_what_the_catalogue_says():
    for entry in of("code"):
        code = CODES[entry.name]
        assert entry.summary == code.meaning
        assert dict(entry.facts)["likely cause"] == code.cause
        assert dict(entry.facts)["fix"] == code.fix


def test_taxonomy_names_metrics_and_metrics_name_the_taxonomy():
    by_name = {entry.name: entry for entry in ENTRIES}
    for problem in of("taxonomy"):
        for field in ("valid", "invalid"):
            for metric, why in getattr(problem, field):
                assert metric in table()
                assert dict(getattr(by_name[metric], field))[problem.name] == why
        assert not set(dict(problem.valid)) & set(dict(problem.invalid))
    assert "ap_unknown" in dict(by_name["OSOD-III"].valid)
    assert "ap_unknown" in dict(by_name["OSOD-I"].invalid)


@EACH_KIND
def test_see_also_leads_somewhere_else(kind):
    for entry in of(kind):
        assert set(entry.see) <= NAMES
        assert entry.name not in entry.see
        assert len(set(entry.see)) == len(entry.see)


def test_spellings_are_unique():
    owner = {}
    for entry in ENTRIES:
        for key in {normal(spelling) for spelling in (entry.name, entry.title, *entry.aliases)}:
            assert owner.setdefault(key, entry.name) == entry.name, key


@EACH_KIND
def test_no_html_and_no_unbalanced_code(kind):
    for entry in of(kind):
        text = words(entry)
        assert not re.search(r"<[A-Za-z/!]", text)
        assert text.count("`") % 2 == 0


@EACH_KIND
def test_json_is_plain_and_complete(kind):
    for entry in of(kind):
        document = entry.to_json()
        assert set(document) == {field.name for field in fields(Entry)}
        assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize("file", ALLOWED)
def test_texts_have_no_other_keys_and_no_other_names(file):
    kinds = {"metrics": "metric", "protocols": "protocol", "errors": "error"}
    known = names(kinds[file]) if file in kinds else NAMES
    for name, text in texts(file).items():
        assert name in known
        assert set(text) <= ALLOWED[file], name


def test_texts_do_not_say_again_what_docstrings_say():
    said = {s for metric in table().values() for s in sentences(metric.doc)}
    for name, text in texts("metrics").items():
        written = [*text["avoid"], text["example"]["text"], *text.get("variants", {}).values()]
        again = {s for part in written for s in sentences(part)} & said
        assert not again, name


def sentences(text):
    parts = re.split(r"(?<=[.:;]) ", " ".join(text.split()))
    return {part for part in parts if len(part) > 30}


def test_a_kind_that_is_not_there():
    with pytest.raises(UsageError, match=r"unknown kind of entry 'metrik'\. Did you mean 'metric'"):
        entries("metrik")


@pytest.fixture
def with_file(tmp_path, monkeypatch):
    """Texts with one more file."""

    def added(name, text):
        (tmp_path / name).write_text(text)
        own = {path.stem: [path] for path in (*Path(_texts.__file__).parent.glob("texts/*.toml"),)}
        files = Documents(own | {Path(name).stem: [tmp_path / name]}, _texts._tables)
        monkeypatch.setattr(_texts, "_files", lambda: files)
        texts.cache_clear()

    yield added
    monkeypatch.undo()
    texts.cache_clear()


def test_files_of_one_kind_are_one(with_file):
    with_file("terms-mine.toml", '[pasture]\nsummary = "grass"\n')
    assert {"pasture", "wilderness"} <= {entry.name for entry in entries("term")}


@pytest.mark.parametrize(
    ("name", "text", "error", "why"),
    [
        ("terms-mine.toml", "[wilderness]\nsummary = 'x'", DuplicateNameError, "terms-mine"),
        ("terms-mine.toml", "[pasture]\ntitle = 'x'", PluginError, "terms-mine.*'summary'"),
        ("terms-mine.toml", "pasture = 'x'", PluginError, "terms-mine.*'pasture' must be a table"),
        ("term-mine.toml", "", UsageError, r"term-mine.toml .*'term'.*'terms'"),
    ],
    ids=["twice", "lacking", "no table", "no kind"],
)
def test_a_file_that_cannot_be_used_is_named(with_file, name, text, error, why):
    with_file(name, text)
    with pytest.raises(error, match=why):
        entries("term")
