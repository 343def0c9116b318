"""The command line: ``openset VERB ...``.

A verb is a file in this package, or an entry point of the group ``openset.cli``, that defines
``app = verb(...)``; its name is the file's, or the entry point's. It is imported when it is asked
for, so heavy imports belong inside its function. A verb returns an `Answer` and writes nothing
itself: `_console` is the only module that writes.
"""

from __future__ import annotations

from openset.cli._app import verb
from openset.cli._console import Answer, Output
from openset.cli._main import main

__all__ = ["Answer", "Output", "main", "verb"]
