"""score: how unknown each detection looks, by scorers or by a rule on a detector's regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from cyclopts import Parameter

from openset.cli import _parts
from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.cli._engine import Where
from openset.cli._fit_files import (
    Files,
    FitFiles,
    of_knowns,
    refuse_own,
    refuse_strange,
    told,
    truth_of,
)
from openset.findings import InputError, UsageError

if TYPE_CHECKING:
    from openset.evaluation.choosing import Choice
    from openset.formats.parts import Parts
    from openset.scorers import Calibration, Fitted, Own
    from openset.scorers.rule import Rule
    from openset.tables import Detections

app = verb("score", panel="Models")
ALL, OWN = "all", "own"
KEPT = 0.95  # of held-out detections, what stays known


@app.default
def score(
    dt: Path,
    /,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    scorers: list[str] | None = None,
    rule: Literal["gamma", "cec", "ebui"] | None = None,
    fit: Path | None = None,
    fit_truth: Path | None = None,
    calibrate: Path | None = None,
    calibrate_truth: Path | None = None,
    minimum_score: float = 0.3,
    known_share: float | None = None,
    threshold: Literal["quantile", "zscore"] = "quantile",
    head: Path | None = None,
    known: list[str] | None = None,
    option: list[str] | None = None,
    shard: str | None = None,
    where: Where = Where(),  # noqa: B008 - frozen
    force: Flag = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Score how unknown each detection looks: larger = more unknown.

    Writes one Parquet file per scorer, which `openset evaluate` reads; what was fitted on which
    data travels with it. Of a folder of parts it makes such folders (*.parts), and goes on where it
    was stopped. Of "all", those that cannot be fitted are named in the end (exit code 1).

    --rule gamma is the baseline of OSOD-III: it reads what `openset run --regions` wrote, and makes
    detections of it, some of them unknown. Its options are gamma, temperature (several of either,
    a,b,c, make a file each), top, minimum_score, nms, limit and duplicates (better or neither).
    With --calibrate and --calibrate-truth, gamma and temperature are chosen on known classes.

    --rule cec is the expelling classifier of RE-OWOD: it reads detections with all class scores (or
    regions), and takes its means from --fit and --fit-truth. Its options are alpha, phi (several of
    either, likewise) and ranking; with --calibrate and --calibrate-truth alpha is chosen.

    --rule ebui is ORE's identifier by energies. It is fitted on labels of unknown objects, which
    --fit-truth must have: a leak, and the ledger says so. Its options are those of scorer ebui.

    Args:
        dt: Detections with the evidence that scorers read: logits, embeddings.
        out: A Parquet file for one scorer or rule; a folder for several, with one file each.
        scorers: Names of scorers, a,b,c, or "all" that the detections have the evidence for, but
            those that are fitted on unknown objects; or "own", the unknownness that the detections
            carry already, as those of the method siren do: --calibrate gives it a threshold.
        rule: A rule that decides, in place of scorers.
        fit: Detections on the training images, for scorers that fit. Never the test set.
        fit_truth: Ground truth of these images: only detections that found their object are fitted.
        calibrate: Detections on held-out images: what exceeds their threshold is called unknown.
            For a rule, what it reads.
        calibrate_truth: Ground truth of these, likewise.
        minimum_score: Where there is no such ground truth, only detections of at least this score
            are fitted or calibrated on; below it they are mostly background.
        known_share: Share of those held-out detections that should stay known, 0.95; for a rule,
            share of their AP_known that should be left, 0.95 for gamma and 0.99 for cec.
        threshold: How it is found: their quantile, or zscore, their mean plus 1.645 deviations, as
            in the code of FMIYC.
        head: The detector's last layer, an .npz of openset.scorers.save_head, for ASH, DICE, ReAct
            and ViM on files from elsewhere; what `openset run` wrote carries it.
        known: Restrict the logits of all files to these classes, by name: voc20, a file, or a,b,c.
            For a detector that was taught more classes than are known here.
        option: An option of the scorer or rule, as name=value; only with a single scorer.
        shard: Which of the parts to make: 3/16, the third of sixteen shards; auto, as SLURM says to
            the tasks of an array; auto/16 for an indexed job of Kubernetes.
        where: Where parts are scored.
        force: Fit even on test data or unknown objects, which the ledger says, or another model's;
            score logits that look as if they were of another layout.
        output: How to speak.
    """
    from openset.cli._inputs import files_of, known_labels, listed, option_pairs
    from openset.cli._rules import SHARES, apply_rules, cec_rules, ebui_rules, gamma_rules
    from openset.scorers import calibrate as calibrate_
    from openset.scorers import load_head

    _refuse_both(scorers, rule, fit)
    files = Files(None if head is None else load_head(head), known_labels(known))
    parted = _is_parted(dt, rule, shard, where)
    detections = _first_part(dt, files) if parted else files.read(dt)
    if not force:
        refuse_strange(detections)
        refuse_own(dt, {"--fit": fit, "--calibrate": calibrate})
    fits = FitFiles(files, detections, force, output.report)
    if rule is not None:
        given, chosen_here = option_pairs(option), calibrate is not None
        rules: Sequence[Rule]
        if rule == "gamma":
            rules = gamma_rules(given, chosen=chosen_here)
        elif rule == "ebui":
            rules = ebui_rules(given, told(fit, fit_truth, fits), chosen=chosen_here, force=force)
        else:
            training = of_knowns(fit, fit_truth, fits, minimum_score)
            rules = cec_rules(given, training, chosen=chosen_here, force=force)
        share = SHARES.get(rule, KEPT) if known_share is None else known_share
        chosen_on = _choice(rules, fits, (calibrate, calibrate_truth), share, force)
        return apply_rules(detections, rules, out, chosen_on, output)
    names = listed(scorers)
    _refuse_unused(names, calibrate, fit)
    chosen = _chosen(names, option_pairs(option), detections, fit)
    training, held_out = (
        of_knowns(path, truth, fits, minimum_score)
        for path, truth in ((fit, fit_truth), (calibrate, calibrate_truth))
    )
    _say_if_seen(held_out, calibrate, output)
    places = files_of(out, list(chosen), _parts.SUFFIX if parted else ".parquet")
    keep = KEPT if known_share is None else known_share
    calibrated = partial(calibrate_, keep=keep, flavour=threshold, force=force)
    lines, document, left_out = [], {}, {}
    each = _shared(dt, shard) if parted else 0
    with output.progress(len(chosen) * (1 + each), "parts" if parted else "") as step:
        for name, options in chosen.items():
            step(name)
            try:
                shown = told(fit, fit_truth, fits) if _sees_unknown(name) else training
                fitted = _fitted(name, detections, shown, options, force=force)
                limit = None if held_out is None else calibrated(fitted.scored(held_out))
                how = _Scoring(fitted, limit, files)
                into = _parts.Into(places[name], shard=shard, engine=where.chosen())
                made = _made(dt if parted else detections, into, how, step)
            except (InputError, UsageError) as error:
                left_out[name] = error
                if names != [ALL] or len(left_out) == len(chosen):
                    raise
            else:
                for finding in fitted.findings:
                    output.report(finding, name)
                lines.append(made.text)
                document[name] = dict(made.document())
    return _answer(lines, document, left_out)


