"""The command line: ``openset VERB ...``.

A verb is a file in this package, or an entry point of the group ``openset.cli``, that defines
``app = verb(...)``; its name is the file's, or the entry point's. It is imported when it is asked
for, so heavy imports belong inside its function. A verb returns an `Answer` and writes nothing
itself: `_terminal` is the only module that writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openset.cli._main import main
from openset.late import late

if TYPE_CHECKING:
    from openset.cli._app import verb
    from openset.cli._console import Answer, Output

__all__ = ["Answer", "Output", "main", "verb"]
__getattr__ = late(__name__, {"verb": "_app", "Answer": "_console", "Output": "_console"})
