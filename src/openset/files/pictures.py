"""A folder of images, in which pictures are found by the names of a ground truth."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from openset.findings import refuse
from openset.refusals import shown

DEEPEST = 8  # folders of a file name that are looked at


class ImageFolder:
    """A folder of images, found by file name inside of it and nowhere else.

    Names come with a ground truth, from anywhere: none leads out of the folder. Links in it are its
    owner's, and followed: pictures are often links to a data disk.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise refuse(
                "OS101",
                f"no such folder of images: {folder}",
                fix="give the folder that holds the images",
            )
        self.folder = folder.resolve()

    def lost_links(self) -> tuple[str, str]:
        """Cause and fix where links in the folder lead nowhere; nothing where none does."""
        lost = [path for path in self.folder.iterdir() if path.is_symlink() and not path.exists()]
        if not lost:
            return "", ""
        first = min(lost)
        cause = f"{len(lost)} links in the folder lead nowhere, such as {first.name} to "
        cause += f"{shown(str(first.readlink()))}"
        return cause, "mount the disk that they lead to, or give the folder of the files"

    def find(self, name: str) -> Path | None:
        """The file of an image, by its path or the end of it, inside of the folder.

        So it does not matter whether the folder is the one that the file names start from.
        """
        parts = PurePosixPath(name.replace("\\", "/")).parts[-DEEPEST:]
        for start in range(len(parts)):
            inner = parts[start:]
            if ".." in inner or PurePosixPath(inner[0]).is_absolute():
                continue
            try:
                path = self.folder.joinpath(*inner)
                if path.is_file():
                    return path
            except (OSError, ValueError):  # a name that no file system takes
                continue
        return None