def _say_if_seen(held_out: Detections | None, where: Path | None, output: Output) -> None:
    """Say that a threshold would be set on images that the detector was trained on."""
    from openset.scorers import ledger

    seen = None if held_out is None else ledger.on_training(held_out, str(where))
    if seen is not None:
        output.report(seen)


def _refuse_both(scorers: list[str] | None, rule: str | None, fit: Path | None) -> None:
    if (scorers is None) == (rule is None):
        raise UsageError("give --scorers NAME,... or --rule gamma, cec or ebui, one of the two")
    if rule == "gamma" and fit is not None:
        raise UsageError("--rule gamma fits nothing; --calibrate chooses gamma on held-out images")


def _refuse_unused(names: list[str], calibrate: Path | None, fit: Path | None) -> None:
    """Refuse to write again what the detections carry, and to fit it."""
    if OWN not in names:
        return
    if calibrate is None:
        raise UsageError(
            "own is the unknownness that detections carry already, which evaluate reads: "
            "--calibrate HELD-OUT says from where on it means unknown"
        )
    if fit is not None and names == [OWN]:
        raise UsageError("own is not fitted: leave --fit out")


def _choice(
    rules: Sequence[Rule],
    fits: FitFiles,
    held_out: tuple[Path | None, Path | None],
    known_share: float,
    force: bool,
) -> tuple[Detections, Choice[Rule]] | None:
    """Held-out detections, and the rule that was chosen on them."""
    from openset.evaluation.choosing import choose

    calibrate, truth = held_out
    if (calibrate is None) != (truth is None):
        raise UsageError("a rule is chosen by --calibrate and --calibrate-truth together")
    if calibrate is None or truth is None:
        return None
    found = fits.read(calibrate)
    known = truth_of(truth, found)
    return found, choose(rules, found, known, share=known_share, force=force)


