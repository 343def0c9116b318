"""Inputs: from what is typed to what is evaluated.

Names for detectors from their file names, lists from commas, options from ``name=value``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.files import is_there, note_output, unwritable
from openset.findings import Finding, UsageError, refuse
from openset.tables.sets import Pair

if TYPE_CHECKING:
    from openset.cli._console import Output
    from openset.evaluation.result import Evaluation
    from openset.formats import FileFormat
    from openset.matching import Protocol
    from openset.tables import Annotations, Detections, Vocabulary

_SUFFIXES = {".json", ".jsonl", ".gz", ".csv", ".txt", ".parquet", ".bbox", ".result", ".npz"}
_SUFFIXES |= {".parts"}

_BUILT = "bundle.json"  # beside what `openset build` wrote


def model_names(paths: Sequence[Path]) -> dict[str, Path]:
    """A short name for each file, with its folder where names would be the same.

    >>> list(model_names([Path("a/yolo.json"), Path("b/detr.bbox.json")]))
    ['yolo', 'detr']
    >>> list(model_names([Path("a/dt.json"), Path("b/dt.json")]))
    ['a/dt', 'b/dt']
    """
    for depth in range(1, max((len(path.parts) for path in paths), default=0) + 1):
        named = {_short(path, depth): path for path in paths}
        if len(named) == len(paths):
            return named
    named = {str(path): path for path in paths}
    if len(named) < len(paths):
        twice = next(path for path in paths if list(paths).count(path) > 1)
        raise UsageError(f"{twice} is given twice")
    return named


def methods(given: Sequence[Path]) -> dict[str, list[Path]]:
    """The files of every method: ``name=a,b,c`` is several trainings of one, a file is a method.

    A name that is given again adds to its files, so that ``a={s0,s1}.json`` may be typed.

    >>> found = methods([Path("a=s0.json,s1.json"), Path("b.json")])
    >>> {name: [path.name for path in paths] for name, paths in found.items()}
    {'a': ['s0.json', 's1.json'], 'b': ['b.json']}
    >>> list(methods([Path("yolo-voc.json+yolo-coco.json")]))
    ['yolo']
    """
    alone = [path for path in given if not _named(path)]
    plain = dict(zip(alone, model_names([_called(path) for path in alone]), strict=True))
    found: dict[str, list[Path]] = {}
    for path in given:
        name, files = (plain[path], [path]) if path in plain else _parted(path)
        if path not in plain and name in plain.values():
            raise UsageError(f"two models are called {name!r}; choose another name")
        found.setdefault(name, []).extend(files)
    return found


BY_LEARN = "openset learn BUNDLE --recipe RECIPE -o FOLDER makes each"
"""What makes the chains of tasks, or the splits of a benchmark, that a table shows."""


def refuse_absent(paths: Sequence[Path], made_by: str) -> None:
    """Refuse rows of a table that are not there, all of them, with what makes them."""
    lost = [path for path in paths if not is_there(path)]
    if lost:
        some = f" ({len(lost)} of {len(paths)})" if len(paths) > 1 else ""
        cause = "not trained or not evaluated yet, a misspelt path, or one from another folder"
        said = f"no such file{some}: {', '.join(map(str, lost))}"
        raise refuse("OS101", said, count=len(lost), example=str(lost[0]), cause=cause, fix=made_by)


def halves(path: Path) -> Path | Pair[Path]:
    """A file, or ``a+b``: a detector's output on an ID and on an OOD set.

    >>> halves(Path("voc.json+coco.json")).ood.name
    'coco.json'
    """
    if "+" not in str(path) or is_there(path):  # a file may have a plus in its name
        return path
    parts = str(path).split("+")
    if len(parts) != 2 or not all(parts):
        raise UsageError(f"the output of one detector is FILE or ID_FILE+OOD_FILE, not {path}")
    return Pair(*map(Path, parts))


def _called(path: Path) -> Path:
    """What a detector's name is taken from: of two files, what their names begin with, or both."""
    both = halves(path)
    if isinstance(both, Path):
        return both
    pairs = zip(_short(both.id, 1), _short(both.ood, 1), strict=False)
    start = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    both_names = f"{_short(both.id, 1)}+{_short(both.ood, 1)}"
    return both.id.parent / (start.rstrip("-_. ") or both_names)


