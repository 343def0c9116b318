"""Every word that can be written on a command line or in a file is explained."""

from __future__ import annotations

from fnmatch import fnmatchcase
from inspect import Parameter, signature
from typing import get_args

import pytest

pytest.importorskip("torchvision")

from openset import benchmarks, detectors, engines, integrations, methods, scorers, worlds
from openset.benchmarks.principles import principles
from openset.benchmarks.rules import rules
from openset.cli._app import build, resolve
from openset.cli._front import verbs
from openset.cli.list import spelt, topics
from openset.diagnosis import table as questions
from openset.explain import entries
from openset.formats import formats
from openset.recognition import methods as classifiers
from openset.recognition import table as recognition
from openset.recognition.recipe import ClassifierRecipe
from openset.tables import LogitLayout
from openset.tables.vocabulary import normal, vocabularies
from openset.training import Recipe


def options_of_verbs():
    app = build()
    for name in verbs():
        resolve(app, name)
        for option in signature(app[name].default_command).parameters.values():
            if option.kind is Parameter.KEYWORD_ONLY and option.name != "output":
                yield option.name.replace("_", "-")


def options_of(package):
    return {name for record in package.table().values() for name in record.options}


def score_rules():
    app = build()
    resolve(app, "score")
    hint = signature(app["score"].default_command, eval_str=True).parameters["rule"].annotation
    return get_args(get_args(hint)[0])


WORDS = {
    "benchmarks": lambda: benchmarks.table(),
    "class rules": lambda: rules("class rule"),
    "classifiers": lambda: classifiers.table(),
    "detectors": lambda: detectors.table(),
    "detectors' options": lambda: options_of(detectors),
    "engines": lambda: engines.table(),
    "formats": lambda: formats(),
    "image rules": lambda: rules("image rule"),
    "integrations": lambda: integrations.table(),
    "layouts": lambda: map(str, LogitLayout),
    "methods": lambda: methods.table(),
    "methods' options": lambda: options_of(methods),
    "options": options_of_verbs,
    "principles": lambda: principles(),
    "questions": lambda: questions(),
    "recipes": lambda: Recipe.presets(),
    "recipes of classifiers": lambda: ClassifierRecipe.presets(),
    "recognition": lambda: recognition(),
    "score rules": score_rules,
    "scorers": lambda: scorers.table(),
    "scorers' options": lambda: options_of(scorers),
    "topics": lambda: topics(),
    "verbs": lambda: verbs(),
    "vocabularies": lambda: vocabularies(),
    "worlds": lambda: worlds.table(),
}


@pytest.fixture(scope="module")
def explained():
    """Whether `openset explain` knows a word, all lists made once."""
    terms = {
        normal(name) for entry in entries() for name in (entry.name, entry.title, *entry.aliases)
    }
    listed = {spelt(name): row for rows in topics().values() for name, row in rows().items()}
    patterns = [name for name in listed if "*" in name]
    kinds = {spelt(topic) for topic in topics()}

    def knows(word):
        key = spelt(word)
        said = listed.get(key, {}).get("summary", "").strip() or key in kinds
        return said or normal(word) in terms or any(fnmatchcase(key, one) for one in patterns)

    return knows


@pytest.mark.parametrize("kind", WORDS)
def test_every_word_is_explained(kind, explained):
    words = list(WORDS[kind]())
    assert words
    assert [word for word in words if not explained(word)] == []


def test_a_word_of_nobody_is_not(explained):
    assert not explained("zzz")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("unreadable", "openset run: Refuse images that cannot be decoded"),
        ("unknown-from", "the unknownness from which a box is unknown"),
        ("sigmoid-unknown-last", "then that of"),
        ("class_openness", "principles"),
        ("principles", "openset list principles"),
        ("nms", "detector yolo_onnx"),
        ("gamma", "openset score --rule"),
        ("draw", "Draw boxes on images"),
    ],
)
def test_what_is_said(word, said, openset):
    done = openset("explain", word)
    assert done.code == 0 and said in " ".join(done.out.split())
