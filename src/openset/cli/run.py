"""run: a detector over images, its boxes with what they were made from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from openset.cli import _parts
from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.cli._engine import Where
from openset.findings import Finding, Level, UsageError, refuse
from openset.nets.processes import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openset.detectors import Elsewhere, ImageFiles, Model
    from openset.nets.films import Frames
    from openset.tables import Annotations, Detections

app = verb("run", panel="Models")
ALL = "all"
SAMPLED = ("logit_samples", "box_samples")  # what passes with dropout are for


@app.default
def run(
    model: str,
    data: Path,
    /,
    *,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    images: list[Path] | None = None,
    weights: Path | None = None,
    known: list[str] | None = None,
    evidence: list[str] | None = None,
    regions: Flag = False,
    minimum_score: float | None = None,
    passes: int | None = None,
    observations: Flag = False,
    option: list[str] | None = None,
    split: str | None = None,
    batch: int = 8,
    decoders: int = 0,
    device: str | None = None,
    unreadable: Literal["refuse", "skip"] | None = None,
    every: float = 1.0,
    per_part: int | None = None,
    shard: str | None = None,
    where: Where = Where(),  # noqa: B008 - frozen
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Run a detector over images and keep logits and embeddings of every box.

    The last layer travels with the embeddings, for the scorers that need it.

    Under torchrun the images are shared: torchrun --nproc-per-node 8 -m openset run ...

    -o found.parts writes parts, each as soon as it is done. Given again, the command goes on where
    it was stopped; with --shard 3/16 it makes every sixteenth part, so that many machines can share
    the work.

    Args:
        model: A folder or model.pt that `openset train` has made, an .onnx file, or a name that
            `openset list detectors` shows, with --weights.
        data: A folder of photos, a photo, or a film (where OpenCV is installed), whose frames are
            written to a folder; or a ground truth, whose image ids are then used.
        out: File to write, Parquet; or a folder of parts, *.parts. For photos by default a new
            file, named after them.
        images: What the names of images in the ground truth are relative to; by default its folder,
            or the one that a data.yaml names.
            Given several times where data sets are mixed.
        weights: A local file of weights, or a folder of transformers, for a detector by name.
        known: Labels of the detector, in its order, if it does not say so itself (as exports of
            ultralytics do): voc20 ..., a file, or a,b,c. By default those that the ground truth
            calls known, or all.
        evidence: What to keep of every box, a,b,c, or "all"; by default logits and embeddings.
        regions: All pairs of a region and a class, before suppression and whatever their number,
            with their logits: what `openset score --rule gamma` decides on.
        minimum_score: Boxes with a lower score are dropped; most unknown objects score low.
        passes: Dropout sampling of a two-stage detector: boxes and scores of every region are means
            of so many passes, and logit_samples and box_samples are kept.
        observations: Let every such pass detect for itself; what overlaps is one detection, and its
            entropy the unknownness.
        option: An option of the detector, as name=value.
        split: What the images are called, for the ledger of scorers; by default folder and file.
        batch: Images at a time.
        decoders: Processes that decode images, so that a GPU does not wait for threads; 0 is none.
        device: Such as cpu or cuda:1; by default a GPU where there is one.
        unreadable: Refuse images that cannot be decoded, or skip and name them; by default refuse
            those of a ground truth, whose numbers would be of other images, and skip photos.
        every: Seconds from one frame of a film to the next; 0 for all frames.
        per_part: Images of a part, 2000; whole batches.
        shard: Which of the parts to make: 3/16, the third of sixteen shards; auto, as SLURM says to
            the tasks of an array; auto/16 for an indexed job of Kubernetes.
        where: Where parts are made, with -o found.parts.
        output: How to speak.
    """
    from openset.cli._inputs import listed
    from openset.detectors import run as run_model
    from openset.formats import write
    from openset.nets.processes import is_first

    photos = _is_images(data)
    out = _place(out, data if photos else None)
    truth = None if photos else _truth(data, output)
    named = {"score": minimum_score, "passes": passes, "observations": observations or None}
    options = _options(option, named)
    labels = _labels(model, weights, known, truth)
    source = _Source(model, weights, labels, device, json.dumps(options))
    elsewhere = _elsewhere(where, source)
    if out.suffix != _parts.SUFFIX:
        where.refuse(f"parts are made there: -o {out.stem}{_parts.SUFFIX}")
        if per_part is not None or shard is not None:
            raise UsageError(f"--per-part and --shard are for parts: -o {out.stem}{_parts.SUFFIX}")
    loaded = source()
    if known is not None:
        _refuse_other_labels(model, loaded.labels, labels or ())
    data = _frames(data, out, every, output)
    files = _files(data, truth, images)
    if is_first():
        _report_foreign(data, output)
    how: dict[str, Any] = {
        "keep": _kept(loaded, listed(evidence), regions=regions),
        "batch": batch,
        "decoders": decoders,
        "unreadable": unreadable or ("skip" if photos else "refuse"),
        "regions": regions,
        "split": split or _split(data),
    }
    if out.suffix == _parts.SUFFIX:
        into = _parts.Into(out, per_part, shard)
        return _in_parts(loaded, files, how, into, output, elsewhere)
    with output.track(len(files), "images") as at:
        found = run_model(loaded, files, **how, progress=lambda done, of: at(done, "images"))
    if not is_first():
        return Answer("")
    about = found.provenance
    _report_skipped(about.get("skipped_images", ()), about["images"], output)
    write(found, out, format="parquet")
    _report_resized(found, output)
    _report_nothing(found, output)
    return Answer(_text(found, out, data if photos else None), lambda: _document(found, out))