def _parted(path: Path) -> tuple[str, list[Path]]:
    name, _, text = str(path).partition("=")
    files = [Path(part) for part in text.split(",") if part]
    if not name or not files:
        raise UsageError(f"a method is NAME=FILE,FILE..., not {str(path)!r}")
    return name, files


def _named(path: Path) -> bool:
    """Whether a name stands before the files; a file may have such a name itself."""
    return "=" in str(path) and not is_there(path)


def read_result(path: Path) -> Evaluation:
    """A result of detectors or of classifiers, whichever the file says it is."""
    import json

    from openset.evaluation.result import Evaluation
    from openset.evaluation.run import check_result
    from openset.recognition import Recognition
    from openset.recognition.folder import FOLDER

    if path.is_dir():
        held = sorted(path.glob("*.result.json"))
        fix = f"name a result in it: {held[0]}" if held else "name a *.result.json"
        raise refuse("OS103", f"{path} is a folder, but a result was expected", fix=fix)
    if path.is_file():
        check_result(path)
        if FOLDER.is_in(path.parent):
            FOLDER.verify(path.parent, path.name)
    try:
        schema = json.loads(path.read_text("utf-8")).get("schema")
    except (OSError, ValueError, AttributeError, RecursionError):
        schema = ""  # what is wrong is said by who reads it
    return (Recognition if schema == Recognition.schema else Evaluation).from_json(path)


def read_results(path: Path) -> list[Evaluation]:
    """The results of one method: a file, RUN/NAME, or the folder of a run that has but one.

    Several results are trainings of the method; of `openset learn` on variants of a benchmark, the
    last stage of each.
    """
    from openset.cli._variants import last_of
    from openset.evaluation.learned import FILE as LEARNED
    from openset.evaluation.run import result_files
    from openset.recognition.folder import FOLDER

    learned = sorted(path.glob(f"*/{LEARNED}"))  # variants of one benchmark
    if learned and not is_there(path / LEARNED):
        return [last_of(one.parent) for one in learned]
    held = result_files(path) or (FOLDER.files(path) if FOLDER.is_in(path) else {})
    if len(held) == 1:
        return [read_result(file) for files in held.values() for file in files]
    if held:
        names = ", ".join(held)
        message = f"{path} holds {len(held)} methods, and one is compared: {names}"
        fix = f"name one of them, {path / next(iter(held))}"
        cause = "a run of several models was given"
        example = next(iter(held))
        raise refuse("OS103", message, count=len(held), example=example, cause=cause, fix=fix)
    return [read_result(file) for file in results_at(path)]


def results_at(path: Path) -> list[Path]:
    """The results that a path means: its own, or RUN/NAME, of one of the methods of a run."""
    from openset.evaluation.result_folder import RESULT
    from openset.evaluation.run import result_files
    from openset.recognition.folder import FOLDER

    if path.exists():
        return [path]
    run = path.parent
    held = result_files(run) or (FOLDER.files(run) if FOLDER.is_in(run) else {})
    named = path.with_name(path.name + RESULT)
    return held.get(path.name) or [named if named.is_file() else path]


def _short(path: Path, depth: int) -> str:
    last = path
    while last.suffix in _SUFFIXES and last.stem:
        last = last.with_suffix("")
    return "/".join([*path.parts[-depth:-1], last.name])


def listed(values: Sequence[str] | None) -> list[str]:
    """Values separated by commas, or given several times.

    >>> listed(["a,b", "c"])
    ['a', 'b', 'c']
    """
    return [part.strip() for value in values or () for part in value.split(",") if part.strip()]


def option_pairs(pairs: Sequence[str] | None, flag: str = "--option") -> dict[str, Any]:
    """Options given as ``name=value``: values are JSON, or else words.

    >>> option_pairs(["k=5", "layout=yolox"])
    {'k': 5, 'layout': 'yolox'}
    """
    import json

    found: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"{flag} must be name=value, not {pair!r}")
        try:
            found[name] = json.loads(text)
        except json.JSONDecodeError:
            found[name] = text
    return found


def files_of(out: Path, names: list[str], suffix: str = ".parquet") -> dict[str, Path]:
    """Where each scorer or rule writes to."""
    if not names:
        raise UsageError("no scorer can run on these detections: they have no logits or embeddings")
    if len(names) == 1 and out.suffix == suffix:
        return {names[0]: out}
    if out.suffix:
        raise UsageError(f"{len(names)} results need a folder to write to, not the file {out}")
    return file_places(out, names, suffix)


