"""The command line: ``openset VERB ...``.

A verb is a file in this package that defines ``app`` (see `openset.cli._app.verb`); its name is the
file's. It is imported when it is asked for, so heavy imports belong inside its function. A verb
returns an `Answer` and writes nothing itself: `_console` is the only module that writes.
"""

from __future__ import annotations

from openset.cli._main import main

__all__ = ["main"]
