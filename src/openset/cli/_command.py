"""run: parse, run the verb, print its answer, and turn every outcome into an exit code.

0 computed; 1 computed and the answer is no; 2 could not compute; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from inspect import BoundArguments
from pathlib import Path
from typing import Any, TextIO
from warnings import filterwarnings

from cyclopts import Argument, CycloptsError, MissingArgumentError
from cyclopts.exceptions import UnknownOptionError, UnusedCliTokensError

from openset.cli._app import build, resolve
from openset.cli._config import Used, command_line, used
from openset.cli._console import SCHEMA_VERSION, Answer, Output, finding_text
from openset.cli._front import verbs
from openset.cli._terminal import BROKEN_PIPE, FAILED, put, wrapped, write
from openset.findings import Finding, InputError, Level, OpenSetError, UsageError
from openset.flags import as_flags

INTERRUPTED = 130
REPLACED = "OS125"
_LARGE_PICTURE = r"Image size \(\d+ pixels\) exceeds limit"  # Pillow refuses what is twice as large
OUTPUTS = ("out", "rest", "plot")  # arguments of verbs that are written, not read


def run(tokens: list[str]) -> int:
    """Run the command line of a verb and return its exit code."""
    output = Output(json="--json" in tokens)
    filterwarnings("ignore", _LARGE_PICTURE)
    try:
        command, bound = _parse(tokens)
        spoken = [v for v in bound.arguments.values() if isinstance(v, Output)]
        output = (spoken or [output])[0]
        added = used(tokens) if spoken else None  # help has no options to add
        if added is not None:
            output.say(str(added))
        with _inputs_kept(bound, command_line() if spoken else "") as replaced:
            answer = command(*bound.args, **bound.kwargs)
        gone = [Finding(REPLACED, Level.NOTE, said) for said in replaced]
        for finding in gone:
            output.report(finding)
        return _print(answer, output, tokens, added, gone) if isinstance(answer, Answer) else 0
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
    if tokens[0] in verbs():
        resolve(app, tokens[0])
    command, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
    bound.apply_defaults()
    return command, bound


@contextmanager
def _inputs_kept(bound: BoundArguments, asked: str) -> Iterator[list[str]]:
    """No verb writes over a file that it was given to read, whatever it calls its arguments.

    Gives what it replaces, in words, as it does; what it writes is of the command `asked`.
    """
    from openset.files import keeping, refuse_kept

    given: dict[str, list[Any]] = {
        name: value if isinstance(value, list) else [value]
        for name, value in bound.arguments.items()
    }
    read = [v for name, values in given.items() if name not in OUTPUTS for v in values]
    outputs = [(name, path) for name in OUTPUTS for path in given.get(name, ()) if path]
    _refuse_one_place(outputs)
    written = [path for _, path in outputs]
    inputs = [str(value) for value in read if isinstance(value, (str, Path))]
    pictures = [str(path) for path in given.get("images", ()) if isinstance(path, Path)]
    with keeping(inputs, map(str, written), pictures, asked) as replaced:
        for path in written:
            if not path.is_dir():  # of folders the verbs know what they replace
                refuse_kept(path)
        yield replaced


def _refuse_one_place(outputs: Sequence[tuple[str, Path]]) -> None:
    """Refuse two outputs that are one file, by whatever names: the second would replace it."""
    places: dict[str, str] = {}
    for name, path in outputs:
        other = places.setdefault(os.path.realpath(path), name)
        if other != name:
            raise UsageError(f"--{other} and --{name} are one file: {path}")


def _print(
    answer: Answer,
    output: Output,
    tokens: Sequence[str],
    added: Used | None,
    replaced: Sequence[Finding],
) -> int:
    failed = 0
    if output.json:
        document: dict[str, Any] = {"verb": tokens[0], "exit_code": answer.code}
        if added is not None:
            document["settings"] = {"file": str(added.file), "options": added.options}
        document |= answer.document()
        if replaced:
            document["replaced"] = [asdict(finding) for finding in replaced]
        failed = put(_json(document))
    elif answer.text:
        failed = put(partial(write, answer.text))
    return failed or answer.code


def _json(document: dict[str, Any]) -> Callable[[TextIO], None]:
    import json

    from openset.json_text import plain

    text = json.dumps(plain({"schema_version": SCHEMA_VERSION, **document}), indent=1)

    def written(stream: TextIO) -> None:
        stream.write(text + "\n")
        stream.flush()

    return written


def _refuse(error: Exception, output: Output, tokens: Sequence[str]) -> int:
    """Say what is wrong with the input or the command."""
    if isinstance(error, InputError):
        text = "\n".join(finding_text(finding) for finding in error.findings)
        return _fail("input", text, output, findings=[asdict(f) for f in error.findings])
    hint = ""
    if isinstance(error, CycloptsError):
        known = tokens[0] if tokens and tokens[0] in verbs() else ""
        hint = f"\nsee: {' '.join(filter(None, ['openset', known, '--help']))}"
        if known == "list" and isinstance(error, UnusedCliTokensError) and error.unused_tokens:
            hint = f"\nsee: openset explain {error.unused_tokens[0]}"  # one of what is listed
    return _fail("usage", wrapped(f"error: {as_flags(_said(error))}", "    ") + hint, output)


def _said(error: Exception) -> str:
    """What is wrong with a command, in words; a flag of several words may be known by one."""
    if isinstance(error, UnusedCliTokensError):
        more = ", ".join(map(repr, error.unused_tokens or ()))
        return f"nothing takes {more} here; what is written is given by -o"
    if isinstance(error, MissingArgumentError) and error.argument and not error.tokens_so_far:
        return _needed(error, error.argument) or str(error)
    if isinstance(error, UnknownOptionError):
        word = (error.token.keyword or error.token.value).lstrip("-")
        flags = [name for one in error.argument_collection for name in one.names]
        akin = [flag for flag in flags if word in flag.split("-")]
        if akin:
            return f"{str(error).partition(' Did you')[0]} Did you mean {akin[0]}?"
    return str(error)


def _needed(error: MissingArgumentError, argument: Argument) -> str:
    """What is not there, and what it is; nothing where its flag stands without a value."""
    from openset.explain import arguments_in

    if error.keyword or argument.tokens:
        return ""
    said = arguments_in(getattr(error.target, "__doc__", None) or "")
    meaning = said.get(argument.field_info.name, "").partition(". ")[0].rstrip(".")
    names = " ".join(name for name in argument.names if name.startswith("-")) or argument.name
    return f"{' '.join(error.command_chain or ())} needs {names}{meaning and ': '}{meaning}"


def _fail(kind: str, text: str, output: Output, code: int = FAILED, **more: Any) -> int:
    if output.json:
        document = {"exit_code": code, "error": {"kind": kind, "message": text, **more}}
        return put(_json(document)) or code
    write(text, sys.stderr)
    return code
