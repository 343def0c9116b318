"""Variants: recipes of recognition with other options, as the command lines of experiments say."""

from __future__ import annotations

from openset.recognition.recipe import ClassifierRecipe


def changed(data: str, text: str, epochs: int | None = None) -> ClassifierRecipe:
    """A recipe with other options: ``openauc,weight=0.2``; the loop's keys with ``training.``."""
    name, *changes = text.split(",")
    held: dict[str, dict[str, object]] = {"options": {}, "training": {}}
    for key, value in (change.split("=") for change in changes):
        kind, _, key_there = key.rpartition(".")
        held[kind or "options"][key_there] = _value(value)
    recipe = ClassifierRecipe.of(f"{data}-{name}")
    return ClassifierRecipe.of(recipe if epochs is None else recipe.shortened(epochs), **held)


def _value(text: str) -> object:
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return text
