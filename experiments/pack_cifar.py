"""CIFAR in five archives of less than 30 MB, for a machine that takes few of them at a time.

    python experiments/pack_cifar.py pack PACKED --folder CIFAR10 --unknown-folder CIFAR100
    python experiments/pack_cifar.py unpack PACKED/cifar-1.npz ... --folder DATA

`pack` reads any layout that the package reads; `unpack` writes the official binary files, needs
NumPy only, and may be called archive by archive: what is there is kept until all is. Lossless:
every pixel is what its neighbours above and to the left promise (the median edge detector of
JPEG-LS) plus a difference, colours are differences from green, and NumPy compresses the rest to
three fifths. Four archives hold CIFAR-10, the fifth what CIFAR+10 and CIFAR+50 need beside it.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

Bytes = NDArray[np.uint8]
Part = tuple[str, str, tuple[int, ...]]
ARCHIVES: dict[str, tuple[Part, ...]] = {
    "cifar-1.npz": (("cifar10", "train", (0, 1, 2)),),
    "cifar-2.npz": (("cifar10", "train", (3, 4, 5)),),
    "cifar-3.npz": (("cifar10", "train", (6, 7, 8)),),
    "cifar-4.npz": (("cifar10", "train", (9,)), ("cifar10", "test", tuple(range(10)))),
    "cifar-5.npz": (("cifar100", "test", tuple(range(100))),),
}
MOST = 30 * 10**6


def main() -> None:
    """Pack or unpack."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("pack", "unpack"))
    parser.add_argument("paths", type=Path, nargs="+", help="a folder for archives, or archives")
    parser.add_argument("--folder", type=Path, required=True, help="of CIFAR-10, or to unpack in")
    parser.add_argument("--unknown-folder", type=Path, help="of CIFAR-100, if it is another")
    given = parser.parse_args()
    if given.what == "pack":
        pack(given.paths[0], given.folder, given.unknown_folder or given.folder)
    else:
        unpack(given.paths, given.folder)


def pack(out: Path, ten: Path, hundred: Path) -> None:
    """Write the archives."""
    from openset.recognition.data import Wanted, table

    out.mkdir(parents=True, exist_ok=True)
    for name, parts in ARCHIVES.items():
        held: dict[str, Any] = {}
        for data, part, classes in parts:
            folder = ten if data == "cifar10" else hundred
            samples = table()[data].read(Wanted(folder, part, classes, 32)).of(classes)  # type: ignore[arg-type]
            key = f"{data}-{part}-{classes[0]}"
            held |= {f"{key}-label": samples.label.astype(np.uint8), key: encoded(samples.images)}
            held[f"{key}-sha256"] = sha256(samples.images.tobytes()).hexdigest()
        np.savez_compressed(out / name, **held)
        size = (out / name).stat().st_size
        print(f"{name} {size / 1e6:.1f} MB")
        if size > MOST:
            raise SystemExit(f"{name} has {size} bytes, and should not have more than {MOST}")


def unpack(paths: list[Path], folder: Path) -> None:
    """Keep what the archives hold, and write the official files of what is whole."""
    kept = folder / "unpacked"
    kept.mkdir(parents=True, exist_ok=True)
    for path in paths:
        with np.load(path) as held:
            for key in (name for name in held.files if name.count("-") == 2):
                images = decoded(held[key])
                if sha256(images.tobytes()).hexdigest() != str(held[f"{key}-sha256"]):
                    raise SystemExit(f"{path}: {key} is not what was packed")
                np.savez(kept / f"{key}.npz", images=images, label=held[f"{key}-label"])
    _write(kept, "cifar10-train", 10, folder / "cifar-10-batches-bin", 5)
    _write(kept, "cifar10-test", 10, folder / "cifar-10-batches-bin", 1)
    _write(kept, "cifar100-test", 100, folder / "cifar-100-binary", 1)


def _write(kept: Path, key: str, classes: int, folder: Path, files: int) -> None:
    names = [f"data_batch_{i}.bin" for i in range(1, 6)] if files > 1 else ["test_batch.bin"]
    names = ["test.bin"] if classes == 100 else names
    if all((folder / name).is_file() for name in names):  # a training may be reading them
        return
    found = [np.load(path) for path in sorted(kept.glob(f"{key}-*.npz"))]
    label = np.concatenate([np.empty(0, np.uint8), *(one["label"] for one in found)])
    if len(np.unique(label)) < classes:
        print(f"{key}: {len(np.unique(label))} of {classes} classes are there")
        return
    images = np.concatenate([one["images"] for one in found])
    order = np.random.default_rng(0).permutation(len(label))  # the official files are mixed
    columns = [label[order][:, None]] * (1 if classes == 10 else 2)  # of a hundred: a superclass
    planes = images[order].transpose(0, 3, 1, 2).reshape(len(label), -1)
    rows = np.concatenate([*columns, planes], axis=1)
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in zip(names, np.array_split(rows, files), strict=True):
        part.tofile(folder / name)
    print(f"{key}: {len(label)} pictures in {folder.name}")


def encoded(images: Bytes) -> Bytes:
    """Differences from what neighbours promise: green, red and blue less green."""
    red, green, blue = (images[..., channel] for channel in range(3))
    planes = np.stack([green ^ 128, red - green, blue - green])  # bytes wrap around, and back
    signed = planes.view(np.int8).astype(np.int16)
    left, above, corner = (np.zeros_like(signed) for _ in range(3))
    left[..., 1:], above[..., 1:, :] = signed[..., :-1], signed[..., :-1, :]
    corner[..., 1:, 1:] = signed[..., :-1, :-1]
    left[..., 1:, 0] = corner[..., 1:, 0] = above[..., 1:, 0]
    above[..., 0, 1:] = corner[..., 0, 1:] = left[..., 0, 1:]
    return (signed - _promised(left, above, corner)).astype(np.uint8)


def decoded(code: Bytes) -> Bytes:
    """The pictures again; some at a time, which fit a processor's cache."""
    with ThreadPoolExecutor() as pool:
        parts = pool.map(
            _decoded, (code[:, at : at + 2000] for at in range(0, code.shape[1], 2000))
        )
        return np.concatenate(list(parts))


def _decoded(code: Bytes) -> Bytes:
    """Pixel by pixel of all pictures, which lie side by side."""
    code = np.ascontiguousarray(code.transpose(2, 3, 0, 1))
    signed = np.zeros(code.shape, np.int16)
    for y, x in np.ndindex(*code.shape[:2]):
        above = signed[y - 1, x] if y else signed[y, x - 1]
        left = signed[y, x - 1] if x else above
        corner = signed[y - 1, x - 1] if x and y else left
        if x or y:
            value = code[y, x] + _promised(left, above, corner)
            signed[y, x] = value.astype(np.uint8).view(np.int8)
        else:
            signed[y, x] = code[y, x].view(np.int8)
    green, red, blue = signed.astype(np.uint8).transpose(2, 3, 0, 1)
    green = green ^ 128
    return np.ascontiguousarray(np.stack([red + green, green, blue + green], axis=-1))


def _promised(left: Any, above: Any, corner: Any) -> Any:
    low, high = np.minimum(left, above), np.maximum(left, above)
    return np.where(corner >= high, low, np.where(corner <= low, high, left + above - corner))


if __name__ == "__main__":
    main()
