"""run: a detector over images, its boxes with what they were made from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from openset.cli import _found, _parts
from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.cli._engine import Where
from openset.cli._source import Labels, Source, labels_of, refuse_other_labels
from openset.findings import UsageError, refuse
from openset.nets.processes import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openset.detectors import Elsewhere, ImageFiles, Model
    from openset.nets.films import Frames
    from openset.tables import Annotations

app = verb("run", panel="Models")
ALL = "all"
SAMPLED = ("logit_samples", "box_samples")  # what passes with dropout are for


@app.default
def run(
    model: str,
    data: list[Path],
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
            written to a folder; or a ground truth, whose image ids are then used, or several.
        out: File to write, Parquet; or a folder of parts, *.parts. For photos by default a new
            file, named after them. Of several ground truths, a folder with a file for each.
        images: What the names of images in the ground truth are relative to; by default its folder,
            or the one that a data.yaml names.
            Given several times where data sets are mixed, or ground truths are of several.
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

    named = {"score": minimum_score, "passes": passes, "observations": observations or None}
    job = _Job(
        partial(Source, model, weights, device=device, options=_options(option, named)),
        known,
        images,
        listed(evidence),
        {"regions": regions, "batch": batch, "decoders": decoders, "split": split},
        unreadable,
        every,
        per_part,
        shard,
        where,
        output,
    )
    if len(data) == 1:
        return job.done(data[0], out)
    if split is not None:
        raise UsageError("--split names the images of one ground truth; run the others separately")
    places = _places(out, data, images)
    texts, runs = [], []
    for each, place in places.items():
        answer = job.done(each, place)
        texts.append(answer.text)
        runs.append(answer.document())
    return Answer("\n\n".join(filter(None, texts)), lambda: {"runs": runs})


@dataclass
class _Job:
    """What is done with every ground truth, or with the photos, of a command.

    Attributes:
        source: Makes the model's source, of the labels.
        known: Labels of the detector, if given.
        images: What names of images are relative to.
        evidence: What to keep.
        how: How images are run over.
        unreadable: What to do with images that cannot be decoded.
        every: Seconds between frames of a film.
        per_part: Images of a part.
        shard: Which parts to make.
        where: Where parts are made.
        output: How to speak.
        loaded: The model, once it is there, for the next ground truth of the same labels.
    """

    source: Callable[[Labels], Source]
    known: list[str] | None
    images: list[Path] | None
    evidence: list[str]
    how: Mapping[str, Any]
    unreadable: Literal["refuse", "skip"] | None
    every: float
    per_part: int | None
    shard: str | None
    where: Where
    output: Output
    loaded: tuple[Source, Model] | None = None

    def done(self, data: Path, out: Path | None) -> Answer:
        """Run over a folder of photos, a photo, a film or a ground truth."""
        from openset.detectors import run as run_model
        from openset.formats import write
        from openset.nets.processes import is_first

        photos, output = _is_images(data), self.output
        out = _place(out, data if photos else None)
        truth = None if photos else _truth(data, output)
        source = self.source(labels_of(self.source(None), self.known, truth))
        elsewhere = _elsewhere(self.where, source)
        self._refuse_parts(out)
        loaded = self._loaded(source)
        data = _frames(data, out, self.every, output)
        files = _files(data, truth, self.images)
        if is_first():
            _found.report_foreign(data, output)
        how = {
            **self.how,
            "keep": _kept(loaded, self.evidence, regions=self.how["regions"]),
            "unreadable": self.unreadable or ("skip" if photos else "refuse"),
            "split": self.how["split"] or _split(data),
        }
        if out.suffix == _parts.SUFFIX:
            into = _parts.Into(out, self.per_part, self.shard)
            return _in_parts(loaded, files, how, into, output, elsewhere)
        with output.track(len(files), "images") as at:
            found = run_model(loaded, files, **how, progress=lambda done, of: at(done, "images"))
        if not is_first():
            return Answer("")
        about = found.provenance
        _found.report_skipped(about.get("skipped_images", ()), about["images"], output)
        write(found, out, format="parquet")
        _found.report_resized(found, output)
        _found.report_nothing(found, output)
        text = _found.text(found, out, data if photos else None)
        return Answer(text, partial(_found.document, found, out))

    def _refuse_parts(self, out: Path) -> None:
        """Refuse what is said of parts where there are none."""
        if out.suffix == _parts.SUFFIX:
            return
        self.where.refuse(f"parts are made there: -o {out.stem}{_parts.SUFFIX}")
        if self.per_part is not None or self.shard is not None:
            raise UsageError(f"--per-part and --shard are for parts: -o {out.stem}{_parts.SUFFIX}")

    def _loaded(self, source: Source) -> Model:
        if self.loaded is None or self.loaded[0] != source:
            model = source()
            if self.known is not None:
                refuse_other_labels(source.model, model.labels, source.labels or ())
            self.loaded = source, model
        return self.loaded[1]


def _places(out: Path | None, data: Sequence[Path], images: list[Path] | None) -> dict[Path, Path]:
    """Where to write for each of several ground truths: a file of its name in a folder.

    Refuses now what would otherwise end the command after the first of them.
    """
    from openset.cli._inputs import file_places, model_names
    from openset.formats import read_annotations

    photos = next(filter(_is_images, data), None)
    if photos is not None:
        raise UsageError(f"several ground truths may be given, or photos once: {photos}")
    if out is None or out.suffix:
        raise UsageError(f"{len(data)} ground truths need a folder to write to: -o FOLDER")
    named = model_names(data)
    for path in data:
        _files(path, read_annotations(path), images)
    return dict(zip(named.values(), file_places(out, list(named)).values(), strict=True))


def _elsewhere(where: Where, source: Source) -> Elsewhere | None:
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
    _found.report_skipped(done.skipped, images - len(done.skipped), output)
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


def _options(pairs: list[str] | None, named: dict[str, Any]) -> str:
    from openset.cli._inputs import option_pairs

    given = {key: one for key, one in named.items() if one is not None}
    return json.dumps(option_pairs(pairs) | given)


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