def _elsewhere(where: Where, source: _Source) -> Elsewhere | None:
    """Other processes to run in, if some were asked for."""
    from openset.detectors import Elsewhere

    engine = where.chosen()
    if engine is None or engine.name == "local":
        return None
    if engine.name == "threads":
        where.refuse("a model is in use by one thread at a time; --engine processes has several")
    if number() > 1:
        where.refuse("torchrun has started processes already, and they share the parts")
    return Elsewhere(engine, source)


def _in_parts(
    model: Model,
    files: ImageFiles,
    how: dict[str, Any],
    into: _parts.Into,
    output: Output,
    elsewhere: Elsewhere | None,
) -> Answer:
    from openset.detectors import part_plan, run_in_parts
    from openset.engines import Shard
    from openset.formats.parts import Parts
    from openset.nets.processes import is_first

    share = into.share
    size = {} if into.per_part is None else {"per_part": into.per_part}
    parts = Parts.plan(into.folder, part_plan(model, files, **size, **how))
    before = len(parts.missing)
    with output.track(len((share or Shard()).mine(parts.missing)), "parts") as at:
        done = run_in_parts(
            model,
            files,
            parts,
            shard=share,
            elsewhere=elsewhere,
            progress=lambda k, of: at(k, "parts"),
            **how,
        )
    if not is_first():
        return Answer("")
    images = sum(len(part.images) for part in done.manifest.parts if part.done)
    _report_skipped(done.skipped, images - len(done.skipped), output)
    return _parts.answer(done, before - len(done.missing))


def _place(out: Path | None, photos: Path | None) -> Path:
    """Where to write, or early a refusal of what could not be written after a long run."""
    if out is None:
        if photos is None:
            raise UsageError("-o FILE.parquet says where detections are written")
        out = Path(f"{photos.resolve().stem}.parquet")
        if out.exists():
            raise UsageError(f"{out} is there already; -o FILE.parquet says where to write")
    if out.suffix not in (".parquet", _parts.SUFFIX):
        raise UsageError(
            f"detections are written with their evidence, as Parquet: {out.name} should end in "
            ".parquet (openset convert makes other formats of it)"
        )
    return out


def _frames(data: Path, out: Path, every: float, output: Output) -> Path:
    """The folder to which the frames of a film were written; what is no film stays."""
    from openset.nets.films import SUFFIXES, frames_in

    if data.is_dir() or data.suffix.lower() not in SUFFIXES:
        return data
    if not data.is_file():
        raise refuse("OS602", f"no such film: {data}")
    folder = out.with_name(f"{out.stem}-frames")
    before = frames_in(folder, data, every)
    found = before or _written(data, folder, every)
    for finding in found.findings():
        output.report(finding)
    count = f"{found.written} of {found.there} frames"
    output.say(f"{folder} has {count} already" if before else f"wrote {count} to {folder}")
    return folder


