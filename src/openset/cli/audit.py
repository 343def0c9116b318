"""audit: what is wrong with a benchmark?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Output
from openset.findings import UsageError

if TYPE_CHECKING:
    from openset.benchmarks.auditing import Audit
    from openset.benchmarks.bundle import Bundle
    from openset.benchmarks.definition import Kind

app = verb("audit", panel="Data")


@app.default
def audit(
    benchmarks: list[str] | None = None,
    /,
    *,
    lists: Path | None = None,
    train: list[Path] | None = None,
    finetune: list[Path] | None = None,
    val: list[Path] | None = None,
    test: list[Path] | None = None,
    ood: list[Path] | None = None,
    known: list[str] | None = None,
    images: Path | None = None,
    pretraining: list[str] | None = None,
    hierarchy: Path | None = None,
    descriptions: Path | None = None,
    second: Path | None = None,
    principles: list[str] | None = None,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Check benchmarks against seven principles: PASS, FAIL or UNKNOWN; exit 1 if one fails.

    Args:
        benchmarks: Folders that openset build made; or, with --lists, names such as owod.
        lists: A folder with published image lists, to audit these without annotations.
        train: Annotation files of your own: training images. 2=train.json is of task 2, unless it
            states that itself (info.task); so for all kinds below.
        finetune: Images on which a task is fine-tuned.
        val: Validation images.
        test: Test images.
        ood: Images that should hold nothing known.
        known: Labels the detector was taught: voc20, a file, or a,b,c.
        images: Folder of the images, to look for images that are the same or look alike.
        pretraining: What detectors were trained on before: imagenet, coco, none ...
        hierarchy: Open Images' bbox_labels_600_hierarchy.json.
        descriptions: Its class-descriptions-boxable.csv.
        second: Another annotation of the test images, or detections: what is left unlabelled?
        principles: Only these, a,b,c.
        out: Write the whole audit to a file: .json, for openset report --audit, or .md.
        output: How to speak.
    """
    files: dict[Kind, list[Path] | None] = {"train": train, "finetune": finetune, "val": val}
    files |= {"test": test, "ood": ood}
    bundles = _bundles(benchmarks or [], lists, files, known)
    options = {
        "images": images,
        "pretraining": _declared(pretraining),
        "hierarchy": hierarchy,
        "descriptions": descriptions,
        "second": second,
    }
    found = _audits(bundles, options, principles, output)
    if out is not None:
        _write(found, out, lists=lists is not None)
    return Answer(
        "\n\n".join(one.text() for one in found) + (f"\nwrote {out}" if out else ""),
        lambda: {"audits": [one.document() for one in found]},
        int(not all(one.passed for one in found)),
    )


def _audits(
    bundles: Sequence[Bundle], options: dict[str, Any], principles: list[str] | None, output: Output
) -> list[Audit]:
    from openset.benchmarks.auditing import audit as audited
    from openset.benchmarks.auditing import with_options
    from openset.cli._inputs import listed

    found = []
    with output.progress(len(bundles)) as step:
        for bundle in bundles:
            step(f"auditing {bundle.name}")
            found.append(audited(with_options(bundle, **options), listed(principles)))
    return found


def _declared(pretraining: list[str] | None) -> list[str] | None:
    """Data sets; "none" says that there is none, nothing that nothing is said."""
    from openset.cli._inputs import listed

    return None if pretraining is None else [k for k in listed(pretraining) if k != "none"]


def _bundles(
    names: Sequence[str],
    lists: Path | None,
    files: dict[Kind, list[Path] | None],
    known: list[str] | None,
) -> list[Bundle]:
    from openset.benchmarks.bundle import of_folder, of_lists
    from openset.benchmarks.own_files import WORLD, of_files, of_world
    from openset.cli._inputs import known_labels

    own = {kind: paths for kind, paths in files.items() if paths}
    if own and names:
        raise UsageError("give either benchmarks, or files with --train, --val, --test, --ood")
    if own or not names:
        return [of_files(own, known_labels(known))]
    if lists is not None:
        return [of_lists(name, lists) for name in names]
    for name in names:
        if not Path(name).is_dir():
            if Path(name).is_file():
                raise UsageError(
                    f"{name} is a file: give its folder, or say what it is: --test {name}"
                )
            raise UsageError(
                f"{name!r} is no folder; build it first (openset build {name} --source DIR -o DIR),"
                " or audit its published image lists with --lists DIR"
            )
    folders = [Path(name) for name in names]
    return [of_world(one) if (one / WORLD).is_file() else of_folder(one) for one in folders]


def _write(found: Sequence[Audit], out: Path, *, lists: bool) -> None:
    import json

    from openset.benchmarks.auditing import documents, page
    from openset.files import replacing

    if out.suffix == ".json":
        text = json.dumps(documents(found), indent=1) + "\n"
    else:
        text = page(found, lists=lists)
    with replacing(out, folder=False) as target:
        target.write_text(text, "utf-8")
