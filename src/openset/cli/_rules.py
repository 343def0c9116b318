"""Rules: detections that say unknown, made of a detector's own (`openset score --rule`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.cli._console import Answer, Output
from openset.findings import Finding, UsageError
from openset.render import Table

if TYPE_CHECKING:
    from openset.evaluation.choosing import Choice
    from openset.scorers.cec import CecRule
    from openset.scorers.ebui import EbuiRule
    from openset.scorers.gamma_rule import GammaRule
    from openset.scorers.rule import Rule
    from openset.tables import Detections

_SWEPT = ("gamma", "temperature")
SHARES = {"gamma": 0.95, "cec": 0.99}  # of AP_known, what must be left


def gamma_rules(given: Mapping[str, Any], *, chosen: bool) -> list[GammaRule]:
    """Every rule that the options name: ``gamma=3,15`` and ``temperature=1,2`` are four.

    >>> [str(rule) for rule in gamma_rules({"gamma": "3,15", "temperature": 2}, chosen=False)]
    ['gamma 3, temperature 2', 'gamma 15, temperature 2']
    """
    from dataclasses import MISSING, fields
    from itertools import product

    from openset.options import chosen_options
    from openset.plugins import lookup
    from openset.scorers.gamma_rule import GAMMAS, GammaRule

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


def cec_rules(
    given: Mapping[str, Any], training: Detections | None, *, chosen: bool, force: bool
) -> list[CecRule]:
    """Every rule that the options name, with means fitted once for each phi."""
    from openset.options import chosen_options
    from openset.scorers import find
    from openset.scorers.cec import ALPHAS, CecRule

    if training is None:
        raise UsageError("--rule cec needs --fit and --fit-truth: the means of right detections")
    alphas = _numbers("alpha", given.get("alpha", ALPHAS if chosen else 0.5))
    others = {name: value for name, value in given.items() if name not in ("alpha", "phi")}
    defaults = {"alpha": 0.5, "phi": 0.9, "ranking": "unknownness"}
    asked = chosen_options("rule 'cec'", others, defaults, CecRule.__init__)
    ranking = asked["ranking"]
    fits = [
        find("cec").fit(training, phi=phi, force=force)
        for phi in _numbers("phi", given.get("phi", 0.9))
    ]
    return [CecRule(fitted=fit, alpha=alpha, ranking=ranking) for fit in fits for alpha in alphas]


def ebui_rules(
    given: Mapping[str, Any], told: Detections, *, chosen: bool, force: bool
) -> list[EbuiRule]:
    """The one rule that detections on known and unknown objects make."""
    from openset.scorers import find
    from openset.scorers.ebui import EbuiRule

    if chosen:
        raise UsageError("--rule ebui is fitted, --fit and --fit-truth, and nothing is calibrated")
    return [EbuiRule(fitted=find("ebui").fit(told, force=force, **given))]


def _numbers(name: str, value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    parts = value.split(",") if isinstance(value, str) else [value]
    try:
        return [float(part) for part in parts]
    except (TypeError, ValueError):
        raise UsageError(f"option {name} is a number or several, a,b,c, not {value!r}") from None


def apply_rules(
    detections: Detections,
    rules: Sequence[Rule],
    out: Path,
    held_out: tuple[Detections, Choice[Rule]] | None,
    output: Output,
) -> Answer:
    """Write the detections of each rule, or of the one that was chosen on held-out images."""
    from openset.cli._inputs import files_of
    from openset.formats import write
    from openset.scorers import ledger

    named = {rule.file_name: rule for rule in rules}
    if held_out is not None:
        named = {rules[0].kind: held_out[1].rule}
    files = files_of(out, list(named))
    lines, document = _chosen(held_out[1]) if held_out else [], {}
    for finding in _findings(named.values(), detections):
        output.report(finding)
    with output.progress(len(named)) as step:
        for name, rule in named.items():
            step(name)
            made = rule.apply(detections, held_out[0] if held_out else None)
            write(made if len(named) == 1 else _bare(made), files[name], format="parquet")
            unknown = len(ledger.unknown_rows(made))
            lines.append(
                f"wrote {files[name]}: {len(made)} detections, {unknown} of them unknown, by {rule}"
                f"\n  {ledger.summary(made)}"
            )
            document[name] = _facts(files[name], made, rule, unknown)
    lines.append(f"next: openset evaluate GT {' '.join(map(str, files.values()))}")
    return Answer("\n".join(lines), lambda: {"rules": document, **_told(held_out)})


def _findings(rules: Iterable[Rule], detections: Detections) -> list[Finding]:
    """What the rules find worth knowing, each once."""
    told = (finding for rule in rules for finding in rule.findings(detections))
    return list({finding.message: finding for finding in told}.values())


def _bare(made: Detections) -> Detections:
    """Without evidence, of which all files of a sweep would hold the same."""
    return replace(made, logits=None, layout=None, embedding=None, head=None, attributes={})


def _chosen(choice: Choice[Rule]) -> list[str]:
    """AP_known of each rule: the first option down, the second across."""
    by, across = choice.rule.swept
    rows, columns = ({rule.swept[name]: None for rule, _ in choice.tried} for name in (by, across))
    known = {tuple(rule.swept.values()): f"{value:.1%}" for rule, value in choice.tried}
    cells = ((f"{row:g}", *(known[row, column] for column in columns)) for row in rows)
    curve = Table((by, *(f"{across} {column:g}" for column in columns)), tuple(cells))
    return [
        f"AP_known of held-out images: {choice.unchanged:.1%} with nothing unknown",
        curve.text(),
    ]


def _facts(path: Path, made: Detections, rule: Rule, unknown: int) -> dict[str, Any]:
    from dataclasses import asdict

    from openset.scorers import ledger

    held = [asdict(entry) for entry in ledger.entries(made)]
    counts = {"detections": len(made), "unknown": unknown}
    return {"out": str(path), **counts, "options": dict(rule.options), "ledger": held}


def _told(held_out: tuple[Detections, Choice[Rule]] | None) -> dict[str, Any]:
    if held_out is None:
        return {}
    choice = held_out[1]
    rows = [{**rule.swept, "ap_known": known} for rule, known in choice.tried]
    return {"chosen": {"unchanged": choice.unchanged, "tried": rows}}
