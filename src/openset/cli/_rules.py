"""Rules: detections that say unknown, made of a detector's regions (`openset score --rule`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.cli._console import Answer, Output
from openset.findings import UsageError

if TYPE_CHECKING:
    from openset.evaluation.choosing import Choice
    from openset.scorers.gamma_rule import GammaRule
    from openset.tables import Detections

GAMMAS = (1.5, 2.0, 3.0, 4.0, 5.0, 10.0, 15.0, 50.0)  # those of Tables 15 and 16
_SWEPT = ("gamma", "temperature")


def gamma_rules(given: Mapping[str, Any], *, chosen: bool) -> list[GammaRule]:
    """Every rule that the options name: ``gamma=3,15`` and ``temperature=1,2`` are four.

    >>> [str(rule) for rule in gamma_rules({"gamma": "3,15", "temperature": 2}, chosen=False)]
    ['gamma 3, temperature 2', 'gamma 15, temperature 2']
    """
    from dataclasses import MISSING, fields
    from itertools import product

    from openset.options import chosen_options
    from openset.plugins import lookup
    from openset.scorers.gamma_rule import GammaRule

    defaults = {f.name: None if f.default is MISSING else f.default for f in fields(GammaRule)}
    for name in given:
        lookup(defaults, name, "option of rule 'gamma':")
    if "gamma" not in given and not chosen:
        raise UsageError(
            "--rule gamma needs a gamma: --option gamma=15, or --calibrate and --calibrate-truth "
            "to choose one on known classes"
        )
    lists = {"gamma": GAMMAS, **given}
    swept = [_numbers(name, lists.get(name, 1.0)) for name in _SWEPT]
    others = {name: value for name, value in given.items() if name not in _SWEPT}
    pairs = [dict(zip(_SWEPT, pair, strict=True)) for pair in product(*swept)]
    made = GammaRule.__init__
    asked = [chosen_options("rule 'gamma'", {**others, **pair}, defaults, made) for pair in pairs]
    return [GammaRule(**options) for options in asked]


def _numbers(name: str, value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    parts = value.split(",") if isinstance(value, str) else [value]
    try:
        return [float(part) for part in parts]
    except (TypeError, ValueError):
        raise UsageError(f"option {name} is a number or several, a,b,c, not {value!r}") from None


def apply_rules(
    regions: Detections,
    rules: list[GammaRule],
    out: Path,
    held_out: tuple[Detections, Choice] | None,
    output: Output,
) -> Answer:
    """Write the detections of each rule, or of the one that was chosen on held-out images."""
    from openset.cli._inputs import files_of
    from openset.formats import write
    from openset.scorers import ledger

    named = {_name(rule): rule for rule in rules}
    if held_out is not None:
        named = {"gamma": held_out[1].rule}
    files = files_of(out, list(named))
    lines, document = _chosen(held_out[1]) if held_out else [], {}
    for rule in {rule.temperature: rule for rule in named.values()}.values():
        for finding in rule.findings(regions):
            output.report(finding)
    with output.progress(len(named)) as step:
        for name, rule in named.items():
            step(name)
            made = rule.apply(regions, held_out[0] if held_out else None)
            write(made if len(named) == 1 else _bare(made), files[name], format="parquet")
            unknown = len(ledger.unknown_rows(made))
            lines.append(
                f"wrote {files[name]}: {len(made)} detections, {unknown} of them unknown, by {rule}"
                f"\n  {ledger.summary(made)}"
            )
            document[name] = _facts(files[name], made, rule, unknown)
    lines.append(f"next: openset evaluate GT {' '.join(map(str, files.values()))}")
    return Answer("\n".join(lines), lambda: {"rules": document, **_told(held_out)})


def _name(rule: GammaRule) -> str:
    return f"gamma{rule.gamma:g}-t{rule.temperature:g}"


def _bare(made: Detections) -> Detections:
    """Without evidence, of which all files of a sweep would hold the same."""
    return replace(made, logits=None, layout=None, embedding=None, head=None, attributes={})


def _chosen(choice: Choice) -> list[str]:
    lines = [f"  {rule}: {known:.1%}" for rule, known in choice.tried]
    return [f"AP_known of held-out images: {choice.unchanged:.1%} with nothing unknown", *lines]


def _facts(path: Path, made: Detections, rule: GammaRule, unknown: int) -> dict[str, Any]:
    from dataclasses import asdict

    from openset.scorers import ledger

    held = [asdict(entry) for entry in ledger.entries(made)]
    counts = {"detections": len(made), "unknown": unknown}
    return {"out": str(path), **counts, "options": asdict(rule), "ledger": held}


def _told(held_out: tuple[Detections, Choice] | None) -> dict[str, Any]:
    if held_out is None:
        return {}
    choice = held_out[1]
    rows = [
        {"gamma": r.gamma, "temperature": r.temperature, "ap_known": v} for r, v in choice.tried
    ]
    return {"chosen": {"unchanged": choice.unchanged, "tried": rows}}