def _written(film: Path, folder: Path, every: float) -> Frames:
    from openset.files import replacing
    from openset.nets.films import write_frames

    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(
            f"{folder} holds something else than a frame of {film} every {every:g} seconds; move "
            "it away, or write elsewhere with -o"
        )
    with replacing(folder, folder=True) as target:
        target.mkdir()
        return write_frames(film, target, every)


def _is_images(data: Path) -> bool:
    from openset.nets import films, pictures

    return data.is_dir() or data.suffix.lower() in pictures.SUFFIXES | films.SUFFIXES


def _truth(data: Path, output: Output) -> Annotations:
    from openset.cli._inputs import tell_about
    from openset.formats import read_annotations

    truth = read_annotations(data)
    tell_about(output, truth, data)
    return truth


def _files(data: Path, truth: Annotations | None, images: list[Path] | None) -> ImageFiles:
    from openset.detectors import ImageFiles

    if truth is not None:
        from openset.formats.yolo import image_folder

        return ImageFiles.of_annotations(truth, images or image_folder(data))
    if images is not None:
        raise UsageError("--images belongs to a ground truth; the images were given themselves")
    return ImageFiles.of(data)


def _options(pairs: list[str] | None, named: dict[str, Any]) -> dict[str, Any]:
    from openset.cli._inputs import option_pairs

    return option_pairs(pairs) | {key: one for key, one in named.items() if one is not None}


def _labels(
    model: str, weights: Path | None, known: list[str] | None, truth: Annotations | None
) -> tuple[str, ...] | None:
    """Labels for a detector: as given, as its own file names them, or as the truth has them."""
    from openset.cli._inputs import known_labels
    from openset.detectors import onnx, transformers
    from openset.tables import Vocabulary
    from openset.training.data import taught

    if known is not None:
        return Vocabulary.of(known_labels(known), truth).known
    named = onnx.names_in(Path(model)) if model.endswith(".onnx") else None
    if weights is not None and weights.is_dir():
        named = transformers.names_in(weights)
    return named if named or truth is None else taught(truth)


def _refuse_other_labels(model: str, own: Sequence[str], given: Sequence[str]) -> None:
    """Refuse labels that a model which says its own does not have: they would change nothing."""
    from openset.wording import some

    if set(own) != set(given):
        raise UsageError(
            f"{model} has {len(own)} labels of its own ({some(own, 3)}), and --known names "
            f"{len(given)} ({some(given, 3)}): leave --known out"
        )


@dataclass(frozen=True)
class _Source:
    """Where a model comes from: what was typed, so that other processes can make it, too.

    Attributes:
        model: A folder, a file, or the name of a detector.
        weights: A file of weights for a name.
        labels: What it calls its classes, if it does not say so itself.
        device: Where it runs.
        options: Options of the detector, as JSON.
    """

    model: str
    weights: Path | None
    labels: tuple[str, ...] | None
    device: str | None
    options: str

    def __call__(self) -> Model:
        """The model."""
        from openset.cli._inputs import trained_model
        from openset.detectors import find, load
        from openset.nets.processes import own_device

        model, weights, labels = self.model, self.weights, self.labels
        options: dict[str, Any] = json.loads(self.options)
        path, place = Path(model), own_device(self.device)
        if path.suffix == ".onnx":
            record, options = find("yolo_onnx"), {**options, "file": model}
        elif path.is_dir() or path.suffix:
            if weights is not None:
                raise UsageError(f"--weights belongs to a detector by name; {model} has its own")
            return load(str(trained_model(path)), device=place, **options)
        else:
            record = find(model)
            if not record.learned:
                return record.build(labels or (model,), device=place, **options)
            options = _weighted(model, "folder" in record.options, weights, options)
        if labels is None:
            raise UsageError(
                f"--known says what {model} calls its classes, in its order: coco80 for most "
                "models of COCO, a file, or a,b,c"
            )
        file = str(weights) if weights is not None and "folder" not in options else None
        return record.build(labels, weights=file, device=place, **options)