def _chosen(
    names: list[str],
    options: dict[str, Any],
    detections: Detections,
    fit: Path | None,
) -> dict[str, dict[str, Any]]:
    """The scorers to run, each with its options."""
    from openset.scorers import find, suited

    possible = suited(detections)
    if names == [ALL]:
        if options:
            raise UsageError("--option belongs to one scorer; name it instead of 'all'")
        fits = {name for name in possible if find(name).fits_on != "nothing"}
        told = {name for name in fits if find(name).uses_unknown}  # only if asked for by name
        left_out = told if fit else fits
        return {name: more for name, more in possible.items() if name not in left_out}
    if options and len(names) != 1:
        raise UsageError("--option belongs to one scorer; run the others separately")
    if options and names == [OWN]:
        raise UsageError("own has no options")
    asked = [name if name == OWN else find(name).name for name in names]
    return {name: {**possible.get(name, {}), **options} for name in asked}


def _sees_unknown(name: str) -> bool:
    from openset.scorers import find

    return name != OWN and find(name).uses_unknown


def _fitted(
    name: str,
    detections: Detections,
    training: Detections | None,
    options: dict[str, Any],
    *,
    force: bool,
) -> Fitted | Own:
    from openset.scorers import Own, find

    if name == OWN:
        return Own.of(detections)
    record = find(name)
    fit_on = None if record.fits_on == "nothing" else training
    return record.fit(fit_on, force=force, **options)


class _Scoring(NamedTuple):
    """How detections are scored: by what was fitted, a threshold, and how files are read."""

    fitted: Fitted | Own
    threshold: Calibration | None
    files: Files


def _scored(
    fitted: Fitted | Own, detections: Detections, threshold: Calibration | None
) -> Detections:
    """The detections with unknownness; relabelled where there was something to calibrate on."""
    scored = fitted.scored(detections)
    return scored if threshold is None else threshold.relabel(scored)


def _is_parted(dt: Path, rule: str | None, shard: str | None, where: Where) -> bool:
    """Whether parts are scored one by one; a rule reads them as one table."""
    from openset.formats.parts import is_parts

    parted = rule is None and is_parts(dt)
    if shard is not None and not parted:
        raise UsageError("--shard is for scorers on a folder of parts, *.parts")
    if not parted:
        where.refuse("scorers work there on a folder of parts, *.parts")
    return parted


def _shared(folder: Path, shard: str | None) -> int:
    """How many parts a folder has for one who does a share of them."""
    from openset.formats.parts import Parts

    parts, share = Parts.open(folder), _parts.Into(folder, shard=shard).share
    return len(parts) if share is None else len(share.mine(range(len(parts))))


def _made(
    source: Path | Detections, into: _parts.Into, how: _Scoring, step: Callable[[str], None]
) -> Answer:
    """Score a folder of parts, or a table."""
    if isinstance(source, Path):
        return _score_parts(source, into, how, step)
    return _score_file(source, into.folder, how)