def file_places(out: Path, names: Sequence[str], suffix: str = ".parquet") -> dict[str, Path]:
    """A file of each name in a folder, which is made; a name may have folders of its own."""
    places = {name: out / f"{name}{suffix}" for name in names}
    for place in places.values():
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(place.parent, error) from error
        note_output(place)
    return places


def format_to_write(path: Path, name: str | None) -> FileFormat:
    """The format of the name that --to gives, or else the one that an ending chooses."""
    from openset.formats import formats
    from openset.plugins import lookup, record_of

    if name is not None:
        return record_of(lookup(formats(), name, "format"))
    records: list[FileFormat] = [record_of(cls) for cls in formats().values()]
    for record in records:
        if path.name.lower().endswith(record.suffixes or ("\0",)):
            return record
    known = ", ".join(suffix for record in records for suffix in record.suffixes)
    raise UsageError(f"cannot tell a format from {path.name!r} (known: {known}); name it: --to")


def protocol_with(name: str, pairs: Sequence[str] | None) -> Protocol | str:
    """A protocol by name, with the fields that ``field=value`` changes.

    >>> protocol_with("owod", ["recall=0.3", "iou=0.5,0.75"]).deviations()
    {'iou': ((0.5,), (0.5, 0.75)), 'recall': (0.8, 0.3)}
    """
    from dataclasses import asdict

    from openset.matching import Protocol
    from openset.options import chosen_options

    if not pairs:
        return name
    preset = Protocol.of(name)
    fields = {key: value for key, value in asdict(preset).items() if key != "name"}
    given = {k: _field(v, fields.get(k)) for k, v in option_pairs(pairs, "--set").items()}
    chosen = chosen_options(f"protocol {name!r}", given, fields, Protocol.__init__)
    return preset.but(**chosen)


def _field(value: Any, now: Any) -> Any:
    """What was typed for a field: a list is written with commas, and no value as none."""
    if value == "none":
        return None
    if not isinstance(now, tuple):
        return value
    items = value.split(",") if isinstance(value, str) else value
    listed = items if isinstance(items, list) else [items]
    pairs = (
        option_pairs([f"item={item}"]) if isinstance(item, str) else {"item": item}
        for item in listed
    )
    return tuple(pair["item"] for pair in pairs)


def tell_about(
    output: Output,
    table: Annotations | Detections,
    path: Path,
    truth: Annotations | None = None,
    vocabulary: Vocabulary | None = None,
    boxes: str = "xywh",
) -> None:
    """Say what is wrong with a file that a verb has read; `boxes` is how it was asked to read them.

    `evaluate` would say so, too; whoever only looks at a file, or makes another of it, should not
    have to measure something to hear it.
    """
    from dataclasses import replace

    from openset.tables.check import check_alone

    for finding in check_alone(table, truth, vocabulary):
        if finding.code == "OS205" and boxes != "xywh":
            fix = f"leave out --boxes {boxes}, or name another layout, if it is not theirs"
            finding = replace(finding, fix=f"{fix}; else {finding.fix}")
        output.report(finding, path.name)


def edited_since(path: Path) -> tuple[Finding, ...]:
    """What is wrong with a file of a built benchmark as such; any other costs no import."""
    if not (path.parent / _BUILT).is_file():
        return ()
    from openset.benchmarks.manifest import edited_since

    return edited_since(path)


def known_labels(values: Sequence[str] | None) -> str | list[str] | None:
    """What ``--known`` means: the name of a vocabulary or a file, labels, or nothing."""
    if not values:
        return None
    return values[0] if len(values) == 1 else listed(values)


def trained_model(path: Path) -> Path:
    """The model in a folder of `openset train`, or the file itself."""
    if not path.is_dir() or (path / "model.pt").is_file():
        return path / "model.pt" if path.is_dir() else path
    if any((path / name).is_file() for name in ("checkpoint.pt", "log.jsonl")):
        cause, fix = "it was stopped", "give the openset train command again: it goes on"
        raise refuse("OS101", f"the training in {path} is not finished", cause=cause, fix=fix)
    raise refuse("OS101", f"{path} has no model.pt", fix="name a folder that openset train made")
