"""main: parse, run the verb, print its answer, and turn every outcome into an exit code.

0 computed; 1 computed and the answer is no; 2 could not compute; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from inspect import BoundArguments
from typing import Any

from cyclopts import CycloptsError

from openset.cli._app import build, complete_help, verbs
from openset.cli._console import (
    SCHEMA_VERSION,
    Answer,
    Output,
    finding_text,
    wrapped,
    write,
)
from openset.findings import InputError, OpenSetError
from openset.flags import as_flags

FAILED, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    output = Output(json="--json" in tokens)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:  # a file name that is not Unicode must not stop an answer
            reconfigure(errors="backslashreplace")
    try:
        command, bound = _parse(tokens)
        output = next((v for v in bound.arguments.values() if isinstance(v, Output)), output)
        answer = command(*bound.args, **bound.kwargs)
        return _print(answer, output, tokens) if isinstance(answer, Answer) else 0
    except KeyboardInterrupt:
        return _fail("interrupted", "interrupted", output, INTERRUPTED)
    except BrokenPipeError:  # whoever read stdout has seen enough
        return BROKEN_PIPE
    except (OpenSetError, CycloptsError, OSError) as error:
        return _refuse(error, output, tokens)
    except Exception:
        import traceback

        return _fail(
            "internal", "internal error, please report it\n" + traceback.format_exc(), output
        )


def _parse(tokens: list[str]) -> tuple[Callable[..., Any], BoundArguments]:
    app = build()
    if not tokens or tokens[0] not in verbs():
        complete_help(app)
    command, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
    bound.apply_defaults()
    return command, bound


def _print(answer: Answer, output: Output, tokens: Sequence[str]) -> int:
    if output.json:
        _print_json({"verb": tokens[0], "exit_code": answer.code, **answer.document()})
    elif answer.text:
        write(answer.text, sys.stdout)
    return answer.code


def _print_json(document: dict[str, Any]) -> None:
    import json

    from openset.evaluation.result import plain

    text = json.dumps(plain({"schema_version": SCHEMA_VERSION, **document}), indent=1)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _refuse(error: Exception, output: Output, tokens: Sequence[str]) -> int:
    """Say what is wrong with the input or the command."""
    if isinstance(error, InputError):
        text = "\n".join(finding_text(finding) for finding in error.findings)
        return _fail("input", text, output, findings=[asdict(f) for f in error.findings])
    hint = ""
    if isinstance(error, CycloptsError):
        known = tokens[0] if tokens and tokens[0] in verbs() else ""
        hint = f"\nsee: {' '.join(filter(None, ['openset', known, '--help']))}"
    return _fail("usage", wrapped(f"error: {as_flags(str(error))}", "    ") + hint, output)


def _fail(kind: str, text: str, output: Output, code: int = FAILED, **more: Any) -> int:
    if output.json:
        _print_json({"exit_code": code, "error": {"kind": kind, "message": text, **more}})
    else:
        write(text, sys.stderr)
    return code