def _score_file(detections: Detections, path: Path, how: _Scoring) -> Answer:
    """Score a table, and write it."""
    from openset.formats import write

    scored = _scored(how.fitted, detections, how.threshold)
    write(scored, path, format="parquet")
    text = _line(how.fitted.name, path, scored, how.threshold)
    facts = _facts(path, scored, how.threshold)
    return Answer(text, lambda: facts)


def _first_part(folder: Path, files: Files) -> Detections:
    """The first part that has detections: what they all have the evidence of."""
    from openset.formats.parts import Parts
    from openset.refusals import wrong_kind
    from openset.tables import Detections

    parts = Parts.open(folder).finished()
    full = next((at for at, part in enumerate(parts.manifest.parts) if part.rows), 0)
    table = parts.read(full)
    if not isinstance(table, Detections):
        raise wrong_kind(str(folder), "detections")
    return files.whole(table)


def _score_parts(
    folder: Path, into: _parts.Into, how: _Scoring, step: Callable[[str], None]
) -> Answer:
    """Score a folder of parts, part by part; those that are done are skipped."""
    from openset.engines import Shard, find
    from openset.formats.parts import Parts, derived

    if into.folder.exists() and into.folder.samefile(folder):
        raise UsageError(f"-o {into.folder} is the folder that is scored: name another")

    source = Parts.open(folder)
    limit = None if how.threshold is None else how.threshold.threshold
    about = {**how.fitted.about, "threshold": limit}
    parts = Parts.plan(into.folder, derived(source, about))
    mine = (into.share or Shard()).mine(parts.missing)
    places = folder.resolve(), into.folder.resolve()
    name, engine = how.fitted.name, into.engine or find("local")
    engine.map(partial(_score_part, *places, how), mine, lambda done: step(f"{name}, part {done}"))
    left = Parts.open(into.folder)
    done = left if left.missing else left.close()
    text = f"{name}: {_parts.said(done, len(mine))}"
    return Answer(text, lambda: _parts.document(done, len(mine)))


def _score_part(folder: Path, into: Path, how: _Scoring, number: int) -> None:
    """Score one part, in whatever process."""
    from openset.tables import Detections

    table = _opened(folder).read(number)
    assert isinstance(table, Detections)
    scored = _scored(how.fitted, how.files.whole(table), how.threshold)
    _opened(into).add(number, scored)


@lru_cache(maxsize=2)
def _opened(folder: Path) -> Parts:
    """Parts, of which other processes make many; what the plan says does not change."""
    from openset.formats.parts import Parts

    return Parts.open(folder)


def _answer(
    lines: list[str], document: dict[str, Any], left_out: dict[str, InputError | UsageError]
) -> Answer:
    """What was written, and what was left out of "all", and why."""
    why = {name: _reason(error) for name, error in left_out.items()}
    files = " ".join(facts["out"] for facts in document.values())
    rows = [*lines, *(f"left out {name}: {words}" for name, words in why.items())]
    rows.append(f"next: openset evaluate GT {files}")
    more = {"left_out": why} if why else {}
    return Answer("\n".join(rows), lambda: {"scorers": document, **more}, code=1 if why else 0)


def _reason(error: InputError | UsageError) -> str:
    if isinstance(error, InputError):
        return "; ".join(f"{finding.code} {finding.message}" for finding in error.findings)
    return str(error)


def _line(name: str, path: Path, scored: Detections, threshold: Calibration | None) -> str:
    from openset.scorers import ledger

    words = f"wrote {path}: {len(scored)} detections by {name}"
    if threshold is not None:
        words += f", unknown above {threshold.threshold:.4g} (keeps {threshold.kept:.1%})"
    return f"{words}\n  {ledger.summary(scored)}"


def _facts(path: Path, scored: Detections, threshold: Calibration | None) -> dict[str, Any]:
    from dataclasses import asdict

    from openset.scorers import ledger

    return {
        "out": str(path),
        "detections": len(scored),
        "threshold": None if threshold is None else threshold.threshold,
        "ledger": [asdict(entry) for entry in ledger.entries(scored)],
    }
