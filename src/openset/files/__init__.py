"""Files: bytes with located errors, and writing so that a crash leaves no half file.

Reading is in `loading`, `arrays` and `markup`, names and pictures have files of their own. What a
command reads is `kept` from what it writes in `writing`; `locks` keep two commands apart.
"""

from openset.files.arrays import load_arrays
from openset.files.kept import (
    PICTURES,
    command_given,
    keeping,
    note_output,
    note_read,
    note_replaced,
    refuse_kept,
)
from openset.files.loading import (
    BOM,
    HEAD,
    digest,
    head,
    is_gzip,
    is_there,
    listing,
    load,
    load_list,
    load_text,
    visible,
)
from openset.files.locks import alone
from openset.files.markup import parse_yaml, toml
from openset.files.names import file_stems, safe_name, safe_path
from openset.files.pictures import ImageFolder
from openset.files.writing import clear_leftovers, replacing, save, target_of, unwritable

__all__ = [
    "BOM",
    "HEAD",
    "PICTURES",
    "ImageFolder",
    "alone",
    "clear_leftovers",
    "command_given",
    "digest",
    "file_stems",
    "head",
    "is_gzip",
    "is_there",
    "keeping",
    "listing",
    "load",
    "load_arrays",
    "load_list",
    "load_text",
    "note_output",
    "note_read",
    "note_replaced",
    "parse_yaml",
    "refuse_kept",
    "replacing",
    "safe_name",
    "safe_path",
    "save",
    "target_of",
    "toml",
    "unwritable",
    "visible",
]