def _weighted(
    name: str, has_folder: bool, weights: Path | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Options with the folder of a model of transformers; without weights they would be random."""
    if weights is None and not options.get("folder"):
        raise UsageError(f"--weights gives {name} its weights; without them it would guess")
    return {**options, "folder": str(weights)} if weights and has_folder else options


def _kept(model: Model, names: list[str], *, regions: bool) -> tuple[Any, ...]:
    """The evidence asked for; what the detector does not have is only refused if it was named."""
    from openset.detectors import KEPT, OF_REGIONS, find

    there = find(model.about["detector"]).keeps
    if names == [ALL]:
        return there
    if regions:
        usual = tuple(column for column in OF_REGIONS if column in there)
        return tuple(dict.fromkeys([*usual, *names]))
    chosen = model.about["options"]
    averaged = chosen.get("passes") and not chosen.get("observations")
    wanted = (*KEPT, *SAMPLED) if averaged else KEPT
    return tuple(names) or tuple(column for column in wanted if column in there)


def _split(data: Path) -> str:
    where = data.resolve()
    return where.name if where.is_dir() else f"{where.parent.name} {where.stem}"


def _report_skipped(skipped: Sequence[str], decoded: int, output: Output) -> None:
    """Name the images that were left out; refused where that are all."""
    from openset.nets.pictures import undecoded

    if skipped and not decoded:
        raise refuse("OS603", "no image can be decoded", count=len(skipped), example=skipped[0])
    if skipped:
        output.report(undecoded(skipped))


def _report_foreign(data: Path, output: Output) -> None:
    """Say which pictures of a folder were not among its images."""
    from openset.nets.pictures import not_read

    left_out = not_read(data) if data.is_dir() else []
    if left_out:
        message = f"{len(left_out)} pictures of {data} are of formats that are not read"
        output.report(Finding("OS392", Level.WARNING, message, len(left_out), left_out[0].name))


def _report_resized(found: Detections, output: Output) -> None:
    """Say that boxes were scaled, if so."""
    resized = found.provenance.get("resized_images", ())
    if not resized:
        return
    from openset.tables.picture_sizes import resized_finding

    output.report(resized_finding(resized, found.provenance["images"]))


def _report_nothing(found: Detections, output: Output) -> None:
    """Say that nothing was found, which may be right of photos."""
    if len(found):
        return
    message = f"0 detections for {found.provenance['images']} images"
    output.report(Finding("OS402", Level.NOTE, message, 0))


def _text(found: Detections, out: Path, photos: Path | None) -> str:
    from openset.detectors import find

    about = found.provenance
    kept = ", ".join(_evidence(found)) or "no evidence"
    regions = "regions" in about
    what = "pairs of a region and a class" if regions else "boxes"
    then = _next(found, out)
    if regions and found.layout is not None and found.layout.has_unknown:
        then = "the same without --regions: the detector says unknown itself, and a rule would not"
    if not find(about["model"]["detector"]).learned:
        then = f"openset train RECIPE DATA --method pad --method-option advisor={out} -o DIR"
    elif photos is not None and not regions:
        then = f"openset draw {out} --images {photos}"
        if found.unknownness is not None:
            then += " --unknown-from 10%"
        elif found.logits is not None:
            then += " --unknownness energy --unknown-from 10%"
    lines = [
        f"{about['model']['detector']} found {len(found)} {what} on {about['images']} images, "
        f"kept {kept}",
        f"wrote {out}",
        f"next: {then}",
    ]
    return "\n".join(lines)


def _next(found: Detections, out: Path) -> str:
    """What makes unknowns of these detections, or measures those that they have."""
    if "regions" in found.provenance:
        how = "--rule gamma --option gamma=15"
    elif found.layout is not None and found.layout.has_unknown:
        return f"openset evaluate GT {out}"
    elif found.unknownness is not None:  # another score would take the place of the detector's own
        how = "--scorers own --calibrate HELD-OUT.parquet"
    elif "shortcut" in found.attributes:
        how = "--scorers safe --fit ATTACKED.parquet"
    elif "logit_samples" in found.attributes:
        how = "--scorers dropout_mean"
    else:
        how = "--scorers energy"
    return f"openset score {out} {how} -o FILE.parquet"


def _evidence(found: Detections) -> list[str]:
    held = {"logits": found.logits, "embedding": found.embedding, "head": found.head}
    return [name for name, part in {**held, **found.attributes}.items() if part is not None]


def _document(found: Detections, out: Path) -> dict[str, Any]:
    return {
        "out": str(out),
        "detections": len(found),
        "labels": found.labels,
        "evidence": _evidence(found),
        "provenance": dict(found.provenance),
    }
